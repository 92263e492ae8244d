"""Gymnasium's planar MuJoCo tasks with almost nothing between two `mj_step`s.

Swimmer, Hopper, Walker2d and HalfCheetah (-v4 and -v5) observe positions and velocities, are paid
for speed, and pay for control. A policy needs only the observation in each step, so the rewards
are computed once, when the episode is over, from what was recorded. Observations, rewards and
terminations are tested equal, bit for bit, to the environment's own `step`.
"""

from __future__ import annotations

import copy
import ctypes
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.envs.mujoco import (
    half_cheetah_v4,
    half_cheetah_v5,
    hopper_v4,
    hopper_v5,
    swimmer_v4,
    swimmer_v5,
    walker2d_v4,
    walker2d_v5,
)
from gymnasium.wrappers import OrderEnforcing, TimeLimit
from numpy.typing import NDArray

from litmus.native.library import CompiledActor, Health, PlanarBody, find_library
from litmus.tasks.base import Episode, Moments, RolloutPolicy

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Body:
    """What tells the four apart."""

    skipped: int
    """Leading positions that the observation leaves out."""
    clips_velocity: bool
    is_healthy: Callable[[Any, Floats, Floats], bool] | None
    """From environment, positions and velocities; None where nothing ends the episode early."""
    pays_when_fallen: bool = False
    """-v4 pays the survival bonus in the last step of a fall as well."""


def _is_hopper_healthy(environment: Any, positions: Floats, velocities: Floats) -> bool:
    _, z, angle, *joints = positions.tolist()
    low, high = environment._healthy_state_range
    low_z, high_z = environment._healthy_z_range
    low_angle, high_angle = environment._healthy_angle_range
    return (
        low_z < z < high_z
        and low_angle < angle < high_angle
        and all(low < value < high for value in (angle, *joints, *velocities.tolist()))
    )


def _is_walker_healthy(environment: Any, positions: Floats, velocities: Floats) -> bool:
    low_z, high_z = environment._healthy_z_range
    low_angle, high_angle = environment._healthy_angle_range
    return bool(low_z < positions[1] < high_z and low_angle < positions[2] < high_angle)


BODIES: dict[type, Body] = {
    swimmer_v4.SwimmerEnv: Body(2, False, None),
    swimmer_v5.SwimmerEnv: Body(2, False, None),
    half_cheetah_v4.HalfCheetahEnv: Body(1, False, None),
    half_cheetah_v5.HalfCheetahEnv: Body(1, False, None),
    hopper_v4.HopperEnv: Body(1, True, _is_hopper_healthy, pays_when_fallen=True),
    hopper_v5.HopperEnv: Body(1, True, _is_hopper_healthy),
    walker2d_v4.Walker2dEnv: Body(1, True, _is_walker_healthy, pays_when_fallen=True),
    walker2d_v5.Walker2dEnv: Body(1, True, _is_walker_healthy),
}

VELOCITY_BOUND = 10.0


def find_body(environment: gymnasium.Env[Any, Any]) -> Body | None:
    """The body of an environment that is exactly one of the four, wrapped as `make` wraps it."""
    if type(environment) is not TimeLimit or type(environment.env) is not OrderEnforcing:
        return None
    bare: Any = environment.env.env
    body = BODIES.get(type(bare))
    if body is None or not bare._exclude_current_positions_from_observation:
        return None
    return body if getattr(bare, "_terminate_when_unhealthy", True) else None


