"""The observation normaliser that belongs to a policy.

To everyone outside, a policy is a function of raw observations; its network sees
(observation - mean) / std.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class Normalizer:
    """Mean and standard deviation of each component of the state, fixed."""

    mean: NDArray[np.float64]  # [D]
    std: NDArray[np.float64]  # [D]

    @staticmethod
    def identity(state_shape: tuple[int, ...]) -> Normalizer:
        size = int(np.prod(state_shape))
        return Normalizer(np.zeros(size), np.ones(size))

    def normalize(self, observations: Tensor) -> Tensor:  # [N, *state]
        """What a network sees of raw observations, in their own dtype."""
        return self.to_tensors(observations).normalize(observations)

    def to_tensors(self, like: Tensor) -> TensorNormalizer:
        """For observations of this dtype, where they are."""
        return TensorNormalizer(like.new_tensor(self.mean), like.new_tensor(self.std))


@dataclass(frozen=True)
class TensorNormalizer:
    """A normaliser that is on a device already: nothing is copied there to use it."""

    mean: Tensor  # [D]
    std: Tensor  # [D]

    def normalize(self, observations: Tensor) -> Tensor:  # [N, *state]
        shape = observations.shape[1:]
        return (observations - self.mean.view(shape)) / self.std.view(shape)
