"""Perceptrons through the compiled kernels, as functions that autograd can differentiate.

Only what is asked for is computed: the gradient of the states to learn probing states, of the
parameters to improve a policy. Between the two passes the hidden layers lie in memory that is used
again: fresh memory costs a page fault every 4 KB.
"""

from __future__ import annotations

import ctypes
import threading
from functools import lru_cache
from itertools import accumulate
from typing import Any

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn import Parameter

from litmus.native.library import PopulationCall, Shape, find_library
from litmus.policies.rows import MlpShape, Rows

ASKED_AT_ONCE = 64
"""Policies whose hidden layers are in memory together, where no gradient needs all of them."""

Pointers = ctypes.Array[ctypes.c_void_p]
Places = ctypes.Array[ctypes.c_int64]


def can_evaluate(rows: Rows, states: Tensor) -> bool:
    """Whether the kernels are there, and made for these tensors."""
    return (
        find_library() is not None
        and not torch._C._are_functorch_transforms_active()
        and len(rows) > 0
        and len(states) > 0
        and all(
            type(tensor) in (Tensor, Parameter)
            and tensor.device.type == "cpu"
            and tensor.dtype == torch.float32
            for tensor in (states, *((rows,) if isinstance(rows, Tensor) else rows))
        )
    )


def evaluate_population(shape: MlpShape, rows: Rows, states: Tensor) -> Tensor:
    """Raw outputs [B, K, A] of policies in states [K, D]; rows that are a tensor get a gradient."""
    if _wants_gradient(states, *((rows,) if isinstance(rows, Tensor) else ())):
        outputs: Tensor = _EvaluatePopulation.apply(shape, rows, states)  # type: ignore[no-untyped-call]
        return outputs
    pieces = [
        _start_population(shape, rows[start : start + ASKED_AT_ONCE], states).forward()
        for start in range(0, len(rows), ASKED_AT_ONCE)
    ]
    return torch.cat(pieces) if len(pieces) > 1 else pieces[0]


def _wants_gradient(*tensors: Tensor) -> bool:
    return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)


class _EvaluatePopulation(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, shape: MlpShape, rows: Rows, states: Tensor) -> Tensor:
        ctx.call = _start_population(shape, rows, states)
        # Saved so that torch notices if somebody changes them before the backward pass.
        ctx.save_for_backward(states, *(rows if isinstance(rows, tuple) else (rows,)))
        return ctx.call.forward(keep=True)  # type: ignore[no-any-return]

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Any, ...]:
        states, *rows = ctx.saved_tensors
        _, needs_rows, needs_states = ctx.needs_input_grad
        into_rows = torch.empty_like(rows[0], memory_format=_DENSE) if needs_rows else None
        into_states = torch.empty_like(states, memory_format=_DENSE) if needs_states else None
        ctx.call.backward(gradients[0], into_states, into_rows)
        return None, into_rows, into_states


_DENSE = torch.contiguous_format


def _start_population(shape: MlpShape, rows: Rows, states: Tensor) -> _Call:
    count, num_params = len(rows), shape.num_params
    sizes = {tuple(row.shape) for row in rows} if isinstance(rows, tuple) else {rows.shape[1:]}
    if sizes != {(num_params,)} or states.shape[1:] != (shape.layer_sizes[0][0],):
        raise ValueError(
            f"{shape} takes {num_params} parameters and states of {shape.layer_sizes[0][0]} "
            f"numbers, not {[tuple(size) for size in sizes]} and {tuple(states.shape[1:])}"
        )
    if isinstance(rows, Tensor):
        rows = rows.contiguous()
        start, row_bytes = rows.data_ptr(), 4 * rows.shape[1]
        pointers = [start + number * row_bytes for number in range(count)]
    else:
        rows = tuple(row.contiguous() for row in rows)
        pointers = [row.data_ptr() for row in rows]
    return _Call(shape, (ctypes.c_void_p * count)(*pointers), find_flat_places(shape), states, rows)


@lru_cache(maxsize=64)
def find_flat_places(shape: MlpShape) -> Places:
    """Where weights and bias of each layer begin in flat parameters."""
    sizes = [size for inputs, outputs in shape.layer_sizes for size in (inputs * outputs, outputs)]
    return (ctypes.c_int64 * len(sizes))(*accumulate(sizes[:-1], initial=0))


@lru_cache(maxsize=64)
def describe_shape(shape: MlpShape) -> Shape:
    return Shape.of(shape.layer_sizes, shape.activation)


class _Call:
    """One call of the kernels: what it points to, and the memory between its two passes."""

    def __init__(
        self, shape: MlpShape, pointers: Pointers, places: Places, states: Tensor, owners: Rows
    ) -> None:
        library = find_library()
        assert library is not None
        self.library, self.outputs_size = library, shape.layer_sizes[-1][1]
        self.states = states.contiguous()
        self.owners = owners  # kept alive for as long as they are pointed to
        self.call = PopulationCall(
            describe_shape(shape),
            len(pointers),
            len(states),
            pointers,
            places,
            self.states.data_ptr(),
            None,
            torch.get_num_threads(),
        )
        self.memory: Tensor | None = None

    def forward(self, keep: bool = False) -> Tensor:  # [B, K, A]
        """`keep`: a backward pass will follow."""
        sizes = (self.call.policies, self.call.states, self.outputs_size)
        outputs = torch.empty(sizes, dtype=torch.float32, device="cpu")
        self.memory = _SPARE.take(self.library.memory_size(self.call, keep))
        self.call.memory = self.memory.data_ptr()
        self.library.forward(self.call, outputs.data_ptr())
        if not keep:
            self._give_back()
        return outputs

    def backward(
        self, gradient: Tensor, into_states: Tensor | None, into_params: Tensor | None
    ) -> None:
        """From the gradient of the outputs [B, K, A]."""
        if self.memory is None:  # for the second time: the hidden layers were used up
            self.forward(keep=True)
        gradient = gradient.contiguous()
        self.library.backward(
            self.call,
            gradient.data_ptr(),
            None if into_states is None else into_states.data_ptr(),
            None if into_params is None else into_params.data_ptr(),
        )
        self._give_back()

    def _give_back(self) -> None:
        if self.memory is not None:
            _SPARE.give_back(self.memory)
        self.memory = None


class _Spare:
    """Memory that nobody uses now: in training one piece or two, large enough for every call."""

    MOST_PIECES = 4
    MOST_FLOATS = 16 * 2**20

    def __init__(self) -> None:
        self._pieces: list[Tensor] = []
        self._lock = threading.Lock()

    def take(self, floats: int) -> Tensor:
        with self._lock:
            for number, piece in enumerate(self._pieces):
                if piece.numel() >= floats:
                    return self._pieces.pop(number)
        return torch.empty(floats, dtype=torch.float32, device="cpu")

    def give_back(self, memory: Tensor) -> None:
        if memory.numel() > self.MOST_FLOATS:
            return
        with self._lock:
            self._pieces = [memory, *self._pieces][: self.MOST_PIECES]


_SPARE = _Spare()
