"""Cases in processes that may crash, each under a watchdog; what came of them is counted."""

from __future__ import annotations

import collections
import logging
import random
import shutil
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz.looks import LOOKS, Enough, Refused
from fuzz.mutations import mutate
from fuzz.runs import KINDS
from litmus.errors import BadInput, RunFailed

SECONDS_PER_CASE = 60

HARMLESS, NAMED, FALLBACK, FORGED, WRONG = "harmless", "named", "fallback", "forged", "WRONG"
"""Nothing changed · one line · told in a warning · a change that only its author can know · no."""


@dataclass(frozen=True)
class Outcome:
    number: int
    kind: str
    what: str
    why: str = ""


class Hang(BaseException):
    """The watchdog's."""


Case = Callable[[int], Outcome]


@dataclass(frozen=True)
class FileCases:
    """Damaged copies of runs, looked at in some way."""

    seed: int
    runs: dict[str, Path]
    expected: dict[str, Any]
    folder: Path

    @staticmethod
    def prepare(seed: int, runs: dict[str, Path], folder: Path) -> FileCases:
        """Look at the whole runs first."""
        expected: dict[str, Any] = {}
        for kind in KINDS:
            for look in list_looks(kind):
                copy = shutil.copytree(runs[kind], folder / f"whole-{kind}")
                with Listening() as warnings:
                    expected[f"{kind} {look}"] = LOOKS[look](Path(copy))
                assert warnings.said == [], f"{look} of {kind}: {warnings.said}"
                shutil.rmtree(copy)
        return FileCases(seed, runs, expected, folder)

    def __call__(self, number: int) -> Outcome:
        chance = random.Random(f"{self.seed} {number}")
        kind = chance.choice(KINDS)
        look = chance.choice(list_looks(kind))
        run = Path(shutil.copytree(self.runs[kind], self.folder / f"case-{number}"))
        try:
            done = [mutate(run, chance) for _ in range(chance.choice((1, 1, 1, 2, 3)))]
            what = f"{look} of {kind} after {'; '.join(name for name, _ in done)}"
            is_forged = any(forged for _, forged in done)
            outcome, why = self._classify(kind, look, run, is_forged)
            return Outcome(number, outcome, what, why)
        finally:
            shutil.rmtree(run, ignore_errors=True)

    def _classify(self, kind: str, look: str, run: Path, is_forged: bool) -> tuple[str, str]:
        with Listening() as warnings:
            try:
                found = LOOKS[look](run)
            except (BadInput, RunFailed, Refused) as error:
                return (NAMED, "") if "\n" not in str(error) else (WRONG, f"lines: {error}")
            except Enough:
                return (FORGED, "") if is_forged else (WRONG, "it goes on and on")
        if warnings.said:
            return FALLBACK, ""
        if found == self.expected[f"{kind} {look}"]:
            return HARMLESS, ""
        return (FORGED, "") if is_forged else (WRONG, "another result, and not a word")


def list_looks(kind: str) -> list[str]:
    return [
        look
        for look in LOOKS
        if "unfinished" not in kind or look not in ("Policy.load", "load_evaluator")
    ]


class Listening(logging.Handler):
    """Whether litmus warned."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.said: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.said.append(record.getMessage())

    def __enter__(self) -> Listening:
        logger = logging.getLogger("litmus")
        self._propagated, logger.propagate = logger.propagate, False
        logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        logger = logging.getLogger("litmus")
        logger.removeHandler(self)
        logger.propagate = self._propagated


def run_case(case: Case, number: int) -> Outcome:
    """With the watchdog; whatever else it raises is wrong."""

    def bark(*_: object) -> None:
        raise Hang

    before = signal.signal(signal.SIGALRM, bark)
    signal.setitimer(signal.ITIMER_REAL, SECONDS_PER_CASE)
    try:
        return case(number)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        return Outcome(number, WRONG, f"case {number}", "".join(traceback.format_exception(error)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def summarise(outcomes: Sequence[Outcome]) -> str:
    counts = collections.Counter(one.kind for one in outcomes)
    return ", ".join(
        f"{counts[kind]} {kind}" for kind in (HARMLESS, NAMED, FALLBACK, FORGED, WRONG)
    )
