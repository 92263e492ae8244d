"""Many perceptrons at once: through compiled kernels on a CPU, through Triton's on a GPU, through
autograd elsewhere.

All are tested equal to `torch.func` on the module itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from litmus.native import gpu_layers
from litmus.native.perceptrons import can_evaluate, evaluate_population
from litmus.policies.rows import MlpShape, Rows, stack_rows


def evaluate_perceptrons(shape: MlpShape, rows: Rows, states: Tensor) -> Tensor:
    """Raw outputs [B, K, A] of policies [B, P] in states [K, D], or each in its own [B, K, D];
    differentiable in both."""
    if isinstance(rows, tuple) and any(row.requires_grad for row in rows):
        rows = stack_rows(rows)
    if states.dim() == 2 and can_evaluate(rows, states):
        return evaluate_population(shape, rows, states)
    flat_params = stack_rows(rows)
    if gpu_layers.can_evaluate(shape, flat_params, states):
        return gpu_layers.evaluate(shape, flat_params, states)
    return evaluate_under_autograd(shape, flat_params, states)


def evaluate_under_autograd(shape: MlpShape, flat_params: Tensor, states: Tensor) -> Tensor:
    """The same, by batched products and torch's own gradients."""
    x = states.expand(len(flat_params), -1, -1)  # [B, K, D]
    layers = cut_layers(shape.layer_sizes, flat_params)
    for weights, biases in layers[:-1]:
        x = torch.baddbmm(biases, x, weights.transpose(1, 2))
        x = x.tanh_() if shape.activation == "tanh" else x.relu_()
    weights, biases = layers[-1]
    return torch.baddbmm(biases, x, weights.transpose(1, 2))


def cut_layers(
    layer_sizes: Sequence[tuple[int, int]], flat_params: Tensor
) -> list[tuple[Tensor, Tensor]]:
    """Views of each layer's weights [B, out, in] and biases [B, 1, out]."""
    sizes = [size for inputs, outputs in layer_sizes for size in (inputs * outputs, outputs)]
    pieces = torch.split(flat_params, sizes, dim=1)
    return [
        (pieces[2 * number].view(-1, outputs, inputs), pieces[2 * number + 1].unsqueeze(1))
        for number, (inputs, outputs) in enumerate(layer_sizes)
    ]
