"""Many perceptrons on the CPU, one policy at a time: activations stay in the core's cache, rows of
the buffer are read where they lie, and policies are shared out among threads.

Gradients are written out by hand for what is asked for: the states (to learn probing states), the
parameters (to improve a policy), or both. Tested equal to `torch.func` on the module itself.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from litmus.policies.mlp import Activation
from litmus.policies.team import shared_team

Layers = tuple[tuple[int, int], ...]

HALVED_FROM = 64
"""States from which on it pays to share out a single policy's work."""


@dataclass(frozen=True)
class MlpShape:
    layer_sizes: Layers  # (inputs, outputs)
    activation: Activation


def evaluate_rows(shape: MlpShape, rows: Sequence[Tensor], states: Tensor) -> Tensor:
    """Raw outputs [B, K, A] of B policies, rows [P], in states [K, D]; differentiable in both."""
    outputs: Tensor = _EvaluateRows.apply(shape, states, *rows)  # type: ignore[no-untyped-call]
    return outputs


@dataclass(frozen=True)
class _Piece:
    """What one thread does at a time: a policy in all states, or a lone one in half of them."""

    row: int
    states: slice


def _cut_into_pieces(rows: int, states: int) -> list[_Piece]:
    """Depends on the sizes only, never on the number of threads: nor do the results."""
    if rows == 1 and states >= HALVED_FROM:
        half = states // 2
        return [_Piece(0, slice(0, half)), _Piece(0, slice(half, states))]
    return [_Piece(row, slice(0, states)) for row in range(rows)]


class _EvaluateRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shape: MlpShape, states: Tensor, *rows: Tensor) -> Tensor:
        workspace = _Workspace.take(shape, len(rows), states)
        cuts = [_cut(shape.layer_sizes, row) for row in rows]
        outputs = _run_forward(shape, cuts, states, workspace)
        if any(ctx.needs_input_grad):
            ctx.shape, ctx.cuts, ctx.workspace = shape, cuts, workspace
            ctx.save_for_backward(states, *rows)  # notices in-place changes before backward
        else:
            workspace.give_back()
        return outputs

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        (output_gradients,) = gradients
        states, *rows = ctx.saved_tensors
        shape, cuts, workspace = ctx.shape, ctx.cuts, ctx.workspace
        if workspace is None:  # backward for the second time: the activations are made again
            workspace = _Workspace.take(shape, len(rows), states)
            _run_forward(shape, cuts, states, workspace)
        ctx.workspace = None
        _, needs_states, *needs_rows = ctx.needs_input_grad
        state_gradients = states.new_empty(len(rows), *states.shape) if needs_states else None
        pieces = _cut_into_pieces(len(rows), states.shape[0])
        row_gradients = [
            torch.empty_like(rows[piece.row]) if needs_rows[piece.row] else None for piece in pieces
        ]

        def backward_one(number: int) -> None:
            piece, row_gradient = pieces[number], row_gradients[number]
            _backward(
                shape,
                cuts[piece.row],
                states[piece.states],
                [layer[piece.states] for layer in workspace.hidden[piece.row]],
                output_gradients[piece.row, piece.states],
                None if state_gradients is None else state_gradients[piece.row, piece.states],
                None if row_gradient is None else _cut(shape.layer_sizes, row_gradient),
            )

        shared_team().run(backward_one, len(pieces))
        workspace.give_back()
        if len(pieces) > len(rows):
            first, second = row_gradients
            row_gradients = [None if first is None or second is None else first.add_(second)]
        summed = None if state_gradients is None else state_gradients.sum(0)
        return None, summed, *row_gradients


def _run_forward(
    shape: MlpShape, cuts: list[list[tuple[Tensor, Tensor]]], states: Tensor, workspace: _Workspace
) -> Tensor:  # [B, K, A]
    outputs = states.new_empty(len(cuts), states.shape[0], shape.layer_sizes[-1][1])
    pieces = _cut_into_pieces(len(cuts), states.shape[0])

    def forward_one(number: int) -> None:
        piece = pieces[number]
        hidden = [layer[piece.states] for layer in workspace.hidden[piece.row]]
        layers, into = cuts[piece.row], outputs[piece.row, piece.states]
        _forward(shape, layers, states[piece.states], hidden, into)

    shared_team().run(forward_one, len(pieces))
    return outputs