def _find_step() -> int | None:
    """The address of MuJoCo's own `mj_step`, in the library that its Python module is linked to."""
    try:
        library = ctypes.CDLL(mujoco._functions.__file__)
        return ctypes.cast(library.mj_step, ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None


class LeanLoop:
    """Runs episodes of one environment; its arrays are used again for each."""

    def __init__(self, environment: gymnasium.Env[Any, Any], body: Body) -> None:
        assert isinstance(environment, TimeLimit)
        self.environment, self.body = environment, body
        bare: Any = environment.unwrapped
        self.bare = bare
        self.limit = int(environment._max_episode_steps)
        data, kept = bare.data, bare.model.nq - body.skipped
        size = kept + bare.model.nv
        self.observations: Floats = np.empty((self.limit, size))
        # Views made once: slicing in each step would cost as much as copying.
        self.rows = list(self.observations)
        self.position_rows = [row[:kept] for row in self.rows]
        self.velocity_rows = [row[kept:] for row in self.rows]
        self.actions = np.empty((self.limit, bare.model.nu), dtype=np.float32)
        self.x: Floats = np.empty(self.limit + 1)
        self.positions, self.velocities, self.control = data.qpos, data.qvel, data.ctrl
        self.seen_positions = data.qpos[body.skipped :]
        self.normalized = np.empty(size, dtype=np.float32)
        self.num_controls = bare.model.nu
        self.compiled = self._describe_to_kernels()

    def __deepcopy__(self, memo: dict[int, Any]) -> LeanLoop:
        """Around a copy of the environment; what points into the old one is made anew."""
        return LeanLoop(copy.deepcopy(self.environment, memo), self.body)

    def run_episode(self, policy: RolloutPolicy, seed: int, remove_survival_bonus: bool) -> Episode:
        self.environment.reset(seed=seed)
        actor = getattr(policy, "compiled", None)
        if isinstance(actor, CompiledActor) and self.compiled is not None:
            steps, fell = self._simulate_compiled(actor)
        else:
            steps, fell = self._simulate(policy.act)
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
        is_healthy, clips, bare = self.body.is_healthy, self.body.clips_velocity, self.bare
        x[0] = positions[0]
        for t in range(self.limit):
            position_rows[t][...] = seen
            if clips:
                minimum(velocities, VELOCITY_BOUND, out=velocity_rows[t])
                maximum(velocity_rows[t], -VELOCITY_BOUND, out=velocity_rows[t])
            else:
                velocity_rows[t][...] = velocities
            actions[t] = act(rows[t])
            control[...] = actions[t]
            step(model, data, frames)
            x[t + 1] = positions[0]
            if is_healthy is not None and not is_healthy(bare, positions, velocities):
                return t + 1, True
        return self.limit, False

    def _simulate_compiled(self, policy: CompiledActor) -> tuple[int, bool]:
        """`_simulate` in one call."""
        library = find_library()
        assert library is not None
        sizes, expected = (
            (len(policy.mean), policy.num_actions),
            (len(self.normalized), self.num_controls),
        )
        if sizes != expected:
            raise ValueError(f"a policy for {sizes} observations and actions, not {expected}")
        mean, inverse_std = policy.mean.ctypes.data, policy.inverse_std.ctypes.data
        steps = library.run_episode(self.compiled, policy.actor, mean, inverse_std)
        return abs(steps), steps < 0

    def _describe_to_kernels(self) -> PlanarBody | None:
        step, bare, body = _find_step(), self.bare, self.body
        if find_library() is None or step is None:
            return None
        model, data = bare.model, bare.data
        checks_state = body.is_healthy is _is_hopper_healthy
        health = Health()
        if body.is_healthy is not None:
            health.checks_posture, health.checks_state = True, checks_state
            health.z[:], health.angle[:] = bare._healthy_z_range, bare._healthy_angle_range
        if checks_state:
            health.state[:] = bare._healthy_state_range
        return PlanarBody(
            step,
            model._address,
            data._address,
            data.qpos.ctypes.data,
            data.qvel.ctypes.data,
            data.ctrl.ctypes.data,
            model.nq,
            model.nv,
            model.nu,
            bare.frame_skip,
            self.limit,
            body.skipped,
            VELOCITY_BOUND if body.clips_velocity else np.inf,
            health,
            self.observations.ctypes.data,
            self.actions.ctypes.data,
            self.x.ctypes.data,
            self.normalized.ctypes.data,
        )

    def _reward(self, steps: int, fell: bool) -> tuple[Floats, Floats]:
        """Rewards and survival bonuses, in the environment's own order of operations."""
        bare, x = self.bare, self.x[: steps + 1]
        forward = bare._forward_reward_weight * ((x[1:] - x[:-1]) / bare.dt)
        costs = bare._ctrl_cost_weight * np.square(self.actions[:steps]).sum(axis=1)
        if self.body.is_healthy is None:
            return forward - costs, np.zeros(0)
        bonuses = np.full(steps, float(bare._healthy_reward))
        if fell and not self.body.pays_when_fallen:
            bonuses[-1] = 0.0
        return forward + bonuses - costs, bonuses


def _add_up(rewards: Floats) -> float:
    """One after the other, as they are paid; `sum`, from Python 3.12 on, rounds otherwise."""
    return float(np.cumsum(rewards)[-1]) if len(rewards) else 0.0
