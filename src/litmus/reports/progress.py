"""What a person sees while a report is made: a bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn


class ReportProgress(Protocol):
    def tell(self, text: str, done: int, total: int) -> None:
        """Show what is being done now, and how many parts of all are done."""

    def close(self) -> None:
        """Leave the screen tidy."""


def make_progress(quiet: bool) -> ReportProgress:
    """A bar if standard error is a terminal, else plain lines; nothing where that is wanted."""
    if quiet:
        return SilentProgress()
    return LiveProgress() if sys.stderr.isatty() else PlainProgress()


class LiveProgress:
    def __init__(self) -> None:
        self._progress = Progress(
            TextColumn("report"),
            BarColumn(bar_width=24),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=Console(stderr=True),
            transient=True,
        )
        self._bar: TaskID = self._progress.add_task("", total=None)
        self._progress.start()

    def tell(self, text: str, done: int, total: int) -> None:
        self._progress.update(self._bar, description=text, completed=done, total=total)

    def close(self) -> None:
        self._progress.stop()


class PlainProgress:
    def __init__(self) -> None:
        self._told = ""

    def tell(self, text: str, done: int, total: int) -> None:
        if text != self._told:
            print(f"report  {text}", file=sys.stderr, flush=True)
        self._told = text

    def close(self) -> None:
        pass


class SilentProgress:
    def tell(self, text: str, done: int, total: int) -> None:
        pass

    def close(self) -> None:
        pass
