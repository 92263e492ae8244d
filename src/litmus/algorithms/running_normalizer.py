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

    def merge(self, moments: Moments | None, share: float = 1.0) -> None:
        """`share`: of the observations, as how many they count. A task without moments of its
        observations leaves them as they are."""
        if moments is None:
            return
        count = max(1, round(share * moments.count))
        squared = moments.squared_deviations * (count / moments.count)
        moments = Moments(count, moments.mean, squared)
        total = self.count + moments.count
        difference = moments.mean - self.mean
        self.mean = self.mean + difference * (moments.count / total)
        self.squared_deviations = (
            self.squared_deviations
            + moments.squared_deviations
            + np.square(difference) * (self.count * moments.count / total)
        )
        self.count = total

    def freeze(self) -> Normalizer:
        """Return the statistics as they are now; the identity before the first episode."""
        if self.count == 0:
            return Normalizer.identity(self.mean.shape)
        std = np.sqrt(self.squared_deviations / self.count)
        return Normalizer(self.mean.copy(), np.where(std < CONSTANT_BELOW, 1.0, std))
