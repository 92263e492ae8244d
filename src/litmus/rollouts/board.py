"""The shared memory between the pool and its workers: θ, jobs and results.

A job is one episode. Workers claim jobs themselves, under a lock, so none waits for the trainer
to hand out the next one; the board says at any time which worker has which job, so nothing is
lost when a worker dies. Nothing on it is a pickle.
"""

from __future__ import annotations

import contextlib
import fcntl
import mmap
import os
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from litmus.tasks.base import MARKS, Episode, Moments

FREE, QUEUED, CLAIMED, DONE = range(4)
OWN_START = -1
"""In the place of the index of a start that is shared."""


@dataclass(frozen=True)
class BoardShape:
    num_params: int  # P
    state_size: int  # D
    jobs: int
    slots: int
    """Requests that can be under way at once; each has its own θ."""


class Board:
    """Arrays over one anonymous file that parent and workers map."""

    def __init__(self, descriptor: int, shape: BoardShape) -> None:
        self.descriptor = descriptor
        fields = {
            "params": ((shape.slots, shape.num_params), np.float32),
            "mean": ((shape.slots, shape.state_size), np.float64),
            "std": ((shape.slots, shape.state_size), np.float64),
            "noise": ((shape.slots,), np.float64),
            "antithetic": ((shape.slots,), np.int64),
            "start": ((shape.slots,), np.int64),
            "most_steps": ((shape.slots,), np.int64),
            "stream": ((shape.slots,), np.int64),
            "state": ((shape.jobs,), np.int64),
            "worker": ((shape.jobs,), np.int64),
            "slot": ((shape.jobs,), np.int64),
            "index": ((shape.jobs,), np.int64),
            "ticket": ((shape.jobs,), np.int64),
            "since": ((shape.jobs,), np.float64),
            "return_": ((shape.jobs,), np.float64),
            "training_return": ((shape.jobs,), np.float64),
            "steps": ((shape.jobs,), np.int64),
            "has_earlier": ((shape.jobs,), np.int64),
            "earlier": ((shape.jobs, len(MARKS)), np.float64),
            "count": ((shape.jobs,), np.int64),
            "moment_mean": ((shape.jobs, shape.state_size), np.float64),
            "moment_squared": ((shape.jobs, shape.state_size), np.float64),
        }
        sizes = {
            name: int(np.prod(dims)) * np.dtype(t).itemsize for name, (dims, t) in fields.items()
        }
        total = sum(-(-size // 64) * 64 for size in sizes.values())
        if os.fstat(descriptor).st_size < total:
            os.ftruncate(descriptor, total)
        self.memory = mmap.mmap(descriptor, total)
        offset = 0
        arrays = {}
        for name, (dims, dtype) in fields.items():
            arrays[name] = np.ndarray(dims, dtype, buffer=self.memory, offset=offset)
            offset += -(-sizes[name] // 64) * 64
        self.params, self.mean, self.std = arrays["params"], arrays["mean"], arrays["std"]
        self.noise, self.stream = arrays["noise"], arrays["stream"]
        self.antithetic, self.start = arrays["antithetic"], arrays["start"]
        self.most_steps = arrays["most_steps"]
        self.has_earlier, self.earlier = arrays["has_earlier"], arrays["earlier"]
        self.state, self.worker, self.slot = arrays["state"], arrays["worker"], arrays["slot"]
        self.index, self.ticket = arrays["index"], arrays["ticket"]
        self.since = arrays["since"]
        self.return_, self.training_return = arrays["return_"], arrays["training_return"]
        self.steps, self.count = arrays["steps"], arrays["count"]
        self.moment_mean, self.moment_squared = arrays["moment_mean"], arrays["moment_squared"]

    @staticmethod
    def create(shape: BoardShape) -> Board:
        return Board(_make_anonymous_file(), shape)

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Exclude the other processes; the lock is released when the process dies."""
        fcntl.lockf(self.descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self.descriptor, fcntl.LOCK_UN)

    def claim(self, worker: int, done: int | None = None) -> tuple[int | None, bool]:
        """Give back the job that is done, if any, and take the one that has waited longest.

        Also says whether the former was the last of its request: only then is the pool woken.
        """
        with self.lock():
            is_last = False
            if done is not None:
                self.state[done] = DONE
                mates = self.state[self.slot == self.slot[done]]
                is_last = not ((mates == QUEUED) | (mates == CLAIMED)).any()
            queued = np.flatnonzero(self.state == QUEUED)
            if not len(queued):
                return None, is_last
            job = int(queued[np.argmin(self.ticket[queued])])
            self.worker[job] = worker
            self.since[job] = time.monotonic()  # the same clock in every process
            self.state[job] = CLAIMED
            return job, is_last

    def write_result(self, job: int, episode: Episode) -> None:
        """To be read when the job is given back."""
        self.return_[job] = episode.return_
        self.training_return[job] = episode.training_return
        self.steps[job] = episode.steps
        self.has_earlier[job] = episode.earlier is not None
        if episode.earlier is not None:
            self.earlier[job] = episode.earlier
        moments = episode.moments
        self.count[job] = 0 if moments is None else moments.count
        if moments is not None:
            self.moment_mean[job] = moments.mean
            self.moment_squared[job] = moments.squared_deviations

    def read_result(self, job: int) -> Episode:
        count, moments = int(self.count[job]), None
        if count:
            moments = Moments(count, self.moment_mean[job].copy(), self.moment_squared[job].copy())
        return Episode(
            float(self.return_[job]),
            float(self.training_return[job]),
            int(self.steps[job]),
            moments,
            self.earlier[job].copy() if self.has_earlier[job] else None,
        )


def _make_anonymous_file() -> int:
    """A file without a name: nothing is left behind, however this process ends."""
    if hasattr(os, "memfd_create"):
        return os.memfd_create("litmus", 0)
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
