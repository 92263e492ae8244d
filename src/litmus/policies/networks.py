"""The torch side of the shipped architectures: modules, and many MLPs evaluated at once."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from litmus.policies.actions import LOG_STD_RANGE, ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.mlp_rows import MlpShape, evaluate_rows

ROW_BY_ROW_FROM = 300_000
"""Multiplications a policy from which on it is evaluated by itself on the CPU; smaller ones would
spend more time in Python than in products."""


class Squash(nn.Module):
    """Turns raw outputs [..., A] into action parameters; the torch side of `ActionHead.squash`."""

    bounded: Tensor
    center: Tensor
    half_range: Tensor

    def __init__(self, head: ActionHead) -> None:
        super().__init__()
        self.distribution = head.distribution
        if head.distribution != "categorical":
            self.all_bounded = bool(head.bounded.all())
            for name in ("bounded", "center", "half_range"):
                self.register_buffer(name, torch.from_numpy(getattr(head, name)), persistent=False)

    def forward(self, outputs: Tensor) -> Tensor:
        if self.distribution == "categorical":
            return torch.softmax(outputs, dim=-1)
        size = self.center.shape[0]
        means = outputs[..., :size]
        squashed = torch.tanh(means)
        if not self.all_bounded:
            squashed = torch.where(self.bounded, squashed, means)
        means = torch.addcmul(self.center, squashed, self.half_range)
        if self.distribution == "deterministic":
            return means
        low, high = LOG_STD_RANGE
        log_stds = low + (torch.tanh(outputs[..., size:]) + 1) * ((high - low) / 2)
        return torch.cat([means, log_stds], dim=-1)


class MlpNetwork(nn.Module):
    """From normalised states [N, *state] to action parameters [N, A]."""

    def __init__(self, architecture: MlpArchitecture) -> None:
        super().__init__()
        self.state_dims = len(architecture.state_shape)
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in architecture.layer_sizes)
        self.activate = torch.tanh if architecture.activation == "tanh" else torch.relu
        self.squash = Squash(architecture.head)

    def forward(self, states: Tensor) -> Tensor:
        x = states.flatten(-self.state_dims)
        for layer in self.layers[:-1]:
            x = self.activate(layer(x))
        squashed: Tensor = self.squash(self.layers[-1](x))
        return squashed


def mlp_population_actions(
    architecture: MlpArchitecture, rows: Tensor | Sequence[Tensor], states: Tensor
) -> Tensor:  # B × [P], [K, *state] -> [B, K, A]
    """Evaluate B perceptrons on K states."""
    states = states.flatten(1)
    products = sum(inputs * outputs for inputs, outputs in architecture.layer_sizes)
    if states.device.type == "cpu" and products * states.shape[0] >= ROW_BY_ROW_FROM:
        shape = MlpShape(architecture.layer_sizes, architecture.activation)
        outputs = evaluate_rows(shape, tuple(rows), states)
    else:
        stacked = rows if isinstance(rows, Tensor) else torch.stack(tuple(rows))
        outputs = _evaluate_batched(architecture, stacked, states)
    squashed: Tensor = squash_for(architecture.head, outputs.device)(outputs)
    return squashed


def _evaluate_batched(
    architecture: MlpArchitecture, flat_params: Tensor, states: Tensor
) -> Tensor:  # [B, P], [K, D] -> [B, K, A]
    """One batched product a layer: what a GPU likes, and small policies."""
    population = flat_params.shape[0]
    sizes = [n for i, o in architecture.layer_sizes for n in (i * o, o)]
    pieces = torch.split(flat_params, sizes, dim=1)
    last = len(architecture.layer_sizes) - 1
    x = states.expand(population, -1, -1)  # [B, K, D]
    for number, (inputs, outputs) in enumerate(architecture.layer_sizes):
        weight = pieces[2 * number].view(population, outputs, inputs)
        bias = pieces[2 * number + 1].unsqueeze(1)  # [B, 1, out]
        x = torch.baddbmm(bias, x, weight.transpose(1, 2))
        if number != last:
            x = x.tanh_() if architecture.activation == "tanh" else x.relu_()
    return x


_SQUASHES: dict[tuple[ActionHead, torch.device], Squash] = {}


def squash_for(head: ActionHead, device: torch.device) -> Squash:
    """One Squash a head and device, made once."""
    key = (head, device)
    if key not in _SQUASHES:
        _SQUASHES[key] = Squash(head).to(device)
    return _SQUASHES[key]
