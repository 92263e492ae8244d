"""Flat parameters of several policies, and the shape of the networks that they fill."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from torch import Tensor

Rows: TypeAlias = "Tensor | tuple[Tensor, ...]"
"""Flat parameters of policies: [B, P], or B times [P] wherever they lie."""

Activation = Literal["tanh", "relu"]


@dataclass(frozen=True)
class MlpShape:
    layer_sizes: tuple[tuple[int, int], ...]  # (inputs, outputs)
    activation: Activation

    @property
    def num_params(self) -> int:
        return sum(outputs * (inputs + 1) for inputs, outputs in self.layer_sizes)


def stack_rows(rows: Rows) -> Tensor:  # [B, P]
    """The rows as one tensor, copied together only where they lie apart."""
    import torch

    return rows if isinstance(rows, torch.Tensor) else torch.stack(rows)
