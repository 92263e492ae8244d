"""The replay buffer: policies and their training returns, drawn with a weight for recency.

Memory is claimed as the buffer fills: in blocks on the CPU, as one table that doubles on a GPU,
where a batch is gathered by one indexed read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from litmus.policies.rows import Rows

BLOCK_BYTES = 64 * 2**20

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True)
class Batch:
    """Policies to learn from; valid until the next are written, perhaps over them."""

    rows: Rows  # [U, P]
    returns: Tensor  # [U], float64
    weights: Tensor  # [U], summing to 1


class Recency(NamedTuple):
    """The weight 1 / x^exponent of a policy: x is 1 for the newest one, or for the newest round."""

    exponent: float
    unit: Literal["episode", "round"] = "episode"


class Buffer:
    """The last `capacity` policies. The n-th one ever stored lies in slot n % capacity."""

    def __init__(self, capacity: int, num_params: int, device: torch.device) -> None:
        self.capacity = capacity
        self.stored = 0
        """How many policies were ever stored."""
        on_cpu = device.type == "cpu"
        storage = RowBlocks if on_cpu else DeviceTable
        self.storage: Storage = storage(capacity, num_params, device)
        self._returns: NDArray[np.float64] = np.zeros(capacity)
        self._rounds: NDArray[np.int64] = np.zeros(capacity, dtype=np.int64)

    def __len__(self) -> int:
        return min(self.stored, self.capacity)

    def add(
        self, flat_params: NDArray[np.float32], returns: Sequence[float], rounds: Sequence[int]
    ) -> None:
        """Store policies [W, P] with training return and number of round each, oldest first."""
        for start in range(0, len(returns), self.capacity):
            piece = slice(start, start + self.capacity)
            count = len(returns[piece])
            slots = np.arange(self.stored, self.stored + count) % self.capacity
            values = np.array(returns[piece], dtype=np.float64)
            self._returns[slots] = values
            self._rounds[slots] = rounds[piece]
            self.storage.write(slots, torch.from_numpy(flat_params[piece]), values)
            self.stored += count

    def skip(self, count: int) -> None:
        """Count policies that were overwritten since: for a buffer that is filled anew."""
        self.stored += count

    def draw(
        self, count: int, size: int, recency: Recency, generator: np.random.Generator
    ) -> NDArray[np.int64]:  # [count, size]
        """Draw slots with replacement, each with its weight."""
        cumulative = np.cumsum(self._weigh(recency))
        drawn = generator.random((count, size)) * cumulative[-1]
        positions = np.minimum(np.searchsorted(cumulative, drawn, side="right"), len(self) - 1)
        slots: NDArray[np.int64] = (self.stored - 1 - positions) % self.capacity
        return slots

    def draw_rounds(
        self, count: int, size: int, recency: Recency, generator: np.random.Generator
    ) -> NDArray[np.int64]:  # [count, size]
        """Draw rounds, each with the weight of its newest policy, and some policies of each: all
        different where it has enough of them."""
        members = self._split_by_round(self._newest_first)
        firsts = np.cumsum([0, *map(len, members[:-1])])
        cumulative = np.cumsum(self._weigh(recency)[firsts])
        drawn = generator.random(count) * cumulative[-1]
        places = np.minimum(np.searchsorted(cumulative, drawn, side="right"), len(members) - 1)
        return np.stack(
            [np.resize(generator.permutation(members[place]), size) for place in places]
        )

    def describe_returns(self, recency: Recency) -> tuple[float, float]:
        """Mean and standard deviation of what `draw` draws from."""
        weights, returns = self._weigh(recency), self._returns[self._newest_first]
        mean = np.average(returns, weights=weights)
        return float(mean), float(np.sqrt(np.average(np.square(returns - mean), weights=weights)))

    def describe_returns_in_rounds(self, recency: Recency) -> tuple[float, float]:
        """The same mean, and the standard deviation of returns from the mean of their round."""
        weights, returns = self._weigh(recency), self._returns[self._newest_first]
        deviations = [one - one.mean() for one in self._split_by_round(returns)]
        variance = np.average(np.square(np.concatenate(deviations)), weights=weights)
        return float(np.average(returns, weights=weights)), float(np.sqrt(variance))

    def _split_by_round(self, values: NDArray[T]) -> list[NDArray[T]]:
        """Values of all policies, the newest first, as one array per round."""
        rounds = self._rounds[self._newest_first]
        return np.split(values, np.flatnonzero(np.diff(rounds)) + 1)

    @property
    def oldest_round(self) -> int | None:
        """The number of the oldest round that is in it; None where nothing is."""
        return int(self._rounds[self._newest_first[-1]]) if len(self) else None

    @property
    def _newest_first(self) -> NDArray[np.int64]:
        slots: NDArray[np.int64] = (self.stored - 1 - np.arange(len(self))) % self.capacity
        return slots

    def _weigh(self, recency: Recency) -> NDArray[np.float64]:
        """Of each policy, the newest first."""
        ages = np.arange(1, len(self) + 1)
        if recency.unit == "round":
            rounds = self._rounds[self._newest_first]
            ages = rounds[0] - rounds + 1
        weights: NDArray[np.float64] = ages.astype(np.float64) ** -recency.exponent
        return weights

    def select(self, slots: Tensor) -> Batch:
        """Look up the policies in these slots [B]."""
        return self.storage.select(slots)


class Storage(Protocol):
    version: int
    """Changes when memory that was handed out before is no longer the buffer's."""

    def write(
        self, slots: NDArray[np.int64], policies: Tensor, returns: NDArray[np.float64]
    ) -> None:
        """Put policies [W, P] and returns [W] into slots [W]."""

    def select(self, slots: Tensor) -> Batch:
        """Look up slots [B]."""


