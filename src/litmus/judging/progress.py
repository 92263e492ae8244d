"""What a person sees while an evaluator is fitted: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

SECONDS_BETWEEN_LINES = 10.0


class Tell(Protocol):
    def __call__(self, text: str, done: int, total: int) -> None:
        """What is being done, and how much of all is."""


class FitProgress:
    def __init__(self, quiet: bool) -> None:
        self._live: Progress | None = None
        self._bar: TaskID | None = None
        self._quiet, self._printed = quiet, time.monotonic()
        if not quiet and sys.stderr.isatty():
            self._live = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(bar_width=30),
                TimeRemainingColumn(compact=True),
                console=Console(stderr=True),
                transient=True,
            )
            self._bar = self._live.add_task("", total=None)
            self._live.start()

    def __call__(self, text: str, done: int, total: int) -> None:
        if self._live is not None and self._bar is not None:
            self._live.update(self._bar, description=text, completed=done, total=total)
        elif not self._quiet and time.monotonic() - self._printed > SECONDS_BETWEEN_LINES:
            self._printed = time.monotonic()
            print(f"{text}  {100 * done / max(1, total):.0f}%", file=sys.stderr, flush=True)

    def close(self) -> None:
        if self._live is not None:
            self._live.stop()
