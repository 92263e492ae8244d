"""The contract of an algorithm. The trainer owns steps, evaluation, metrics and checkpoints."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
import torch
from numpy.typing import NDArray

from litmus.algorithms.together import Together
from litmus.config import TrainConfig
from litmus.evaluators.base import Evaluator
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Collector, Round
from litmus.tasks.base import Cut, TaskSpec


@dataclass(frozen=True)
class Resources:
    """What an algorithm may use; each takes what it needs."""

    config: TrainConfig
    task: TaskSpec
    architecture: Architecture
    collector: Collector
    device: torch.device
    cores: int
    """Of the machine that the run began on: torch's sums, and so their last bits, depend on it."""
    folder: Path
    """For whatever it keeps itself, such as transitions: see `state_dict`."""
    place: tuple[Together, int] | None = None
    """Where runs that learn side by side in this process meet, and this run's number there."""


@dataclass(frozen=True)
class Progress:
    """What one iteration did."""

    steps: int
    episodes: int
    metrics: Mapping[str, float]
    round: Round | None = None
    """The episodes of perturbed θ that were measured, from an algorithm that keeps rounds."""


class Algorithm(Protocol):
    keeps_rounds: ClassVar[bool]
    """Whether every iteration brings a round: then the trainer keeps them in the run's journal."""

    def iterate(self) -> Progress:
        """Collect something and learn from it."""

    @property
    def flat_params(self) -> NDArray[np.float32]:
        """θ now, unperturbed."""

    @property
    def normalizer(self) -> Normalizer:
        """The normaliser that goes with θ."""

    @property
    def evaluator(self) -> Evaluator | None:
        """The learned evaluator, where the algorithm has one."""

    def state_dict(self) -> Mapping[str, Any]:
        """What is needed to go on exactly from here, as nested mappings of tensors and plain
        values, but for evaluator and rounds: those the trainer keeps.

        A checkpoint is about to count on it: files in `Resources.folder` must be on the disk when
        this returns.
        """

    def load_state_dict(self, state: Mapping[str, Any], rounds: Iterable[Round]) -> None:
        """Go back to where `state_dict` was called; the evaluator is there already. `rounds` are
        all those up to there, or those from `oldest_round` on."""

    def close(self) -> None:
        """Let go of whatever it holds."""


@runtime_checkable
class GoesBack(Protocol):
    """What an algorithm may offer beside: to go on from where it was before."""

    @property
    def center(self) -> Mapping[str, Any]:
        """Where it stands, as `state_dict` gives things; later changes leave it alone."""

    def go_back(self, center: Mapping[str, Any]) -> None:
        """Because learning went astray since."""


@runtime_checkable
class LooksForBeginning(Protocol):
    """What an algorithm may offer beside: to find a policy before it learns."""

    @property
    def is_beginning(self) -> bool:
        """Whether it still looks: θ is not worth measuring yet."""


@runtime_checkable
class CutsEpisodes(Protocol):
    """What an algorithm may offer beside: to know how much of an episode tells policies apart."""

    @property
    def cut(self) -> Cut | None:
        """None: only whole ones do."""


@runtime_checkable
class ForgetsRounds(Protocol):
    """What an algorithm may offer beside: not to need all rounds to go on."""

    @property
    def oldest_round(self) -> int:
        """The oldest that `load_state_dict` must be given, as a number."""


class AlgorithmFactory(Protocol):
    """A class or a function. It has a TrainConfig as `Options`, if it is not in the registry."""

    def __call__(self, resources: Resources) -> Algorithm: ...
