"""Multi-layer perceptron policies; with no hidden layer, a linear policy.

The flat parameters are, layer by layer, weight [out, in] then bias [out]: the order of
`module.parameters()`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Forward

if TYPE_CHECKING:
    import torch

Activation = Literal["tanh", "relu"]


@dataclass(frozen=True)
class MlpArchitecture:
    state_shape: tuple[int, ...]
    head: ActionHead
    hidden: tuple[int, ...] = (256, 256)
    activation: Activation = "tanh"

    name = "mlp"

    def __post_init__(self) -> None:
        if any(width < 1 for width in self.hidden):
            raise BadInput(f"hidden layers need at least one unit, not {list(self.hidden)}")
        object.__setattr__(self, "hidden", tuple(self.hidden))

    @property
    def layer_sizes(self) -> tuple[tuple[int, int], ...]:
        """(inputs, outputs) of each linear layer."""
        widths = (int(np.prod(self.state_shape)), *self.hidden, self.head.size)
        return tuple(pairwise(widths))

    @cached_property
    def num_params(self) -> int:
        return sum(outputs * (inputs + 1) for inputs, outputs in self.layer_sizes)

    def options(self) -> dict[str, Any]:
        return {"hidden": list(self.hidden), "activation": self.activation}

    def build(self) -> torch.nn.Module:
        from litmus.policies.networks import MlpNetwork

        return MlpNetwork(self)

    def make_numpy_forward(self, flat_params: NDArray[np.float32]) -> Forward:
        layers = []
        offset = 0
        for inputs, outputs in self.layer_sizes:
            weight = flat_params[offset : offset + inputs * outputs].reshape(outputs, inputs)
            offset += inputs * outputs
            # Transposed and contiguous: x @ W.T streams through memory once.
            layers.append((np.ascontiguousarray(weight.T), flat_params[offset : offset + outputs]))
            offset += outputs
        activate = np.tanh if self.activation == "tanh" else _relu
        (last_weight, last_bias), hidden_layers = layers[-1], layers[:-1]
        squash, is_vector = self.head.squash, len(self.state_shape) == 1

        def forward(states: NDArray[np.float32]) -> NDArray[np.float32]:
            x = states if is_vector else states.reshape(*states.shape[: -len(self.state_shape)], -1)
            for weight, bias in hidden_layers:
                x = x @ weight
                x += bias
                activate(x, out=x)
            x = x @ last_weight
            x += last_bias
            return squash(x)

        return forward

    def population_actions(
        self, rows: torch.Tensor | Sequence[torch.Tensor], states: torch.Tensor
    ) -> torch.Tensor:  # B × [P], [K, *state] -> [B, K, A]
        from litmus.policies.networks import mlp_population_actions

        return mlp_population_actions(self, rows, states)


def _relu(x: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    np.maximum(x, 0, out=out)
