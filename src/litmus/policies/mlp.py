"""Multi-layer perceptron policies; with no hidden layer, a linear policy.

The flat parameters are, layer by layer, weight [out, in] then bias [out]: the order of
`module.parameters()`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.fields import MOST_UNITS, between
from litmus.native.acting import compile_forward
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Forward
from litmus.policies.rows import Activation, MlpShape

if TYPE_CHECKING:
    import torch

    from litmus.policies.rows import Rows


@dataclass(frozen=True)
class MlpArchitecture:
    state_shape: tuple[int, ...]
    head: ActionHead
    hidden: tuple[int, ...] = between(1, MOST_UNITS, (256, 256))
    """Units of each hidden layer of the policy; no number at all for a linear policy."""
    activation: Activation = "tanh"
    """Activation of the policy's hidden layers."""

    def __post_init__(self) -> None:
        if any(width < 1 for width in self.hidden):
            raise BadInput(f"hidden layers need at least one unit, not {list(self.hidden)}")
        object.__setattr__(self, "hidden", tuple(self.hidden))

    @cached_property
    def shape(self) -> MlpShape:
        widths = (int(np.prod(self.state_shape)), *self.hidden, self.head.size)
        return MlpShape(tuple(pairwise(widths)), self.activation)

    @cached_property
    def num_params(self) -> int:
        return self.shape.num_params

    def build(self) -> torch.nn.Module:
        from litmus.policies.networks import MlpNetwork

        return MlpNetwork(len(self.state_shape), self.shape, self.head)

    def make_numpy_forward(self, flat_params: NDArray[np.float32]) -> Forward:
        dims, shape, head = len(self.state_shape), self.shape, self.head
        in_numpy = partial(NumpyMlp, dims, shape, head, flat_params)
        return compile_forward(self.state_shape, shape, head, flat_params, in_numpy) or in_numpy()

    def population_actions(
        self, rows: Rows, states: torch.Tensor
    ) -> torch.Tensor:  # [B, P], [K, *state] -> [B, K, A]
        """The states may also be each policy's own, [B, K, *state]."""
        from litmus.policies.networks import flatten_states, mlp_population_actions

        inputs = flatten_states(states, len(self.state_shape))
        return mlp_population_actions(self.shape, self.head, rows, inputs)


class NumpyMlp:
    """The forward pass of one policy for the rollout workers.

    Each layer is one product: the bias is the weight of a constant 1 behind the inputs. For a
    single state the arrays between layers are made once and used in each step.
    """

    def __init__(
        self, state_dims: int, shape: MlpShape, head: ActionHead, flat_params: NDArray[np.float32]
    ) -> None:
        self.squash, self.state_dims = head.squash, state_dims
        self.activate = np.tanh if shape.activation == "tanh" else _relu
        self.weights: list[NDArray[np.float32]] = []  # [in + 1, out]
        self.inputs: list[NDArray[np.float32]] = []  # [in + 1], the last one 1
        offset = 0
        for inputs, outputs in shape.layer_sizes:
            weight = np.empty((inputs + 1, outputs), dtype=np.float32)
            end = offset + inputs * outputs
            weight[:-1] = flat_params[offset:end].reshape(outputs, inputs).T
            weight[-1] = flat_params[end : end + outputs]
            offset = end + outputs
            self.weights.append(weight)
            self.inputs.append(np.ones(inputs + 1, dtype=np.float32))
        self._state = self.inputs[0][:-1]
        self._hidden = [
            (x, weight, following[:-1])
            for x, weight, following in zip(
                self.inputs[:-1], self.weights[:-1], self.inputs[1:], strict=True
            )
        ]

    def __call__(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        if states.ndim != self.state_dims:
            return self._evaluate_batch(states)
        self._state[...] = states if self.state_dims == 1 else states.ravel()
        activate, dot = self.activate, np.dot
        for x, weight, hidden in self._hidden:
            dot(x, weight, out=hidden)
            activate(hidden, out=hidden)
        return self.squash(dot(self.inputs[-1], self.weights[-1]))

    def _evaluate_batch(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        x = states.reshape(len(states), -1)
        for weight in self.weights[:-1]:
            x = x @ weight[:-1] + weight[-1]
            self.activate(x, out=x)
        return self.squash(x @ self.weights[-1][:-1] + self.weights[-1][-1])


def _relu(x: NDArray[np.float32], out: NDArray[np.float32]) -> None:
    np.maximum(x, 0, out=out)
