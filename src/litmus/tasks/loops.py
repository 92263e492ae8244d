"""How a MuJoCo environment is described to the lean loop, which must be it bit for bit.

Words only: nothing is imported for them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Interval = tuple[float, float]

UNLIMITED: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class Part:
    """Consecutive numbers of one of the simulator's arrays, laid flat."""

    array: str
    """Such as 'qpos', of MuJoCo's data."""
    first: int = 0
    end: int | None = None
    of: str = ""
    """The body whose row of the array is meant, or the environment's attribute that names it."""
    minus: str = ""
    """Another body, whose row is taken off."""
    bend: Literal["", "sin", "cos"] = ""
    within: Interval | str = UNLIMITED
    """What the numbers are clipped to, or the environment's attribute that says so."""
    if_asked: str = ""
    """The environment's attribute that must be true: else it is no part of the observation."""


@dataclass(frozen=True)
class Bound(Part):
    """While it is alive, the numbers of a body are `within` this."""

    is_closed: bool = False
    """Whether the ends of the interval belong to it."""


Pays = Literal[
    "speed", "torso's speed", "mass's speed", "standing", "upright tip", "reaching", "pushing"
]
"""What rewards are made of: a formula in `mujoco_rewards.py`."""


@dataclass(frozen=True)
class Loop:
    """What the lean loop must know of a body's environment."""

    environment: str
    """'hopper_v{}:HopperEnv': where Gymnasium has the class, by version."""
    sees: tuple[Part, ...]
    """The observation."""
    pays: Pays
    records: tuple[Part, ...]
    """What its formula needs, before the first step and after each."""
    stands: tuple[Bound, ...] = ()
    """An episode ends when one of these no longer holds."""
    versions: tuple[int, ...] = (4, 5)
    v4_pays_when_fallen: bool = False
    """-v4 pays the survival bonus in the last step of a fall as well; -v5 does not."""

    @property
    def needs_forces(self) -> bool:
        """Whether contact forces are looked at, which MuJoCo computes only when asked to."""
        return any(part.array == "cfrc_ext" for part in (*self.sees, *self.records))
