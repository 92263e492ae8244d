"""Perceptrons as other libraries build them: more activations, actions clipped at their bounds.

The flat parameters lie as in `mlp.py`. Where a policy is an `MlpArchitecture` as well, that one is
used: it is faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput, option
from litmus.fields import MOST_UNITS, between
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Forward
from litmus.policies.rows import ForeignActivation, ForeignShape, Output
from litmus.tasks.base import DiscreteActions

if TYPE_CHECKING:
    import torch

    from litmus.policies.rows import Rows

Numbers = NDArray[np.float32]
LEAK = np.float32(0.01)


@dataclass(frozen=True)
class ForeignMlpArchitecture:
    state_shape: tuple[int, ...]
    head: ActionHead
    hidden: tuple[int, ...] = between(1, MOST_UNITS, (64, 64))
    """Units of each hidden layer of the policy; no number at all for a linear policy."""
    activation: ForeignActivation = "tanh"
    """Activation of the policy's hidden layers."""
    output: Output = "clip"
    """What becomes of the last layer: actions clipped at their bounds or squashed to them by tanh;
    for choices, their probabilities or the likeliest alone."""
    observation_clip: float = between(0, 1e30, 0.0)
    """Normalised observations are clipped to ± this; 0: they are not."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "hidden", tuple(self.hidden))
        is_discrete = isinstance(self.head.actions, DiscreteActions)
        fitting = ("softmax", "argmax") if is_discrete else ("tanh", "clip")
        if self.output not in fitting:
            kind = "choices" if is_discrete else "continuous actions"
            raise BadInput(
                f"for a task with {kind} use {option('output', fitting[0])} or "
                f"{option('output', fitting[1])}, not {self.output}"
            )
        if self.head.distribution == "gaussian":
            raise BadInput("policies of other libraries are judged by their likeliest action")

    @cached_property
    def shape(self) -> ForeignShape:
        widths = (int(np.prod(self.state_shape)), *self.hidden, self.head.size)
        sizes = tuple(pairwise(widths))
        return ForeignShape(sizes, self.activation, self.output, self.observation_clip)

    @cached_property
    def num_params(self) -> int:
        return self.shape.num_params

    def build(self) -> torch.nn.Module:
        from litmus.policies.foreign_networks import ForeignMlpNetwork

        return ForeignMlpNetwork(len(self.state_shape), self.shape, self.head)

    def make_numpy_forward(self, flat_params: Numbers) -> Forward:
        layers, offset = [], 0
        for inputs, outputs in self.shape.layer_sizes:
            end = offset + inputs * outputs
            weight = flat_params[offset:end].reshape(outputs, inputs).T
            layers.append((weight, flat_params[end : end + outputs]))
            offset = end + outputs
        activate, finish = ACTIVATIONS[self.activation], self._finish

        def forward(states: Numbers) -> Numbers:
            x = states.reshape(*states.shape[: states.ndim - len(self.state_shape)], -1)
            if self.observation_clip:
                x = np.clip(x, -self.observation_clip, self.observation_clip)
            for weight, bias in layers[:-1]:
                x = activate(x @ weight + bias)
            weight, bias = layers[-1]
            return finish(x @ weight + bias)

        return forward

    def population_actions(self, rows: Rows, states: torch.Tensor) -> torch.Tensor:
        from litmus.policies.foreign_networks import evaluate_foreign

        return evaluate_foreign(self.shape, self.head, rows, states)

    def _finish(self, outputs: Numbers) -> Numbers:
        head = self.head
        if self.output == "clip":
            return np.clip(outputs, head.low, head.high)
        if self.output == "argmax":
            chosen: Numbers = np.eye(head.size, dtype=np.float32)[outputs.argmax(-1)]
            return chosen
        return head.squash(outputs)


def _silu(x: Numbers) -> Numbers:
    with np.errstate(over="ignore"):
        return np.asarray(x / (1 + np.exp(-x)))


ACTIVATIONS: dict[str, Callable[[Numbers], Numbers]] = {
    "tanh": np.tanh,
    "relu": lambda x: np.maximum(x, 0),
    "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "leaky-relu": lambda x: np.where(x > 0, x, LEAK * x),
    "silu": _silu,
}
