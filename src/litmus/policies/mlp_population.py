"""Many perceptrons at once: one batched product a layer, and gradients written out by hand.

By hand because only what is asked for is computed (the gradient of the states to learn probing
states, of the parameters to improve a policy) and because the activations, several megabytes, are
kept in memory that is used again: fresh memory costs a page fault every 4 KB. Tested equal to
`torch.func` on the module itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from litmus.policies.mlp import Activation

Layers = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class MlpShape:
    layer_sizes: Layers  # (inputs, outputs)
    activation: Activation


def evaluate_perceptrons(shape: MlpShape, flat_params: Tensor, states: Tensor) -> Tensor:
    """Raw outputs [B, K, A] of policies [B, P] in states [K, D]; differentiable in both."""
    outputs: Tensor = _Evaluate.apply(shape, flat_params, states)  # type: ignore[no-untyped-call]
    return outputs


def evaluate_under_autograd(shape: MlpShape, flat_params: Tensor, states: Tensor) -> Tensor:
    """The same, with gradients left to autograd."""
    layers = _cut(shape.layer_sizes, flat_params)
    x = states.expand(len(flat_params), -1, -1)  # [B, K, D]
    for weights, biases in layers[:-1]:
        x = torch.baddbmm(biases, x, weights.transpose(1, 2))
        x = x.tanh_() if shape.activation == "tanh" else x.relu_()
    weights, biases = layers[-1]
    return torch.baddbmm(biases, x, weights.transpose(1, 2))


class _Evaluate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shape: MlpShape, flat_params: Tensor, states: Tensor) -> Tensor:
        activations = _Activations.take(shape, flat_params, states)
        outputs = _forward(shape, flat_params, states, activations.hidden)
        if any(ctx.needs_input_grad):
            ctx.shape, ctx.activations = shape, activations
            ctx.save_for_backward(flat_params, states)
        else:
            activations.give_back()
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        flat_params, states = ctx.saved_tensors
        shape, activations = ctx.shape, ctx.activations
        if activations is None:  # backward for the second time: the activations are made again
            activations = _Activations.take(shape, flat_params, states)
            _forward(shape, flat_params, states, activations.hidden)
        ctx.activations = None
        _, needs_params, needs_states = ctx.needs_input_grad
        params_gradient = torch.empty_like(flat_params) if needs_params else None
        states_gradient = _backward(
            shape, flat_params, states, activations, gradients[0], params_gradient, needs_states
        )
        activations.give_back()
        return None, params_gradient, states_gradient


def _cut(layer_sizes: Layers, flat_params: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Views of each layer's weights [B, out, in] and biases [B, 1, out]."""
    sizes = [size for inputs, outputs in layer_sizes for size in (inputs * outputs, outputs)]
    pieces = torch.split(flat_params, sizes, dim=1)
    return [
        (pieces[2 * number].view(-1, outputs, inputs), pieces[2 * number + 1].unsqueeze(1))
        for number, (inputs, outputs) in enumerate(layer_sizes)
    ]


def _forward(shape: MlpShape, flat_params: Tensor, states: Tensor, hidden: list[Tensor]) -> Tensor:
    activate = torch.tanh_ if shape.activation == "tanh" else torch.relu_
    layers = _cut(shape.layer_sizes, flat_params)
    x = states.expand(len(flat_params), -1, -1)  # [B, K, D]
    for (weights, biases), into in zip(layers[:-1], hidden, strict=True):
        torch.baddbmm(biases, x, weights.transpose(1, 2), out=into)
        x = activate(into)
    weights, biases = layers[-1]
    return torch.baddbmm(biases, x, weights.transpose(1, 2))


def _backward(
    shape: MlpShape,
    flat_params: Tensor,
    states: Tensor,
    activations: _Activations,
    gradient: Tensor,  # [B, K, A]
    params_gradient: Tensor | None,
    needs_states: bool,
) -> Tensor | None:
    layers = _cut(shape.layer_sizes, flat_params)
    into_params = None
    if params_gradient is not None:
        into_params = _cut(shape.layer_sizes, params_gradient)
    for number in reversed(range(len(layers))):
        hidden = activations.hidden[number - 1] if number else None
        if into_params is not None:
            below = states.expand(len(flat_params), -1, -1) if hidden is None else hidden
            weights_gradient, biases_gradient = into_params[number]
            weights_gradient.copy_(torch.bmm(gradient.transpose(1, 2), below))
            torch.sum(gradient, 1, keepdim=True, out=biases_gradient)
        if hidden is not None:
            scratch = activations.gradients[number - 1]
            gradient = torch.bmm(gradient, layers[number][0], out=scratch)
            _activation_backward(shape.activation, gradient, hidden)
    return torch.bmm(gradient, layers[0][0]).sum(0) if needs_states else None


def _activation_backward(activation: Activation, gradient: Tensor, activated: Tensor) -> None:
    """Multiply `gradient` in place by the activation's slope, known from its output."""
    if activation == "tanh":
        torch.ops.aten.tanh_backward.grad_input(gradient, activated, grad_input=gradient)
    else:
        torch.ops.aten.threshold_backward.grad_input(gradient, activated, 0, grad_input=gradient)


class _Activations:
    """The hidden layers of up to `capacity` policies, and the gradients of the same."""

    def __init__(self, key: tuple[Any, ...], widths: list[int], capacity: int, like: Tensor):
        self.key, self.capacity = key, capacity
        shapes = [(capacity, like.shape[0], width) for width in widths]
        self._hidden = [like.new_empty(shape) for shape in shapes]
        self._gradients = [like.new_empty(shape) for shape in shapes]
        self.hidden, self.gradients = self._hidden, self._gradients

    @staticmethod
    def take(shape: MlpShape, flat_params: Tensor, states: Tensor) -> _Activations:
        """One that nobody uses now; a new one where there is none, or none large enough."""
        key = (shape, states.shape[0], states.dtype, states.device)
        count, free = len(flat_params), _FREE.setdefault(key, [])
        found = free.pop() if free else None
        if found is None or found.capacity < count:
            widths = [outputs for _, outputs in shape.layer_sizes[:-1]]
            found = _Activations(key, widths, count, states)
        found.hidden = [layer[:count] for layer in found._hidden]
        found.gradients = [layer[:count] for layer in found._gradients]
        return found

    def give_back(self) -> None:
        _FREE[self.key].append(self)


_FREE: dict[tuple[Any, ...], list[_Activations]] = {}
