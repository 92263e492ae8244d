"""Convolutional policies for states that are images: convolutions, then one linear layer.

The flat parameters are, layer by layer, weight then bias: the order of `module.parameters()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput, option
from litmus.fields import MOST_UNITS, above, between
from litmus.policies.actions import ActionHead
from litmus.policies.rows import CnnShape
from litmus.tasks.base import has_channels_last

if TYPE_CHECKING:
    import torch

    from litmus.policies.rows import Rows


@dataclass(frozen=True)
class CnnArchitecture:
    state_shape: tuple[int, ...]
    head: ActionHead
    channels: tuple[int, ...] = between(1, MOST_UNITS, (4, 8))
    """Output channels of each convolution; a ReLU follows each."""
    kernel_size: int = between(1, 1000, 3)
    """Height and width of the convolutions' kernels; they move by one pixel, without padding."""

    convolution_scale: float = above(0, 1.0, 1e6)
    """How much the convolutions' parameters count: below 1, noise and learning change convolutions
    less than they change the linear layer. The network starts alike with any scale."""
    paired_filters: bool = False
    """Whether convolutions begin with pairs of opposite filters, and without biases: what one of a
    pair does not see, the other does, and no network begins half blind."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "channels", tuple(self.channels))
        if len(self.state_shape) not in (2, 3):
            raise BadInput(
                f"{option('architecture', 'cnn')} is for images, [height, width] or [channels, "
                f"height, width], and the task's states have shape {list(self.state_shape)}"
            )
        if has_channels_last(self.state_shape):
            raise BadInput(
                f"{option('architecture', 'cnn')} takes channels before height and width, and the "
                f"task's states have shape {list(self.state_shape)}: let it turn them "
                "(gymnasium.wrappers.TransformObservation)"
            )
        if min(self.shape.image[1:]) <= len(self.channels) * (self.kernel_size - 1):
            raise BadInput(
                f"{len(self.channels)} convolutions with {option('kernel_size')} "
                f"{self.kernel_size} leave nothing of an image of {self.shape.image[1]} × "
                f"{self.shape.image[2]} pixels"
            )

    @cached_property
    def shape(self) -> CnnShape:
        depth = self.state_shape[0] if len(self.state_shape) == 3 else 1
        height, width = self.state_shape[-2:]
        return CnnShape(
            (depth, height, width),
            self.channels,
            self.kernel_size,
            self.head.size,
            self.convolution_scale,
        )

    @property
    def num_params(self) -> int:
        return self.shape.num_params

    def build(self) -> torch.nn.Module:
        from litmus.policies.networks import CnnNetwork

        return CnnNetwork(self.shape, self.head, self.paired_filters)

    def make_numpy_forward(self, flat_params: NDArray[np.float32]) -> None:
        """None: what measures images measures them in batches, through torch."""

    def population_actions(
        self, rows: Rows, states: torch.Tensor
    ) -> torch.Tensor:  # [B, P], [K, *state] -> [B, K, A]
        from litmus.policies.networks import cnn_population_actions

        return cnn_population_actions(self.shape, self.head, rows, states)
