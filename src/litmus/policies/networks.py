"""The torch side of the shipped architectures: modules, and many of a kind evaluated at once."""

from __future__ import annotations

from typing import cast

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

from litmus.policies.actions import LOG_STD_RANGE, ActionHead
from litmus.policies.cnn_population import evaluate_cnns
from litmus.policies.mlp_population import evaluate_perceptrons
from litmus.policies.rows import CnnShape, MlpShape, Rows, stack_rows


class Squash(nn.Module):
    """Turns raw outputs [..., A] into action parameters; the torch side of `ActionHead.squash`."""

    bounded: Tensor
    sides: Tensor
    center: Tensor
    half_range: Tensor

    def __init__(self, head: ActionHead) -> None:
        super().__init__()
        self.distribution = head.distribution
        if head.distribution != "categorical":
            self.all_bounded = bool(head.bounded.all())
            self.is_unit_range = head.is_unit_range
            for name in ("bounded", "sides", "center", "half_range"):
                self.register_buffer(name, torch.from_numpy(getattr(head, name)), persistent=False)

    def forward(self, outputs: Tensor) -> Tensor:
        if self.distribution == "categorical":
            return torch.softmax(outputs, dim=-1)
        size = self.center.shape[0]
        means = outputs[..., :size]
        squashed = torch.tanh(means)
        if not self.all_bounded:
            beside = self.sides * softplus(self.sides * means)
            unbounded = torch.where(self.sides != 0, beside, means)
            squashed = torch.where(self.bounded, squashed, unbounded)
        means = squashed
        if not self.is_unit_range:
            means = torch.addcmul(self.center, squashed, self.half_range)
        if self.distribution == "deterministic":
            return means
        low, high = LOG_STD_RANGE
        log_stds = low + (torch.tanh(outputs[..., size:]) + 1) * ((high - low) / 2)
        return torch.cat([means, log_stds], dim=-1)


def flatten_states(states: Tensor, dims: int) -> Tensor:  # [..., *state] -> [..., D]
    """A state may be a single number, with no dimension of its own."""
    return states.flatten(-dims) if dims else states.unsqueeze(-1)


class MlpNetwork(nn.Module):
    """From normalised states [N, *state] to action parameters [N, A]."""

    def __init__(self, state_dims: int, shape: MlpShape, head: ActionHead) -> None:
        super().__init__()
        self.state_dims = state_dims
        self.layers = nn.ModuleList(nn.Linear(i, o) for i, o in shape.layer_sizes)
        self.activate = torch.tanh if shape.activation == "tanh" else torch.relu
        self.squash = Squash(head)

    def forward(self, states: Tensor) -> Tensor:
        x = flatten_states(states, self.state_dims)
        for layer in self.layers[:-1]:
            x = self.activate(layer(x))
        squashed: Tensor = self.squash(self.layers[-1](x))
        return squashed


class CnnNetwork(nn.Module):
    """From normalised images [N, *state] to action parameters [N, A]."""

    def __init__(self, shape: CnnShape, head: ActionHead, paired_filters: bool = False) -> None:
        super().__init__()
        self.image, self.scale = shape.image, shape.scale
        convolutions = [nn.Conv2d(i, o, shape.kernel_size) for i, o in shape.convolutions]
        self.convolutions = nn.ModuleList(convolutions)
        with torch.no_grad():
            for convolution in convolutions if paired_filters else ():
                filters, half = convolution.weight, convolution.out_channels // 2
                filters[half : 2 * half] = -filters[:half]
                nn.init.zeros_(cast(Tensor, convolution.bias))
            for parameter in self.convolutions.parameters():
                parameter.div_(self.scale)
        self.last = nn.Linear(shape.features, shape.outputs)
        self.squash = Squash(head)

    def forward(self, states: Tensor) -> Tensor:
        x = states.reshape(-1, *self.image)
        for convolution in self.convolutions:
            x = torch.relu(self.scale * convolution(x))
        squashed: Tensor = self.squash(self.last(x.flatten(1)))
        return squashed


def mlp_population_actions(
    shape: MlpShape, head: ActionHead, rows: Rows, states: Tensor
) -> Tensor:  # [B, P], [K, D] or [B, K, D] -> [B, K, A]
    """Evaluate B perceptrons on K states."""
    outputs = evaluate_perceptrons(shape, rows, states)
    squashed: Tensor = squash_for(head, outputs.device)(outputs)
    return squashed


def cnn_population_actions(
    shape: CnnShape, head: ActionHead, rows: Rows, states: Tensor
) -> Tensor:  # [B, P], [K, *state] -> [B, K, A]
    """Evaluate B convolutional networks on the same K images."""
    images = states.reshape(-1, *shape.image)
    outputs = evaluate_cnns(shape, stack_rows(rows), images)
    squashed: Tensor = squash_for(head, outputs.device)(outputs)
    return squashed


_SQUASHES: dict[tuple[ActionHead, torch.device], Squash] = {}


def squash_for(head: ActionHead, device: torch.device) -> Squash:
    """One Squash per head and device, made once."""
    key = (head, device)
    if key not in _SQUASHES:
        _SQUASHES[key] = Squash(head).to(device)
    return _SQUASHES[key]
