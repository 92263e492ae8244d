"""Running statistics of the observations, merged episode by episode in index order."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from litmus.policies.normalizer import Normalizer
from litmus.tasks.base import Moments

CONSTANT_BELOW = 1e-7
"""A component whose standard deviation is smaller never varies: it is centred, not scaled."""


@dataclass
class RunningNormalizer:
    """Merges moments by Chan's parallel rule, in float64."""

    count: int
    mean: NDArray[np.float64]  # [D]
    squared_deviations: NDArray[np.float64]  # [D]

    @staticmethod
    def empty(state_size: int) -> RunningNormalizer:
        return RunningNormalizer(0, np.zeros(state_size), np.zeros(state_size))

    def merge(self, moments: Moments | None) -> None:
        """A task without moments of its observations leaves them as they are."""
        if moments is None:
            return
        total = self.count + moments.count
        difference = moments.mean - self.mean
        self.mean = self.mean + difference * (moments.count / total)
        self.squared_deviations = (
            self.squared_deviations
            + moments.squared_deviations
            + np.square(difference) * (self.count * moments.count / total)
        )
        self.count = total

    @property
    def moments(self) -> Moments | None:
        """Of all that was merged; None before the first."""
        if not self.count:
            return None
        return Moments(self.count, self.mean, self.squared_deviations)

    def freeze(self) -> Normalizer:
        """Return the statistics as they are now; the identity before the first episode."""
        if self.count == 0:
            return Normalizer.identity(self.mean.shape)
        std = np.sqrt(self.squared_deviations / self.count)
        return Normalizer(self.mean.copy(), np.where(std < CONSTANT_BELOW, 1.0, std))
