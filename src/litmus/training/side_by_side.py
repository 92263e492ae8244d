"""Several runs in one process, each in a thread: what their updates share is done at once.

On a GPU the updates of one small run take as long as those of several. Each run has its own
directory, and is the run that it would be alone, up to rounding; it can be resumed alone as well.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from litmus.algorithms.together import Together
from litmus.config import TrainConfig
from litmus.errors import BadInput, RunFailed, one_line
from litmus.rollouts.failure import format_whole
from litmus.training.api import Beside, begin_or_go_on
from litmus.training.interrupts import Interrupted, InterruptFlag

SECONDS_BETWEEN_LOOKS = 0.2


@dataclass(frozen=True)
class Failure:
    """Why a run ended. Not the error itself, which would keep all that the run held."""

    kind: type[BaseException]
    message: str
    traceback: str
    """Empty where the message is all that there is to tell."""

    @classmethod
    def of(cls, error: BaseException) -> Self:
        if isinstance(error, BadInput):
            return cls(BadInput, error.message, "")
        if isinstance(error, RunFailed):
            return cls(RunFailed, error.message, error.traceback)
        return cls(type(error), one_line(error), format_whole(error))


def train_side_by_side(
    runs: Sequence[tuple[TrainConfig, Path]], prepare: Callable[[Path], Any] = lambda path: None
) -> None:
    """Train runs that differ in their seeds alone to their end, from wherever each is.

    When one fails the others go on; why it did is printed at once, and in the end the error names
    each that failed. Ctrl-C and SIGTERM stop all of them, resumable. `prepare` is called with each
    run's folder before it begins.
    """
    together, interrupt = Together(len(runs)), InterruptFlag()
    failures: dict[int, Failure] = {}

    def work(number: int) -> None:
        config, path = runs[number]
        try:
            prepare(path)
            beside = Beside(interrupt, (together, number))
            begin_or_go_on(path, config, quiet=True, beside=beside)
        except BaseException as error:
            failures[number] = failure = Failure.of(error)
            if failure.traceback and not isinstance(error, Interrupted):
                print(f"{path.name}: {failure.traceback}", file=sys.stderr, flush=True)
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
        if failures[number].kind is not Interrupted
    }
    if failed:
        is_bad = all(failure.kind is BadInput for failure in failed.values())
        told = "; ".join(f"{name}: {failure.message}" for name, failure in failed.items())
        raise (BadInput if is_bad else RunFailed)(told)
    if failures:
        raise Interrupted
