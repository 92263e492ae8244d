"""The contract of a collector: θ and episode indices in, episodes out, in the order of the indices.

Serial, batched, local pool and cluster are interchangeable.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.registry import why_only_here
from litmus.seeding import Stream, perturb
from litmus.tasks.base import Episode, TaskSpec


@dataclass(frozen=True)
class Request:
    """Episodes to run from one θ."""

    flat_params: NDArray[np.float32]  # [P]
    normalizer: Normalizer
    noise: float
    """Standard deviation of the perturbation; 0 runs θ itself."""
    stream: Stream
    """Which episodes the indices count: TRAINING, EVALUATION or MEASUREMENT."""
    indices: Sequence[int]
    antithetic: bool = False
    """Whether two episodes share a perturbation, with opposite signs."""
    start_index: int | None = None
    """The episode whose start they all share; None: each has its own."""
    most_steps: int | None = None
    """Where episodes are cut short; None: they are whole."""


@dataclass(frozen=True)
class Setting:
    """What every request of a collector shares."""

    task: TaskSpec
    architecture: Architecture
    seed: int

    @property
    def only_here(self) -> str:
        """Why no other process can build the same task and architecture; empty where one can."""
        return self.task.only_here or why_only_here(type(self.architecture))


@dataclass(frozen=True)
class Outcome:
    """One episode, as far as a run keeps it; returns are None where it was dropped."""

    return_: float | None
    training_return: float | None
    steps: int

    @staticmethod
    def of(episode: Episode) -> Outcome:
        if not episode.is_finite:
            return Outcome(None, None, episode.steps)
        return Outcome(episode.return_, episode.training_return, episode.steps)


@dataclass(frozen=True)
class Round:
    """The episodes collected from one θ: what a run's journal keeps."""

    number: int
    flat_params: NDArray[np.float32]  # [P], before perturbation
    normalizer: Normalizer
    noise: float
    first_episode: int
    episodes: Sequence[Outcome]
    antithetic: bool = False
    most_steps: int | None = None
    """Where episodes were cut short: returns are those until then. None: they were whole."""

    def rebuild(self, seed: int, index: int) -> NDArray[np.float32]:  # [P]
        """The policy that episode `index` of this run measured."""
        return perturb(self.flat_params, self.noise, seed, index, self.antithetic)

    def rebuild_kept(self, seed: int) -> tuple[NDArray[np.float32], list[float]]:
        """The policies [B, P] that were measured, and their training returns."""
        kept = self.kept
        policies = np.empty((len(kept), self.flat_params.size), np.float32)
        for policy, (index, _) in zip(policies, kept, strict=True):
            policy[:] = self.rebuild(seed, index)
        return policies, [cast(float, one.training_return) for _, one in kept]

    @property
    def kept(self) -> list[tuple[int, Outcome]]:
        """Episode indices and outcomes, less those that were dropped."""
        numbered = enumerate(self.episodes, start=self.first_episode)
        return [(index, one) for index, one in numbered if one.training_return is not None]

    @property
    def whole(self) -> list[tuple[int, Outcome]]:
        """The same, but none of a round that was cut short: those that ended by themselves there
        are the ones that fell early, and would speak for all."""
        return self.kept if self.most_steps is None else []


class Pending(Protocol):
    def result(self) -> list[Episode]:
        """Wait for the episodes; they come in the order of the request's indices."""


class Collector(Protocol):
    def start(self, request: Request) -> Pending:
        """Begin to run the episodes and return at once."""

    def close(self) -> None:
        """End the workers, if any."""
