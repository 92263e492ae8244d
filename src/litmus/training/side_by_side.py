"""Several runs in one process, each in a thread: what their updates share is done at once.

On a GPU the updates of one small run take as long as those of several. Each run has its own
directory, and is the run that it would be alone, up to rounding; it can be resumed alone as well.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from litmus.algorithms.together import Together
from litmus.config import TrainConfig
from litmus.errors import BadInput, RunFailed, one_line
from litmus.training.api import Beside, begin_or_go_on
from litmus.training.interrupts import Interrupted, InterruptFlag

SECONDS_BETWEEN_LOOKS = 0.2


def train_side_by_side(runs: Sequence[tuple[TrainConfig, Path]]) -> None:
    """Train runs that differ in their seeds alone to their end, from wherever each is.

    When one fails the others go on, and in the end the error names each that failed. Ctrl-C and
    SIGTERM stop all of them, resumable.
    """
    together, interrupt = Together(len(runs)), InterruptFlag()
    failures: dict[int, BaseException] = {}

    def work(number: int) -> None:
        config, path = runs[number]
        try:
            beside = Beside(interrupt, (together, number))
            begin_or_go_on(path, config, quiet=True, beside=beside)
        except BaseException as error:
            failures[number] = error
        finally:
            together.leave()

    with interrupt.catching():
        threads = [
            threading.Thread(target=work, args=(number,), daemon=True)
            for number in range(len(runs))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            while thread.is_alive():  # a wait without end would hear no signal
                thread.join(SECONDS_BETWEEN_LOOKS)
    if together.failure is not None:  # the others are only told that there was one
        raise together.failure
    failed = {
        runs[number][1].name: failures[number]
        for number in sorted(failures)
        if not isinstance(failures[number], Interrupted)
    }
    if failed:
        is_bad = all(isinstance(error, BadInput) for error in failed.values())
        told = "; ".join(f"{name}: {one_line(error)}" for name, error in failed.items())
        raise (BadInput if is_bad else RunFailed)(told) from next(iter(failed.values()))
    if failures:
        raise Interrupted