def _cut(layer_sizes: Layers, row: Tensor) -> list[tuple[Tensor, Tensor]]:
    """Views of each layer's weight [out, in] and bias [out]."""
    layers, offset = [], 0
    for inputs, outputs in layer_sizes:
        end = offset + inputs * outputs
        layers.append((row[offset:end].view(outputs, inputs), row[end : end + outputs]))
        offset = end + outputs
    return layers


def _forward(
    shape: MlpShape,
    layers: list[tuple[Tensor, Tensor]],
    x: Tensor,
    hidden: list[Tensor],
    outputs: Tensor,
) -> None:
    activate = torch.tanh_ if shape.activation == "tanh" else torch.relu_
    for (weight, bias), into in zip(layers[:-1], hidden, strict=True):
        torch.addmm(bias, x, weight.t(), out=into)
        x = activate(into)
    weight, bias = layers[-1]
    # Few outputs: W xᵀ is three times faster than x Wᵀ.
    torch.add(torch.mm(weight, x.t()).t(), bias, out=outputs)


def _backward(
    shape: MlpShape,
    layers: list[tuple[Tensor, Tensor]],
    states: Tensor,
    hidden: list[Tensor],
    gradient: Tensor,
    state_gradient: Tensor | None,
    row_gradient: list[tuple[Tensor, Tensor]] | None,
) -> None:
    for number in reversed(range(len(layers))):
        below = hidden[number - 1] if number else states
        if row_gradient is not None:
            weight_gradient, bias_gradient = row_gradient[number]
            torch.mm(gradient.t(), below, out=weight_gradient)
            torch.sum(gradient, 0, out=bias_gradient)
        if number:
            into = _scratch(number, below)
            gradient = torch.mm(gradient, layers[number][0], out=into)
            _activation_backward(shape.activation, gradient, below)
        elif state_gradient is not None:
            torch.mm(gradient, layers[0][0], out=state_gradient)


def _activation_backward(activation: Activation, gradient: Tensor, activated: Tensor) -> None:
    """Multiply `gradient` in place by the activation's slope, known from its output."""
    if activation == "tanh":
        torch.ops.aten.tanh_backward.grad_input(gradient, activated, grad_input=gradient)
    else:
        torch.ops.aten.threshold_backward.grad_input(gradient, activated, 0, grad_input=gradient)


_thread = threading.local()


def _scratch(layer: int, like: Tensor) -> Tensor:
    """Memory for a gradient, one for each layer and thread, that stays in the core's cache."""
    scratch: dict[Any, Tensor] = _thread.__dict__.setdefault("scratch", {})
    key = (layer, like.shape, like.dtype)
    if key not in scratch:
        scratch[key] = torch.empty_like(like)
    return scratch[key]


class _Workspace:
    """Activations that are used again and again: fresh memory would cost a page fault each 4 KB."""

    _free: ClassVar[dict[tuple[Any, ...], list[_Workspace]]] = {}

    def __init__(self, key: tuple[Any, ...], shape: MlpShape, rows: int, states: Tensor) -> None:
        self.key = key
        widths = [outputs for _, outputs in shape.layer_sizes[:-1]]
        self.hidden = [
            [states.new_empty(states.shape[0], width) for width in widths] for _ in range(rows)
        ]

    @classmethod
    def take(cls, shape: MlpShape, rows: int, states: Tensor) -> _Workspace:
        key = (shape, rows, states.shape[0], states.dtype)
        free = cls._free.get(key)
        return free.pop() if free else cls(key, shape, rows, states)

    def give_back(self) -> None:
        self._free.setdefault(self.key, []).append(self)
