"""A few threads that share out independent pieces of torch work.

Torch's own threads split single operations, which changes the order of sums and waits at a barrier
after each. Here a piece is one whole policy, done by one thread: the results do not depend on how
many threads there are, and a thread whose core is busy simulating simply takes fewer pieces.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable
from functools import cache
from queue import SimpleQueue

import torch

from litmus.rollouts.make import count_cores


class Team:
    def __init__(self, size: int) -> None:
        self._jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self._helpers = size - 1
        for _ in range(self._helpers):
            threading.Thread(target=self._help, name="litmus-team", daemon=True).start()

    def run(self, do_piece: Callable[[int], None], count: int) -> None:
        """Call do_piece(0) … do_piece(count - 1), each once, in whichever thread is free."""
        job = _Job(do_piece, count)
        for _ in range(min(self._helpers, count - 1)):
            self._jobs.put(job.work)
        job.work()
        job.finished.wait()
        if job.error is not None:
            raise job.error

    def _help(self) -> None:
        torch.set_num_threads(1)
        torch.set_grad_enabled(False)  # of this thread only
        while True:
            self._jobs.get()()


class _Job:
    def __init__(self, do_piece: Callable[[int], None], count: int) -> None:
        self.do_piece, self.count = do_piece, count
        self.pieces = itertools.count()  # next() is atomic under the interpreter's lock
        self.done = itertools.count(1)
        self.finished = threading.Event()
        self.error: BaseException | None = None

    def work(self) -> None:
        while (piece := next(self.pieces)) < self.count:
            try:
                self.do_piece(piece)
            except BaseException as error:
                self.error = error
            if next(self.done) == self.count:
                self.finished.set()


@cache
def shared_team() -> Team:
    """The one team of this process: a thread a core."""
    return Team(count_cores())