class Located(NamedTuple):
    """A batch for the compiled kernels; valid for as long as a `Batch` is."""

    addresses: list[int]  # [U]
    returns: NDArray[np.float64]  # [U]
    weights: list[float]  # [U], summing to 1


def _count_each(slots: Sequence[int]) -> dict[int, int]:
    """How often each slot was drawn, in the order of slots."""
    counts: dict[int, int] = {}
    for slot in sorted(slots):
        counts[slot] = counts.get(slot, 0) + 1
    return counts


class RowBlocks:
    """For the CPU: a policy that was drawn twice is given once, with twice the weight, and read
    where it lies."""

    version = 0

    def __init__(self, capacity: int, num_params: int, device: torch.device) -> None:
        self.num_params, self.device = num_params, device
        self.dtype = torch.get_default_dtype()  # as the networks'
        self._block_rows = max(1, min(capacity, BLOCK_BYTES // (4 * self.num_params)))
        self._blocks: list[Tensor] = []
        self._starts: list[int] = []  # addresses
        self._returns = np.zeros(capacity)

    def write(
        self, slots: NDArray[np.int64], policies: Tensor, returns: NDArray[np.float64]
    ) -> None:
        while int(slots.max()) // self._block_rows >= len(self._blocks):
            self._blocks.append(self._claim_block())
            self._starts.append(self._blocks[-1].data_ptr())
        for slot, policy in zip(slots.tolist(), policies, strict=True):
            self._row(slot).copy_(policy)
        self._returns[slots] = returns

    def select(self, slots: Tensor) -> Batch:
        drawn = _count_each(slots.tolist())
        return Batch(
            tuple(self._row(slot) for slot in drawn),
            torch.from_numpy(self._returns[list(drawn)]),
            torch.tensor([times / len(slots) for times in drawn.values()]),
        )

    def locate(self, slots: Sequence[int]) -> Located:
        """The same selection as `select`, as numbers and addresses."""
        drawn, row_bytes = _count_each(slots), self.dtype.itemsize * self.num_params
        places = (divmod(slot, self._block_rows) for slot in drawn)
        return Located(
            [self._starts[block] + row_bytes * row for block, row in places],
            self._returns[list(drawn)],
            [times / len(slots) for times in drawn.values()],
        )

    def _claim_block(self) -> Tensor:
        shape = (self._block_rows, self.num_params)
        return torch.zeros(shape, dtype=self.dtype, device=self.device)

    def _row(self, slot: int) -> Tensor:  # [P], a view
        block, row = divmod(slot, self._block_rows)
        return self._blocks[block][row]


class DeviceTable:
    """For a GPU: every selection has the same shape, so that it can be part of a CUDA graph."""

    def __init__(self, capacity: int, num_params: int, device: torch.device) -> None:
        self.capacity, self.num_params, self.device = capacity, num_params, device
        self.version = 0
        self._policies = torch.zeros(0, num_params, device=device)
        self._returns = torch.zeros(capacity, dtype=torch.float64, device=device)

    def write(
        self, slots: NDArray[np.int64], policies: Tensor, returns: NDArray[np.float64]
    ) -> None:
        self._grow(int(slots.max()) + 1)
        on_device = torch.from_numpy(slots).to(self.device)
        self._policies[on_device] = policies.to(self.device)
        self._returns[on_device] = torch.from_numpy(returns).to(self.device)

    def select(self, slots: Tensor) -> Batch:
        weights = torch.full((len(slots),), 1.0 / len(slots), device=self.device)
        policies = self._policies.index_select(0, slots)
        return Batch(policies, self._returns.index_select(0, slots), weights)

    def _grow(self, rows: int) -> None:
        have = len(self._policies)
        if rows <= have:
            return
        larger = min(self.capacity, max(rows, 2 * have, 256))
        grown = torch.zeros(larger, self.num_params, device=self.device)
        grown[:have] = self._policies
        self._policies = grown
        self.version += 1
