"""The newest transitions of a run: in memory to draw batches from, and in files to resume from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from litmus.algorithms.transition_log import TransitionLog
from litmus.tasks.base import Stretch

FILES = 4
"""About so many hold a full replay: whole ones are removed, so there is a little more on disk."""


@dataclass(frozen=True)
class Batch:
    states: Tensor  # [..., D], raw
    actions: Tensor  # [..., A]
    next_states: Tensor  # [..., D]
    rewards: Tensor  # [...]
    terminated: Tensor  # [...], 1 where nothing follows


@dataclass(frozen=True)
class TransitionSizes:
    """A transition as one row of float32: state, action, next state, reward, terminated."""

    state: int
    action: int

    @property
    def width(self) -> int:
        return 2 * self.state + self.action + 2

    def pack(self, stretch: Stretch) -> NDArray[np.float32]:  # [N, width]
        outcomes = np.zeros((len(stretch), 2))
        outcomes[:, 0] = stretch.rewards - stretch.survival_bonuses
        outcomes[-1, 1] = stretch.terminated
        with np.errstate(over="ignore"):  # it becomes infinite, and is noticed
            return np.concatenate(
                (stretch.observations, stretch.actions, stretch.next_observations, outcomes),
                axis=1,
                dtype=np.float32,
                casting="unsafe",
            )

    def split(self, rows: Tensor) -> Batch:  # [..., width]
        pieces = torch.split(rows, [self.state, self.action, self.state, 1, 1], dim=-1)
        return Batch(*pieces[:3], *(piece.squeeze(-1) for piece in pieces[3:]))

    def find_states(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:  # [N, D]
        return rows[:, : self.state]

    def find_actions(self, rows: NDArray[np.float32]) -> NDArray[np.float32]:  # [N, A]
        return rows[:, self.state : self.state + self.action]


class Replay:
    """Transitions are counted from 0; the newest `capacity` can be drawn."""

    def __init__(
        self,
        sizes: TransitionSizes,
        capacity: int,
        most: int,
        device: torch.device,
        log: TransitionLog,
    ) -> None:
        """`most`: how many there will ever be; no more room is taken."""
        self.sizes, self.capacity, self.log = sizes, capacity, log
        self.rows = torch.empty((min(capacity, most), sizes.width), device=device)
        self.stored = 0
        self._needed = [0, 0]
        """The oldest row that each of the last two checkpoints needs."""

    def __len__(self) -> int:
        return min(self.stored, self.capacity)

    def add(self, rows: NDArray[np.float32]) -> None:  # [N, width]
        self.log.append(self.stored, rows)
        self._place(self.stored, rows)
        self.stored += len(rows)

    def draw(
        self, batches: int, size: int, generator: np.random.Generator
    ) -> NDArray[np.int64]:  # [batches, size]
        """Places of transitions, all alike."""
        return generator.integers(len(self), size=(batches, size))

    def keep(self, newest: int) -> int:
        """Bring everything to the disk for a checkpoint, which needs what can be drawn and the
        `newest` transitions; the number of transitions it counts on."""
        self.log.sync()
        self.log.forget(min(self._needed))
        oldest = self.stored - max(len(self), newest)
        self._needed = [self._needed[-1], oldest]
        return self.stored

    def restore(self, stored: int, newest: int) -> NDArray[np.float32]:  # [newest, width]
        """Go back to what a checkpoint counted on; the `newest` transitions of that."""
        self.stored, self._needed = stored, [0, 0]
        oldest = stored - max(len(self), newest)
        rows = self.log.read(oldest, stored)
        self.log.cut(stored)
        held = rows[len(rows) - len(self) :]
        self._place(stored - len(held), held)
        return rows[len(rows) - newest :]

    def close(self) -> None:
        self.log.close()

    def _place(self, first: int, rows: NDArray[np.float32]) -> None:
        """Row n lies in place n modulo the capacity."""
        surplus = max(0, len(rows) - self.capacity)
        rows, place = rows[surplus:], (first + surplus) % self.capacity
        until_end = min(len(rows), self.capacity - place)
        # Slices: assigning by index is spread over threads, which takes far longer than copying.
        self.rows[place : place + until_end] = torch.from_numpy(rows[:until_end])
        self.rows[: len(rows) - until_end] = torch.from_numpy(rows[until_end:])
