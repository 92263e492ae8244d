"""The contract of a collector. Serial, local pool and cluster are interchangeable."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.seeding import Stream
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


@dataclass(frozen=True)
class Setting:
    """What every request of a collector shares."""

    task: TaskSpec
    architecture: Architecture
    seed: int


class Pending(Protocol):
    def result(self) -> list[Episode]:
        """Wait for the episodes; they come in the order of the request's indices."""


class Collector(Protocol):
    def start(self, request: Request) -> Pending:
        """Begin to run the episodes and return at once."""

    def close(self) -> None:
        """End the workers, if any."""
