"""One episode of a run's policy, step by step: what it saw, what it did, where it was near to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.analysis.statistics import Floats
from litmus.policies.policy import Policy
from litmus.rollouts.episode import ActingPolicy
from litmus.seeding import Stream, make_generator
from litmus.tasks.gymnasium_registry import make_environment

MOST_STEPS = 5_000
"""An environment without a time limit must not hold up the report."""


@dataclass(frozen=True)
class Behaviour:
    """A trace of one episode."""

    states: Floats  # [T, D], raw observations
    normalized: Floats  # [T, D]
    actions: Floats  # [T, A], action parameters: what a fingerprint is made of
    rewards: Floats  # [T]
    seconds_per_step: float | None

    @property
    def return_(self) -> float:
        return float(self.rewards.sum())

    def distances(self, probing_states: Floats, used: NDArray[np.bool_] | None = None) -> Floats:
        """L2 distance to each probing state, in normalised coordinates.  [K, D] -> [T, K]"""
        ours, theirs = self.normalized, probing_states
        if used is not None:
            ours, theirs = ours[:, used], theirs[:, used]
        squared = (
            np.square(ours).sum(axis=1)[:, None]
            + np.square(theirs).sum(axis=1)[None]
            - 2 * ours @ theirs.T
        )
        return np.asarray(np.sqrt(np.maximum(squared, 0.0)))


def run_behaviour(task: str, policy: Policy, seed: int = 0) -> Behaviour:
    """Run one episode of the unperturbed policy and keep every step."""
    environment = make_environment(task)
    generator = make_generator(seed, Stream.MEASUREMENT, 0)
    normalizer = policy.normalizer
    acting = ActingPolicy(
        policy.architecture, policy.flat_params.cpu().numpy(), normalizer, generator
    )
    states, actions, rewards = [], [], []
    try:
        space = environment.action_space
        observation, _ = environment.reset(seed=int(generator.integers(2**31)))
        for _ in range(MOST_STEPS):
            observed = np.asarray(observation, dtype=np.float64)
            states.append(observed.ravel())
            actions.append(acting.action_parameters(observed[None])[0].astype(np.float64))
            action = to_environment_action(space, acting.act(observed))
            observation, reward, terminated, truncated, _ = environment.step(action)
            rewards.append(float(reward))
            if terminated or truncated:
                break
        step_seconds = getattr(environment.unwrapped, "dt", None)
    finally:
        environment.close()
    seen = np.stack(states)
    return Behaviour(
        states=seen,
        normalized=(seen - normalizer.mean) / normalizer.std,
        actions=np.stack(actions),
        rewards=np.array(rewards),
        seconds_per_step=float(step_seconds) if isinstance(step_seconds, float) else None,
    )


def to_environment_action(space: Any, action: Any) -> Any:
    """A policy's choice as the environment's step takes it."""
    if hasattr(space, "n"):
        return int(action) + int(getattr(space, "start", 0))
    return np.asarray(action).reshape(space.shape)
