"""One episode of a run's policy, step by step: what it saw, what it did, where it was near to."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from litmus.analysis.statistics import Floats
from litmus.errors import BadInput
from litmus.policies.policy import Policy
from litmus.rollouts.episode import ActingPolicy
from litmus.seeding import Stream, make_generator
from litmus.tasks.base import StepsThrough, TaskSpec

MOST_STEPS = 5_000
"""An environment without a time limit must not hold up the report."""


class NoSingleSteps(BadInput):
    """Nothing is wrong: the task runs whole episodes and shows no steps of them."""


@dataclass(frozen=True)
class Behaviour:
    """A trace of one episode."""

    states: Floats  # [T, D], raw observations
    normalized: Floats  # [T, D]
    actions: Floats  # [T, A], action parameters: what a fingerprint is made of
    rewards: Floats  # [T]

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


def run_behaviour(task: TaskSpec, policy: Policy, seed: int = 0) -> Behaviour:
    """Run one episode of the unperturbed policy and keep every step."""
    built = task.build()
    generator = make_generator(seed, Stream.MEASUREMENT, 0)
    normalizer = policy.normalizer
    acting = ActingPolicy(
        policy.architecture, policy.flat_params.cpu().numpy(), normalizer, generator
    )
    try:
        if not isinstance(built, StepsThrough):
            raise NoSingleSteps("the task has no single steps that could be shown")
        episode = built.step_through(acting.act, int(generator.integers(2**31)))
        steps = list(islice(episode, MOST_STEPS))
    finally:
        built.close()
    seen = np.array([step.observation for step in steps], dtype=np.float64)  # [T, *state]
    states = seen.reshape(len(steps), -1)
    return Behaviour(
        states=states,
        normalized=(states - normalizer.mean) / normalizer.std,
        actions=np.stack([acting.action_parameters(state[None])[0] for state in seen]).astype(
            np.float64
        ),
        rewards=np.array([step.reward for step in steps]),
    )
