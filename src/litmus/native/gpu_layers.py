"""Many small perceptrons on a GPU, a kernel per layer and direction instead of three to ten.

For rows of float32 parameters [B, P], each asked in states of its own or all in the same. Products
are made by the matrix units, three for one, which is as exact as float32 is.
"""

from __future__ import annotations

import logging
import math
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from litmus.errors import one_line
from litmus.native.library import are_switched_off
from litmus.policies.rows import MlpShape

logger = logging.getLogger("litmus")

ROWS, UNITS, INNER = 32, 64, 32
"""Of what a kernel's program computes, and how much of what it sums over it reads at once."""
PRECISION = "tf32x3"
KINDS = {"tanh": 1, "relu": 2}
MOST_WORK = 2**31
"""Products per layer: larger ones are in better hands with torch's library."""
MOST_POLICIES = 65_535
"""As many as the third axis of a kernel's grid can have."""
LEAST_CAPABILITY = (8, 0)
"""Of a GPU whose matrix units know the numbers that `PRECISION` is made of."""


@lru_cache(maxsize=1)
def find_kernels() -> Any:
    """The module with the kernels; None where there is no Triton, it does not work on this machine
    (it needs a C compiler, for one), or all kernels are switched off. Asked for on a GPU alone."""
    if are_switched_off() or torch.cuda.get_device_capability() < LEAST_CAPABILITY:
        return None
    try:
        from litmus.native import gpu_kernels

        _try_out(gpu_kernels)
    except ImportError:
        return None
    except Exception as error:  # Triton has errors of its own kinds
        logger.warning(
            "Triton does not work here, so torch's kernels are used: %s", one_line(error)
        )
        return None
    return gpu_kernels


def _try_out(kernels: Any) -> None:
    """Raises what Triton raises where it cannot build or start a kernel."""
    numbers = [torch.ones(1, device="cuda") for _ in range(6)]
    kernels.adam_kernel[(1,)](*numbers, 0.9, math.log(0.9), 0.9, math.log(0.9), 1e-8, 1, BLOCK=16)


def can_evaluate(shape: MlpShape, flat_params: Tensor, states: Tensor) -> bool:
    if not (flat_params.is_cuda and flat_params.dtype == states.dtype == torch.float32):
        return False
    if torch._C._are_functorch_transforms_active() or len(flat_params) > MOST_POLICIES:
        return False
    widest = max(inputs * outputs for inputs, outputs in shape.layer_sizes)
    work = len(flat_params) * states.shape[-2] * widest
    return work <= MOST_WORK and find_kernels() is not None


def evaluate(shape: MlpShape, flat_params: Tensor, states: Tensor) -> Tensor:
    """Raw outputs [B, K, A] of policies [B, P] in states [K, D] or [B, K, D]; differentiable in
    both."""
    states = states.expand(len(flat_params), -1, -1)
    outputs: Tensor = _Evaluate.apply(shape, flat_params, states)  # type: ignore[no-untyped-call]
    return outputs


class _Evaluate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shape: MlpShape, flat_params: Tensor, states: Tensor) -> Tensor:
        flat_params = flat_params.contiguous()
        said = [states if states.stride(-1) == 1 else states.contiguous()]
        for layer in _describe_layers(shape):
            said.append(layer.forward(flat_params, said[-1]))
        ctx.shape = shape
        ctx.save_for_backward(flat_params, *said)
        return said[-1]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        flat_params, *said = ctx.saved_tensors
        _, needs_params, needs_states = ctx.needs_input_grad
        into_params = torch.empty_like(flat_params) if needs_params else None
        slopes = gradients[0].contiguous()
        for number, layer in reversed(list(enumerate(_describe_layers(ctx.shape)))):
            x, y = said[number], said[number + 1]
            if into_params is not None:
                layer.find_weight_slopes(x, y, slopes, into_params)
            if number or needs_states:
                slopes = layer.find_input_slopes(flat_params, x, y, slopes)
        return None, into_params, slopes if needs_states else None


class _Layer:
    """`first`: where its weights are among the flat parameters; its biases follow."""

    def __init__(self, first: int, inputs: int, outputs: int, kind: int) -> None:
        self.first, self.inputs, self.outputs, self.kind = first, inputs, outputs, kind
        self.kernels = find_kernels()

    def forward(self, flat_params: Tensor, x: Tensor) -> Tensor:
        count, rows, _ = x.shape
        y = x.new_empty((count, rows, self.outputs))
        grid = (_tiles(rows, ROWS), _tiles(self.outputs, UNITS), count)
        self.kernels.forward_kernel[grid](
            x,
            *self._cut(flat_params),
            y,
            rows,
            self.inputs,
            self.outputs,
            x.stride(0),
            x.stride(1),
            flat_params.stride(0),
            KIND=self.kind,
            PRECISION=PRECISION,
            ROWS=ROWS,
            INPUTS=INNER,
            OUTPUTS=UNITS,
        )
        return y

    def find_input_slopes(
        self, flat_params: Tensor, x: Tensor, y: Tensor, slopes: Tensor
    ) -> Tensor:
        count, rows, _ = x.shape
        into_x = x.new_empty((count, rows, self.inputs))
        grid = (_tiles(rows, ROWS), _tiles(self.inputs, UNITS), count)
        self.kernels.input_slopes_kernel[grid](
            self._cut(flat_params)[0],
            y,
            slopes,
            into_x,
            rows,
            self.inputs,
            self.outputs,
            flat_params.stride(0),
            KIND=self.kind,
            PRECISION=PRECISION,
            ROWS=ROWS,
            INPUTS=UNITS,
            OUTPUTS=INNER,
        )
        return into_x

    def find_weight_slopes(self, x: Tensor, y: Tensor, slopes: Tensor, into_params: Tensor) -> None:
        count, rows, _ = x.shape
        grid = (_tiles(self.outputs, UNITS), _tiles(self.inputs, UNITS), count)
        self.kernels.weight_slopes_kernel[grid](
            x,
            y,
            slopes,
            *self._cut(into_params),
            rows,
            self.inputs,
            self.outputs,
            x.stride(0),
            x.stride(1),
            into_params.stride(0),
            KIND=self.kind,
            PRECISION=PRECISION,
            ROWS=INNER,
            INPUTS=UNITS,
            OUTPUTS=UNITS,
        )

    def _cut(self, flat: Tensor) -> tuple[Tensor, Tensor]:
        """Where the weights of the first policy begin, and its biases."""
        return flat[:, self.first :], flat[:, self.first + self.inputs * self.outputs :]


@lru_cache(maxsize=64)
def _describe_layers(shape: MlpShape) -> tuple[_Layer, ...]:
    layers, first = [], 0
    for number, (inputs, outputs) in enumerate(shape.layer_sizes):
        is_last = number == len(shape.layer_sizes) - 1
        layers.append(_Layer(first, inputs, outputs, 0 if is_last else KINDS[shape.activation]))
        first += outputs * (inputs + 1)
    return tuple(layers)


def _tiles(size: int, tile: int) -> int:
    return math.ceil(size / tile)
