"""Flat parameters of several policies, and the shape of the networks that they fill."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

Rows: TypeAlias = "Tensor | tuple[Tensor, ...]"
"""Flat parameters of policies: [B, P], or B times [P] wherever they lie."""

Activation = Literal["tanh", "relu"]
ForeignActivation = Literal["tanh", "relu", "elu", "leaky-relu", "silu"]
Output = Literal["tanh", "clip", "softmax", "argmax"]


@dataclass(frozen=True)
class MlpShape:
    layer_sizes: tuple[tuple[int, int], ...]  # (inputs, outputs)
    activation: Activation

    @property
    def num_params(self) -> int:
        return sum(outputs * (inputs + 1) for inputs, outputs in self.layer_sizes)


@dataclass(frozen=True)
class ForeignShape:
    """Of a perceptron that another library built."""

    layer_sizes: tuple[tuple[int, int], ...]  # (inputs, outputs)
    activation: ForeignActivation
    output: Output
    observation_clip: float

    @property
    def num_params(self) -> int:
        return sum(outputs * (inputs + 1) for inputs, outputs in self.layer_sizes)


@dataclass(frozen=True)
class CnnShape:
    image: tuple[int, int, int]  # (channels, height, width)
    channels: tuple[int, ...]
    kernel_size: int
    outputs: int
    scale: float = 1.0
    """By which the convolutions' parameters count."""

    @property
    def convolutions(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of each, in channels."""
        return tuple(pairwise((self.image[0], *self.channels)))

    @property
    def features(self) -> int:
        """What the last layer sees."""
        lost = len(self.channels) * (self.kernel_size - 1)
        depth = self.channels[-1] if self.channels else self.image[0]
        return depth * (self.image[1] - lost) * (self.image[2] - lost)

    @property
    def initial_bounds(self) -> list[float]:
        """Torch draws the parameters of each piece in `sizes` evenly from ± this."""
        inputs = [i * self.kernel_size**2 for i, _ in self.convolutions]
        bounds = [1 / (self.scale * math.sqrt(fan_in)) for fan_in in inputs]
        return [bound for one in (*bounds, 1 / math.sqrt(self.features)) for bound in (one, one)]

    @property
    def sizes(self) -> list[int]:
        """Of each layer's weight and bias, in the order of the flat parameters."""
        kernel = self.kernel_size**2
        sizes = [
            size
            for inputs, outputs in self.convolutions
            for size in (outputs * inputs * kernel, outputs)
        ]
        return [*sizes, self.outputs * self.features, self.outputs]

    @property
    def num_params(self) -> int:
        return sum(self.sizes)


def stack_rows(rows: Rows) -> Tensor:  # [B, P]
    """The rows as one tensor, copied together only where they lie apart."""
    import torch

    return rows if isinstance(rows, torch.Tensor) else torch.stack(rows)
