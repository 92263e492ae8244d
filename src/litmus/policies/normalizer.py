"""The observation normaliser that belongs to a policy.

To everyone outside, a policy is a function of raw observations; its network sees
(observation - mean) / std.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Normalizer:
    """Mean and standard deviation of each component of the state, fixed."""

    mean: NDArray[np.float64]  # [D]
    std: NDArray[np.float64]  # [D]

    @staticmethod
    def identity(state_shape: tuple[int, ...]) -> Normalizer:
        size = int(np.prod(state_shape))
        return Normalizer(np.zeros(size), np.ones(size))
