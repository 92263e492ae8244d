"""Episodes on this machine's cores: persistent worker processes around a board.

The workers are plain `python -m` processes, so a script that calls litmus needs no `__main__`
guard and a notebook works. Only θ and episode indices travel to them.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from litmus.errors import RunFailed
from litmus.policies.architecture import architecture_to_json
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.board import CLAIMED, DONE, FREE, OWN_START, QUEUED, Board, BoardShape
from litmus.rollouts.failure import Patience, Tell, make_error, name_episode
from litmus.rollouts.machine import SINGLE_THREAD
from litmus.rollouts.pipes import write_all
from litmus.seeding import Stream
from litmus.tasks.base import Episode

logger = logging.getLogger("litmus")

SLOTS = 4
SECONDS_BETWEEN_LOOKS = 1.0
DEATHS_ALLOWED = 3
"""How often each worker may die, with no round finished between, before giving up."""


@dataclass
class Worker:
    process: subprocess.Popen[bytes]
    wake: int
    done: int
    unread: bytes = b""


@dataclass(frozen=True)
class PoolPending:
    pool: PoolCollector
    slot: int
    jobs: Sequence[int]
    rest: Request | None = None
    """Episodes that there was no room for: they are run after these."""

    def result(self) -> list[Episode]:
        episodes, pending = self.pool.finish(self), self
        while pending.rest is not None:
            pending = self.pool.start(pending.rest)
            episodes += self.pool.finish(pending)
        return episodes


class PoolCollector:
    """A fixed number of worker processes. `capacity`: episodes that may be under way at once."""

    def __init__(
        self, setting: Setting, workers: int, capacity: int, tell: Tell = logger.warning
    ) -> None:
        architecture = setting.architecture
        self.setting = setting
        self.shape = BoardShape(
            architecture.num_params, int(np.prod(architecture.state_shape)), capacity, SLOTS
        )
        self.board = Board.create(self.shape)
        self._free_slots = list(range(SLOTS))
        self._ticket = 0
        self._deaths = 0
        self._patience = Patience(tell)
        self._selector = selectors.DefaultSelector()
        self.workers: list[Worker] = []
        for number in range(workers):
            self.workers.append(self._spawn(number))

    def start(self, request: Request) -> PoolPending:
        board = self.board
        free = np.flatnonzero(board.state == FREE)
        indices, later = request.indices[: len(free)], request.indices[len(free) :]
        if not len(free) or not self._free_slots:
            raise RuntimeError(f"the pool's places for {self.shape.jobs} episodes are all taken")
        slot = self._free_slots.pop()
        board.params[slot] = request.flat_params
        board.mean[slot] = request.normalizer.mean
        board.std[slot] = request.normalizer.std
        board.noise[slot] = request.noise
        board.antithetic[slot] = request.antithetic
        board.start[slot] = OWN_START if request.start_index is None else request.start_index
        board.most_steps[slot] = request.most_steps or 0
        board.stream[slot] = int(request.stream)
        jobs = [int(job) for job in free[: len(indices)]]
        with board.lock():
            for job, index in zip(jobs, indices, strict=True):
                board.slot[job], board.index[job] = slot, index
                board.ticket[job] = self._ticket
                board.state[job] = QUEUED
                self._ticket += 1
        self._wake_all()
        return PoolPending(self, slot, jobs, replace(request, indices=later) if later else None)

    def finish(self, pending: PoolPending) -> list[Episode]:
        board, jobs = self.board, list(pending.jobs)
        while not (board.state[jobs] == DONE).all():
            for key, _ in self._selector.select(SECONDS_BETWEEN_LOOKS):
                self._listen(key.data)
            self._patience.look(self._list_running())
        episodes = [board.read_result(job) for job in jobs]
        board.state[jobs] = FREE
        self._free_slots.append(pending.slot)
        self._deaths = 0
        return episodes

    def _list_running(self) -> list[tuple[str, float]]:
        """The episodes that workers are busy with, and since how many seconds each is."""
        board, now = self.board, time.monotonic()
        return [
            (
                f"{self._name_job(job)} in worker {board.worker[job]}",
                now - float(board.since[job]),
            )
            for job in np.flatnonzero(board.state == CLAIMED).tolist()
        ]

    def _name_job(self, job: int) -> str:
        stream = Stream(int(self.board.stream[self.board.slot[job]]))
        return name_episode(stream, int(self.board.index[job]))

    def close(self) -> None:
        for worker in self.workers:
            os.close(worker.wake)
        for worker in self.workers:
            # Whatever it is running is no longer wanted, and it holds nothing worth a goodbye.
            worker.process.kill()
            worker.process.wait()
            os.close(worker.done)
        self.workers.clear()
        self._selector.close()
        os.close(self.board.descriptor)

    def _listen(self, number: int) -> None:
        worker = self.workers[number]
        received = os.read(worker.done, 65536)
        if not received:
            self._replace(number)
            return
        *lines, worker.unread = (worker.unread + received).split(b"\n")
        for line in lines:
            if line:
                error = make_error(json.loads(line))
                if isinstance(error, RunFailed):  # in the library it must be seen with the error
                    error.add_note(error.traceback)
                raise error

    def _replace(self, number: int) -> None:
        """A worker died: start another; the job it had is queued again, with the same index."""
        dead = self.workers[number]
        code = dead.process.wait()
        self._deaths += 1
        if self._deaths > DEATHS_ALLOWED * len(self.workers):
            raise RunFailed(
                f"{self._deaths} rollout workers died without finishing a round "
                f"(the last {describe_end(code)})"
            )
        had = np.flatnonzero((self.board.state == CLAIMED) & (self.board.worker == number)).tolist()
        busy = f" in {', '.join(map(self._name_job, had))}" if had else ""
        end = describe_end(code)
        logger.warning("rollout worker %d died%s (%s); another one takes over", number, busy, end)
        self._selector.unregister(dead.done)
        os.close(dead.done)
        os.close(dead.wake)
        board = self.board
        with board.lock():
            orphans = (board.state == CLAIMED) & (board.worker == number)
            board.state[orphans] = QUEUED
        self.workers[number] = self._spawn(number)
        self._wake_all()

    def _spawn(self, number: int) -> Worker:
        wake_read, wake_write = os.pipe()
        done_read, done_write = os.pipe()
        process = subprocess.Popen(
            [sys.executable, "-m", "litmus.rollouts.worker", str(wake_read), str(done_write)],
            stdin=subprocess.DEVNULL,
            # What an environment prints must not mix into results on standard output.
            stdout=sys.stderr.fileno() if _has_descriptor(sys.stderr) else 2,
            # Not of the terminal's group: Ctrl-C is the trainer's to handle, from the first moment.
            process_group=0,
            pass_fds=(wake_read, done_write, self.board.descriptor),
            env={
                **os.environ,
                **SINGLE_THREAD,
                "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
            },
        )
        os.close(wake_read)
        os.close(done_write)
        order = {
            "worker": number,
            "path": sys.path,
            "task": self.setting.task.factory,
            "task_arguments": dict(self.setting.task.arguments),
            "architecture": architecture_to_json(self.setting.architecture),
            "seed": self.setting.seed,
            "board": self.board.descriptor,
            "shape": asdict(self.shape),
        }
        with contextlib.suppress(BrokenPipeError):  # it died at once: `_listen` will notice
            write_all(wake_write, (json.dumps(order) + "\n").encode())
        os.set_blocking(wake_write, False)  # a busy worker may leave many calls unread
        self._selector.register(done_read, selectors.EVENT_READ, number)
        return Worker(process, wake_write, done_read)

    def _wake_all(self) -> None:
        for worker in self.workers:
            # Broken: it died, and `_listen` will replace it. Full: it has been called often enough.
            with contextlib.suppress(BrokenPipeError, BlockingIOError):
                os.write(worker.wake, b"\n")


def describe_end(code: int) -> str:
    """Of a process; a negative code is the signal that ended it."""
    if code >= 0:
        return f"with exit status {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    hint = ": out of memory, perhaps" if name == "SIGKILL" else ""
    return f"by {name}{hint}"


def _has_descriptor(stream: object) -> bool:
    try:
        return bool(stream.fileno() >= 0)  # type: ignore[attr-defined]
    except (AttributeError, OSError, ValueError):
        return False
