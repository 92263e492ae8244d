"""The torch side of `foreign_mlp.py`."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional

from litmus.policies.actions import ActionHead
from litmus.policies.mlp_population import cut_layers, evaluate_perceptrons
from litmus.policies.networks import Squash, flatten_states
from litmus.policies.rows import ForeignShape, MlpShape, Rows, stack_rows

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "tanh": torch.tanh,
    "relu": torch.relu,
    "elu": functional.elu,
    "leaky-relu": functional.leaky_relu,
    "silu": functional.silu,
}


class Finish(nn.Module):
    """From the last layer's outputs [..., A] to action parameters."""

    low: Tensor
    high: Tensor

    def __init__(self, shape: ForeignShape, head: ActionHead) -> None:
        super().__init__()
        self.kind = shape.output
        self.squash = Squash(head)
        if self.kind == "clip":
            for name in ("low", "high"):
                self.register_buffer(name, torch.from_numpy(getattr(head, name)), persistent=False)

    def forward(self, outputs: Tensor) -> Tensor:
        if self.kind == "clip":
            return torch.clamp(outputs, self.low, self.high)
        if self.kind == "argmax":
            chosen = outputs.argmax(-1)
            return functional.one_hot(chosen, outputs.shape[-1]).to(outputs.dtype)
        squashed: Tensor = self.squash(outputs)
        return squashed


class ForeignMlpNetwork(nn.Module):
    """From normalised states [N, *state] to action parameters [N, A]."""

    def __init__(self, state_dims: int, shape: ForeignShape, head: ActionHead) -> None:
        super().__init__()
        self.state_dims = state_dims
        self.observation_clip = shape.observation_clip
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in shape.layer_sizes)
        self.activate = ACTIVATIONS[shape.activation]
        self.finish = Finish(shape, head)

    def forward(self, states: Tensor) -> Tensor:
        x = clip_observations(flatten_states(states, self.state_dims), self.observation_clip)
        for layer in self.layers[:-1]:
            x = self.activate(layer(x))
        finished: Tensor = self.finish(self.layers[-1](x))
        return finished


def evaluate_foreign(
    shape: ForeignShape, head: ActionHead, rows: Rows, states: Tensor
) -> Tensor:  # [B, P], [K, *state] -> [B, K, A]
    x = clip_observations(states.reshape(len(states), -1), shape.observation_clip)
    if shape.activation == "tanh" or shape.activation == "relu":
        outputs = evaluate_perceptrons(MlpShape(shape.layer_sizes, shape.activation), rows, x)
    else:
        outputs = _evaluate(shape, stack_rows(rows), x)
    finished: Tensor = Finish(shape, head).to(outputs.device)(outputs)
    return finished


def _evaluate(shape: ForeignShape, flat_params: Tensor, states: Tensor) -> Tensor:
    x = states.expand(len(flat_params), -1, -1)  # [B, K, D]
    activate = ACTIVATIONS[shape.activation]
    layers = cut_layers(shape.layer_sizes, flat_params)
    for place, (weights, biases) in enumerate(layers):
        x = torch.baddbmm(biases, x, weights.transpose(1, 2))
        x = activate(x) if place < len(layers) - 1 else x
    return x


def clip_observations(states: Tensor, most: float) -> Tensor:
    return states.clamp(-most, most) if most else states
