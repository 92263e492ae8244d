"""What Gymnasium's Box2D environments need to give the same episode again."""

from __future__ import annotations

from typing import Any

import gymnasium


def renew_world(environment: gymnasium.Env[Any, Any]) -> None:
    """Before a reset: a world without what earlier episodes left in it.

    BipedalWalker takes its bodies out of the world and puts new ones in, and Box2D goes on with the
    order of contacts that it had: an episode would depend on those before it. LunarLander makes a
    new world itself.
    """
    bare: Any = environment.unwrapped
    if type(bare).__module__ == "gymnasium.envs.box2d.bipedal_walker":
        import Box2D

        bare._destroy()
        bare.world = Box2D.b2World()
