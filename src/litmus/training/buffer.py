"""The replay buffer: policies and their training returns, drawn with a weight for recency.

Memory is claimed in blocks as the buffer fills. Rows are padded to whole cache lines, so that a
row has the same alignment wherever it lies: the products that read it then give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

BLOCK_BYTES = 64 * 2**20
FLOATS_PER_LINE = 16


@dataclass(frozen=True)
class Batch:
    """Rows of the buffer, each once, with how often it was drawn."""

    rows: NDArray[np.int64]  # [U]
    counts: NDArray[np.int64]  # [U], summing to the batch size


class Buffer:
    """The last `capacity` policies. Row numbers are slots: the n-th policy lies in n % capacity."""

    def __init__(self, capacity: int, num_params: int, device: torch.device) -> None:
        self.capacity = capacity
        self.num_params = num_params
        self.device = device
        self.stored = 0
        """How many policies were ever stored."""
        self._stride = -(-num_params // FLOATS_PER_LINE) * FLOATS_PER_LINE
        self._block_rows = max(1, min(capacity, BLOCK_BYTES // (4 * self._stride)))
        self._blocks: list[Tensor] = []
        self._returns = np.zeros(capacity, dtype=np.float32)

    def __len__(self) -> int:
        return min(self.stored, self.capacity)

    def add(self, flat_params: NDArray[np.float32], training_return: float) -> None:
        slot = self.stored % self.capacity
        block, row = divmod(slot, self._block_rows)
        while block >= len(self._blocks):
            shape = (self._block_rows, self._stride)
            self._blocks.append(torch.zeros(shape, device=self.device))
        self._blocks[block][row, : self.num_params] = torch.from_numpy(flat_params)
        self._returns[slot] = training_return
        self.stored += 1

    def skip(self, count: int) -> None:
        """Count policies that were overwritten since: for a buffer that is filled anew."""
        self.stored += count

    def draw_batches(
        self, count: int, size: int, recency: float, generator: np.random.Generator
    ) -> list[Batch]:
        """Draw with replacement, weight 1 / x^recency, x = episodes since stored (newest: 1)."""
        ages = np.arange(1, len(self) + 1, dtype=np.float64)
        cumulative = np.cumsum(ages**-recency)
        drawn = generator.random((count, size)) * cumulative[-1]
        positions = np.minimum(np.searchsorted(cumulative, drawn, side="right"), len(self) - 1)
        slots = (self.stored - 1 - positions) % self.capacity
        return [Batch(*np.unique(row, return_counts=True)) for row in slots]

    def row(self, slot: int) -> Tensor:  # [P], a view
        block, row = divmod(slot, self._block_rows)
        return self._blocks[block][row, : self.num_params]

    def look_up(self, rows: NDArray[np.int64]) -> tuple[list[Tensor], Tensor]:
        """Return views of the policies, U × [P], and their training returns [U]."""
        policies = [self.row(slot) for slot in rows.tolist()]
        return policies, torch.from_numpy(self._returns[rows]).to(self.device)
