"""Gymnasium's planar MuJoCo tasks with almost nothing between two `mj_step`s.

Swimmer, Hopper, Walker2d and HalfCheetah (-v4 and -v5) observe positions and velocities, are paid
for speed, and pay for control. A policy needs only the observation in each step, so the rewards
are computed once, when the episode is over, from what was recorded. Observations, rewards and
terminations are tested equal, bit for bit, to the environment's own `step`.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.wrappers import OrderEnforcing, TimeLimit
from numpy.typing import NDArray

from litmus.native.planar import compile_loop
from litmus.tasks.base import Episode, Moments, OffersCompiledForm, RolloutPolicy
from litmus.tasks.mujoco import BODIES, Body, PlanarLoop

Floats = NDArray[np.float64]
Range = tuple[float, float]

VELOCITY_BOUND = 10.0
MOST_STEPS = 100_000
"""Of an episode that the loop makes room for."""
VERSIONS = (4, 5)
_KNOWN = {
    f"gymnasium.envs.mujoco.{body.loop.environment.format(version)}": (body, version)
    for body in BODIES.values()
    if body.loop is not None
    for version in VERSIONS
}


@dataclass(frozen=True)
class Facts:
    """What the loop needs to know of one environment."""

    skipped: int
    """Leading positions that the observation leaves out."""
    velocity_bound: float
    posture: tuple[Range, Range] | None
    """Height and angle of a body that stands; None where nothing ends the episode early."""
    state: Range | None
    """The same of every other coordinate."""
    pays_when_fallen: bool

    def is_standing(self, positions: Floats, velocities: Floats) -> bool:
        assert self.posture is not None
        (low_z, high_z), (low_angle, high_angle) = self.posture
        _, z, angle, *joints = positions.tolist()
        if not (low_z < z < high_z and low_angle < angle < high_angle):
            return False
        if self.state is None:
            return True
        low, high = self.state
        return all(low < value < high for value in (angle, *joints, *velocities.tolist()))


def find_facts(environment: gymnasium.Env[Any, Any]) -> Facts | None:
    """None unless the environment is exactly one that the loop knows, as `make` wraps it."""
    if type(environment) is not TimeLimit or type(environment.env) is not OrderEnforcing:
        return None
    if not 0 < (environment._max_episode_steps or 0) <= MOST_STEPS:
        return None
    bare: Any = environment.env.env
    kind = type(bare)
    body, version = _KNOWN.get(f"{kind.__module__}:{kind.__qualname__}", (None, 0))
    if body is None or body.loop is None or not _is_as_known(bare, body):
        return None
    return _read_facts(bare, body, body.loop, version)


def _is_as_known(bare: Any, body: Body) -> bool:
    """Whether the options that it was made with leave it what the loop takes it for."""
    model = bare.model  # of another XML file, perhaps
    sizes = len(body.left_out) + len(body.positions), len(body.velocities), len(body.actions)
    return (
        (model.nq, model.nv, model.nu) == sizes
        and bare._exclude_current_positions_from_observation
        and getattr(bare, "_terminate_when_unhealthy", True)
        and bare.render_mode != "human"  # which draws in each step
    )


def _read_facts(bare: Any, body: Body, loop: PlanarLoop, version: int) -> Facts:
    falls = loop.falls != "never"
    return Facts(
        skipped=len(body.left_out),
        velocity_bound=VELOCITY_BOUND if loop.clips_velocity else math.inf,
        posture=(bare._healthy_z_range, bare._healthy_angle_range) if falls else None,
        state=bare._healthy_state_range if loop.falls == "by state" else None,
        pays_when_fallen=version == 4 and loop.v4_pays_when_fallen,
    )


class LeanLoop:
    """Runs episodes of one environment; its arrays are used again for each."""

    def __init__(
        self,
        environment: gymnasium.Env[Any, Any],
        facts: Facts,
        max_episode_steps: int | None = None,
    ) -> None:
        assert isinstance(environment, TimeLimit)
        self.environment, self.facts = environment, facts
        self.max_episode_steps = max_episode_steps
        bare: Any = environment.unwrapped
        self.bare = bare
        self.limit = min(int(environment._max_episode_steps), max_episode_steps or MOST_STEPS)
        data, kept = bare.data, bare.model.nq - facts.skipped
        self.observations: Floats = np.empty((self.limit, kept + bare.model.nv))
        # Views made once: slicing in each step would cost as much as copying.
        self.rows = list(self.observations)
        self.position_rows = [row[:kept] for row in self.rows]
        self.velocity_rows = [row[kept:] for row in self.rows]
        self.actions = np.empty((self.limit, bare.model.nu), dtype=np.float32)
        self.x: Floats = np.empty(self.limit + 1)
        self.positions, self.velocities, self.control = data.qpos, data.qvel, data.ctrl
        self.seen_positions = data.qpos[facts.skipped :]
        self.compiled = compile_loop(
            bare.model,
            data,
            frames=bare.frame_skip,
            limit=self.limit,
            skipped=facts.skipped,
            velocity_bound=facts.velocity_bound,
            posture=facts.posture,
            state=facts.state,
            observations=self.observations,
            actions=self.actions,
            x=self.x,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> LeanLoop:
        """Around a copy of the environment; what points into the old one is made anew."""
        environment = copy.deepcopy(self.environment, memo)
        return LeanLoop(environment, self.facts, self.max_episode_steps)

    def run_episode(self, policy: RolloutPolicy, seed: int, remove_survival_bonus: bool) -> Episode:
        self.environment.reset(seed=seed)
        outcome = None
        if self.compiled is not None and isinstance(policy, OffersCompiledForm):
            outcome = self.compiled.run(policy.compiled_form())
        steps, fell = outcome or self._simulate(policy.act)
        rewards, bonuses = self._reward(steps, fell)
        return_ = _add_up(rewards)
        bonus = _add_up(bonuses) if remove_survival_bonus else 0.0
        moments = Moments.of(self.observations[:steps])
        return Episode(return_, return_ - bonus, steps, moments)

    def _simulate(self, act: Callable[[Floats], Any]) -> tuple[int, bool]:
        """Return the number of steps, and whether the episode ended by a fall."""
        model, data, frames = self.bare.model, self.bare.data, self.bare.frame_skip
        step, minimum, maximum = mujoco.mj_step, np.minimum, np.maximum
        positions, velocities, seen = self.positions, self.velocities, self.seen_positions
        control, x, actions = self.control, self.x, self.actions
        rows, position_rows, velocity_rows = self.rows, self.position_rows, self.velocity_rows
        facts, bound = self.facts, self.facts.velocity_bound
        clips, falls = bound < math.inf, facts.posture is not None
        x[0] = positions[0]
        for t in range(self.limit):
            position_rows[t][...] = seen
            if clips:
                minimum(velocities, bound, out=velocity_rows[t])
                maximum(velocity_rows[t], -bound, out=velocity_rows[t])
            else:
                velocity_rows[t][...] = velocities
            actions[t] = act(rows[t])
            control[...] = actions[t]
            step(model, data, frames)
            x[t + 1] = positions[0]
            if falls and not facts.is_standing(positions, velocities):
                return t + 1, True
        return self.limit, False

    def _reward(self, steps: int, fell: bool) -> tuple[Floats, Floats]:
        """Rewards and survival bonuses, in the environment's own order of operations."""
        bare, x = self.bare, self.x[: steps + 1]
        forward = bare._forward_reward_weight * ((x[1:] - x[:-1]) / bare.dt)
        costs = bare._ctrl_cost_weight * np.square(self.actions[:steps]).sum(axis=1)
        if self.facts.posture is None:
            return forward - costs, np.zeros(0)
        bonuses = np.full(steps, float(bare._healthy_reward))
        if fell and not self.facts.pays_when_fallen:
            bonuses[-1] = 0.0
        return forward + bonuses - costs, bonuses


def _add_up(rewards: Floats) -> float:
    """One after the other, as they are paid; `sum`, from Python 3.12 on, rounds otherwise."""
    return float(np.cumsum(rewards)[-1]) if len(rewards) else 0.0
