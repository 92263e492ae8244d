"""The contract of an algorithm. The trainer owns steps, evaluation, metrics and checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from litmus.config import TrainConfig
from litmus.evaluators.base import Evaluator
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Collector
from litmus.tasks.base import Episode


@dataclass(frozen=True)
class Round:
    """The episodes collected from one θ: what a run's history keeps."""

    number: int
    flat_params: NDArray[np.float32]  # [P], before perturbation
    normalizer: Normalizer
    noise: float
    first_episode: int
    episodes: Sequence[Outcome]


@dataclass(frozen=True)
class Outcome:
    """One episode, as far as the history keeps it; returns are None where it was dropped."""

    return_: float | None
    training_return: float | None
    steps: int

    @staticmethod
    def of(episode: Episode) -> Outcome:
        if not episode.is_finite:
            return Outcome(None, None, episode.steps)
        return Outcome(episode.return_, episode.training_return, episode.steps)


@dataclass(frozen=True)
class Progress:
    """What one iteration did."""

    round: Round
    steps: int
    metrics: Mapping[str, float]


class Algorithm(Protocol):
    def iterate(self) -> Progress:
        """Collect one round and learn from it."""

    @property
    def flat_params(self) -> NDArray[np.float32]:
        """θ now, unperturbed."""

    @property
    def normalizer(self) -> Normalizer:
        """The normaliser that goes with θ."""

    @property
    def evaluator(self) -> Evaluator | None:
        """The learned evaluator, where the algorithm has one."""

    def state_dict(self) -> dict[str, Tensor]:
        """Everything but the history that is needed to go on exactly from here."""

    def load_state_dict(self, state: Mapping[str, Tensor], history: Iterable[Round]) -> None:
        """Go back to where `state_dict` was called; `history` holds the rounds up to there."""


class AlgorithmFactory(Protocol):
    def __call__(
        self,
        config: TrainConfig,
        architecture: Architecture,
        collector: Collector,
        device: torch.device,
    ) -> Algorithm: ...
