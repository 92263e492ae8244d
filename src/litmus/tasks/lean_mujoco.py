"""Gymnasium's MuJoCo tasks with almost nothing between two `mj_step`s.

A policy needs only the observation in each step, so the rewards are computed once, when the episode
or a stretch of it is over, from what was recorded. Observations, rewards and terminations are
tested equal, bit for bit, to the environment's own `step`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import gymnasium
import mujoco
import numpy as np
from gymnasium.wrappers import OrderEnforcing, TimeLimit

from litmus.native.mujoco import compile_loop
from litmus.tasks.base import (
    MARKS,
    Episode,
    Exploration,
    Moments,
    OffersCompiledForm,
    RolloutPolicy,
    Stretch,
)
from litmus.tasks.loop_numbers import Floats, Numbers, Unknown, locate
from litmus.tasks.loops import UNLIMITED, Loop
from litmus.tasks.mujoco import BODIES
from litmus.tasks.mujoco_rewards import Ran, pay

MOST_NUMBERS = 2**24
"""Of all observations of an episode that the loop makes room for."""
_KNOWN = {
    f"gymnasium.envs.mujoco.{body.loop.environment.format(version)}": (body.loop, version)
    for body in BODIES.values()
    if body.loop is not None
    for version in body.loop.versions
}


def make_lean_loop(
    environment: gymnasium.Env[Any, Any], max_episode_steps: int | None = None
) -> LeanLoop | None:
    """None unless the environment is exactly one that the loop knows, as `make` wraps it."""
    if type(environment) is not TimeLimit or type(environment.env) is not OrderEnforcing:
        return None
    bare: Any = environment.env.env
    kind = type(bare)
    loop, version = _KNOWN.get(f"{kind.__module__}:{kind.__qualname__}", (None, 0))
    if loop is None or not _is_as_known(bare):
        return None
    own_limit = int(environment._max_episode_steps)
    limit = min(own_limit, max_episode_steps or own_limit)
    if limit * int(np.prod(environment.observation_space.shape or ())) > MOST_NUMBERS:
        return None
    try:
        return LeanLoop(environment, loop, version, limit)
    except Unknown:
        return None


def _is_as_known(bare: Any) -> bool:
    """Whether the options that it was made with leave it what the loop takes it for."""
    return (
        getattr(bare, "_exclude_current_positions_from_observation", True)
        and getattr(bare, "_terminate_when_unhealthy", True)
        and bare.render_mode != "human"  # which draws in each step
    )


class LeanLoop:
    """Runs episodes of one environment; its arrays are used again for each."""

    def __init__(
        self,
        environment: TimeLimit[Any, Any],
        loop: Loop,
        version: int,
        limit: int,
    ) -> None:
        self.environment, self.loop, self.version, self.limit = environment, loop, version, limit
        bare: Any = environment.unwrapped
        self.bare = bare
        wanted = [part for part in loop.sees if getattr(bare, part.if_asked or "model")]
        self.seen = Row([locate(part, bare) for part in wanted])
        self.recorded = Row([locate(part, bare) for part in loop.records])
        self.bounds = [locate(part, bare) for part in loop.stands]
        if bare.observation_space.shape != (self.seen.size,):  # of another XML file, perhaps
            raise Unknown(loop.environment)
        self.observations: Floats = np.empty((self.limit + 1, self.seen.size))
        self.actions = np.empty((self.limit, bare.model.nu), dtype=np.float32)
        self.records: Floats = np.empty((self.limit + 1, self.recorded.size))
        self.compiled = compile_loop(
            bare.model,
            bare.data,
            frames=bare.frame_skip,
            limit=self.limit,
            finds_forces=loop.needs_forces,
            seen=self.seen.parts,
            recorded=self.recorded.parts,
            bounds=self.bounds,
            observations=self.observations,
            actions=self.actions,
            records=self.records,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> LeanLoop:
        """Around a copy of the environment; what points into the old one is made anew."""
        environment = copy.deepcopy(self.environment, memo)
        return LeanLoop(environment, self.loop, self.version, self.limit)

    def run_episode(
        self,
        policy: RolloutPolicy,
        seed: int,
        remove_survival_bonus: bool,
        most_steps: int | None = None,
    ) -> Episode:
        self.environment.reset(seed=seed)
        limit = self.limit if most_steps is None else min(self.limit, most_steps)
        outcome = None
        if self.compiled is not None and isinstance(policy, OffersCompiledForm):
            outcome = self.compiled.run(policy.compiled_form(), limit)
        steps, fell = outcome or self._simulate(policy.act, limit)
        rewards, bonuses = self._pay(steps, fell)
        returns = np.cumsum(rewards)  # one after the other, as they are paid
        removes = remove_survival_bonus and len(bonuses)  # some bodies are paid none
        training_returns = returns - np.cumsum(bonuses) if removes else returns
        moments = Moments.of(self.observations[:steps])
        earlier = training_returns[np.minimum(MARKS, steps) - 1]
        return Episode(float(returns[-1]), float(training_returns[-1]), steps, moments, earlier)

    def run_stretch(
        self, exploration: Exploration, seed: int, taken: int, remove_survival_bonus: bool
    ) -> Stretch | None:
        """Steps of the episode of which so many were taken; None where only Python can act."""
        policy = exploration.policy
        if self.compiled is None or not isinstance(policy, OffersCompiledForm):
            return None
        form = policy.compiled_form()
        if form is None:
            return None
        if not taken:
            self.environment.reset(seed=seed)
        limit = min(self.limit - taken, len(exploration.rows))
        outcome = self.compiled.run(form, limit, exploration)
        if outcome is None:
            return None
        steps, fell = outcome
        rewards, bonuses = self._pay(steps, fell)
        observations = self.observations[: steps + 1].copy()
        return Stretch(
            observations[:-1],
            self.actions[:steps].copy(),
            rewards,
            observations[1:],
            fell,
            taken + steps == self.limit,
            bonuses if remove_survival_bonus and len(bonuses) else np.zeros(steps),
        )

    def _pay(self, steps: int, fell: bool) -> tuple[Floats, Floats]:
        """Rewards, and the survival bonuses in them, of what was recorded last."""
        is_paid_fallen = self.version == 4 and self.loop.v4_pays_when_fallen
        ran = Ran(self.actions[:steps], self.records[: steps + 1], fell and not is_paid_fallen)
        return pay(self.loop.pays, self.bare, ran)

    def _simulate(self, act: Callable[[Floats], Any], limit: int) -> tuple[int, bool]:
        """Return the number of steps, and whether the episode ended by a fall."""
        model, data, frames = self.bare.model, self.bare.data, self.bare.frame_skip
        step, find_forces = mujoco.mj_step, mujoco.mj_rnePostConstraint
        observations, actions, records = self.observations, self.actions, self.records
        see, record, control = self.seen.read, self.recorded.read, data.ctrl
        needs_forces, bounds = self.loop.needs_forces, self.bounds
        record(records[0])
        for t in range(limit):
            observation = observations[t]
            see(observation)
            actions[t] = act(observation)
            control[...] = actions[t]
            step(model, data, frames)
            if needs_forces:
                find_forces(model, data)
            record(records[t + 1])
            if not all(map(_holds, bounds)):
                return t + 1, True
        return limit, False


class Row:
    """Several parts of a simulator's state, one after the other."""

    def __init__(self, parts: Sequence[Numbers]) -> None:
        self.parts, self.size = parts, sum(len(part.values) for part in parts)
        self._now = np.empty(self.size)
        ends = np.cumsum([len(part.values) for part in parts], dtype=int)
        # Views made once: slicing in each step would cost as much as copying.
        self._places = [
            (part, self._now[end - len(part.values) : end], (part.low, part.high) != UNLIMITED)
            for part, end in zip(parts, ends, strict=True)
        ]

    def read(self, row: Floats) -> None:
        """Copy what they are now."""
        for (values, minus, bend, low, high), place, is_clipped in self._places:
            if minus is not None:
                np.subtract(values, minus, out=place)
            elif bend is not None:
                bend(values, out=place)
            else:
                place[...] = values
            if is_clipped:
                np.maximum(place, low, out=place)
                np.minimum(place, high, out=place)
        row[...] = self._now


def _holds(bound: Numbers) -> bool:
    low, high = bound.low, bound.high
    return all(low <= value <= high for value in bound.values.tolist())
