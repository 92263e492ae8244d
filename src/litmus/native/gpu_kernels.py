"""Triton's kernels for small perceptrons on a GPU: a layer, its two gradients, a step of Adam.

Torch does each of them in three to ten kernels that take longer to start than to run. Imported on
machines with a GPU alone; `gpu_layers.py` and `gpu_adam.py` call what is here.
"""
# mypy: ignore-errors
# ruff: noqa: N803

from __future__ import annotations

import triton
import triton.language as tl

LINEAR, TANH, RELU = 0, 1, 2


@triton.jit
def forward_kernel(
    x, weights, biases, y,
    rows: tl.constexpr, inputs: tl.constexpr, outputs: tl.constexpr,
    x_batch, x_row, stride,
    KIND: tl.constexpr, PRECISION: tl.constexpr,
    ROWS: tl.constexpr, INPUTS: tl.constexpr, OUTPUTS: tl.constexpr,
):  # fmt: skip
    """y[b] = kind(x[b] @ weights[b].T + biases[b])"""
    b = tl.program_id(2)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    out = tl.program_id(1) * OUTPUTS + tl.arange(0, OUTPUTS)
    is_row, is_out = row < rows, out < outputs
    x += b * x_batch
    weights += b * stride
    total = tl.zeros((ROWS, OUTPUTS), dtype=tl.float32)
    for first in range(0, inputs, INPUTS):
        into = first + tl.arange(0, INPUTS)
        is_in = into < inputs
        seen = tl.load(
            x + row[:, None] * x_row + into[None, :],
            mask=is_row[:, None] & is_in[None, :], other=0.0,
        )  # fmt: skip
        weight = tl.load(
            weights + out[None, :] * inputs + into[:, None],
            mask=is_out[None, :] & is_in[:, None], other=0.0,
        )  # fmt: skip
        total = tl.dot(seen, weight, total, input_precision=PRECISION)
    total += tl.load(biases + b * stride + out, mask=is_out, other=0.0)[None, :]
    if KIND == 1:  # tanh
        doubled = tl.exp(-2 * tl.abs(total))
        size = (1 - doubled) / (1 + doubled)
        total = tl.where(total < 0, -size, size)
    if KIND == 2:  # relu
        total = tl.where(total > 0, total, 0.0)
    tl.store(
        y + (b * rows + row[:, None]) * outputs + out[None, :], total,
        mask=is_row[:, None] & is_out[None, :],
    )  # fmt: skip


@triton.jit
def _load_slopes(y, slopes, places, mask, KIND: tl.constexpr):
    """Of what the layer summed, from those of what it said."""
    slope = tl.load(slopes + places, mask=mask, other=0.0)
    if KIND != 0:
        said = tl.load(y + places, mask=mask, other=0.0)
        if KIND == 1:
            slope = slope * (1 - said * said)
        if KIND == 2:
            slope = tl.where(said > 0, slope, 0.0)
    return slope


@triton.jit
def input_slopes_kernel(
    weights, y, slopes, into_x,
    rows: tl.constexpr, inputs: tl.constexpr, outputs: tl.constexpr,
    stride,
    KIND: tl.constexpr, PRECISION: tl.constexpr,
    ROWS: tl.constexpr, INPUTS: tl.constexpr, OUTPUTS: tl.constexpr,
):  # fmt: skip
    """into_x[b] = slopes of the sums [b] @ weights[b]"""
    b = tl.program_id(2)
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    into = tl.program_id(1) * INPUTS + tl.arange(0, INPUTS)
    is_row, is_in = row < rows, into < inputs
    weights += b * stride
    total = tl.zeros((ROWS, INPUTS), dtype=tl.float32)
    for first in range(0, outputs, OUTPUTS):
        out = first + tl.arange(0, OUTPUTS)
        is_out = out < outputs
        places = (b * rows + row[:, None]) * outputs + out[None, :]
        slope = _load_slopes(y, slopes, places, is_row[:, None] & is_out[None, :], KIND)
        weight = tl.load(
            weights + out[:, None] * inputs + into[None, :],
            mask=is_out[:, None] & is_in[None, :], other=0.0,
        )  # fmt: skip
        total = tl.dot(slope, weight, total, input_precision=PRECISION)
    tl.store(
        into_x + (b * rows + row[:, None]) * inputs + into[None, :], total,
        mask=is_row[:, None] & is_in[None, :],
    )  # fmt: skip


@triton.jit
def weight_slopes_kernel(
    x, y, slopes, into_weights, into_biases,
    rows: tl.constexpr, inputs: tl.constexpr, outputs: tl.constexpr,
    x_batch, x_row, stride,
    KIND: tl.constexpr, PRECISION: tl.constexpr,
    ROWS: tl.constexpr, INPUTS: tl.constexpr, OUTPUTS: tl.constexpr,
):  # fmt: skip
    """into_weights[b] = slopes of the sums [b].T @ x[b], into_biases[b] their sum over the rows"""
    b = tl.program_id(2)
    out = tl.program_id(0) * OUTPUTS + tl.arange(0, OUTPUTS)
    into = tl.program_id(1) * INPUTS + tl.arange(0, INPUTS)
    is_out, is_in = out < outputs, into < inputs
    x += b * x_batch
    total = tl.zeros((OUTPUTS, INPUTS), dtype=tl.float32)
    alone = tl.zeros((OUTPUTS,), dtype=tl.float32)
    for first in range(0, rows, ROWS):
        row = first + tl.arange(0, ROWS)
        is_row = row < rows
        places = (b * rows + row[None, :]) * outputs + out[:, None]
        slope = _load_slopes(y, slopes, places, is_out[:, None] & is_row[None, :], KIND)
        seen = tl.load(
            x + row[:, None] * x_row + into[None, :],
            mask=is_row[:, None] & is_in[None, :], other=0.0,
        )  # fmt: skip
        total = tl.dot(slope, seen, total, input_precision=PRECISION)
        alone += tl.sum(slope, axis=1)
    tl.store(
        into_weights + b * stride + out[:, None] * inputs + into[None, :], total,
        mask=is_out[:, None] & is_in[None, :],
    )  # fmt: skip
    if tl.program_id(1) == 0:
        tl.store(into_biases + b * stride + out, alone, mask=is_out)


@triton.jit
def adam_kernel(
    theta, gradient, means, squares, step, rate,
    mean_decay, log_mean_decay, square_decay, log_square_decay, epsilon, count,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """One step of Adam, of which `step` has counted this one already."""
    place = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    is_there = place < count
    taken = tl.load(step)
    slope = tl.load(gradient + place, mask=is_there, other=0.0)
    mean = tl.load(means + place, mask=is_there, other=0.0)
    square = tl.load(squares + place, mask=is_there, other=0.0)
    mean += (1 - mean_decay) * (slope - mean)
    square = square_decay * square + (1 - square_decay) * slope * slope
    tl.store(means + place, mean, mask=is_there)
    tl.store(squares + place, square, mask=is_there)
    size = tl.load(rate) / (1 - tl.exp(taken * log_mean_decay))
    root = tl.sqrt(square) / tl.sqrt(1 - tl.exp(taken * log_square_decay)) + epsilon
    before = tl.load(theta + place, mask=is_there, other=0.0)
    tl.store(theta + place, before - size * mean / root, mask=is_there)
