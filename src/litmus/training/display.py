"""What a person sees while it trains: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from litmus.counts import show_return

SECONDS_BETWEEN_LINES = 5.0


class Display(Protocol):
    def update(self, steps: int, return_: float | None) -> None:
        """Show how far training is and the current return."""

    def note(self, text: str) -> None:
        """Show one line beside the progress."""

    def close(self) -> None:
        """Leave the screen tidy."""


def make_display(title: str, total: int, done: int) -> Display:
    """A bar if standard error is a terminal, else plain lines."""
    if sys.stderr.isatty():
        return LiveDisplay(title, total, done)
    return PlainDisplay(title, total, done)


class LiveDisplay:
    def __init__(self, title: str, total: int, done: int) -> None:
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]}"),
            TextColumn("return [bold]{task.fields[return_]}"),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            refresh_per_second=4,
        )
        self._total = total
        self._bar: TaskID = self._progress.add_task(
            title, total=total, completed=done, count=_count(done, total), return_="…"
        )
        self._progress.start()

    def update(self, steps: int, return_: float | None) -> None:
        shown = "…" if return_ is None else show_return(return_)
        self._progress.update(
            self._bar,
            completed=min(steps, self._total),
            count=_count(steps, self._total),
            return_=shown,
        )

    def note(self, text: str) -> None:
        self._progress.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        self._progress.stop()


class PlainDisplay:
    def __init__(self, title: str, total: int, done: int) -> None:
        self._title, self._total, self._first = title, total, done
        self._started = self._printed = time.monotonic()

    def update(self, steps: int, return_: float | None) -> None:
        now = time.monotonic()
        if now - self._printed < SECONDS_BETWEEN_LINES and steps < self._total:
            return
        self._printed = now
        rate = (steps - self._first) / max(now - self._started, 1e-9)
        left = max(0, self._total - steps) / max(rate, 1e-9)
        shown = "…" if return_ is None else show_return(return_)
        self.note(
            f"{self._title}  {_count(steps, self._total)} steps  return {shown}  "
            f"{rate:,.0f} steps/s  {show_duration(left)} left"
        )

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class NotesDisplay:
    """For one of several runs of a process: what is to be said, and which of them it is about."""

    def __init__(self, name: str) -> None:
        self._name = name

    def update(self, steps: int, return_: float | None) -> None:
        pass

    def note(self, text: str) -> None:
        print(f"{self._name}: {text}", file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class SilentDisplay:
    """For library calls that want no output."""

    def update(self, steps: int, return_: float | None) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass


def _count(steps: int, total: int) -> str:
    return f"{min(steps, total):,}/{total:,}"


def show_duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(int(minutes), 60)
    return f"{hours}:{minutes:02d}:{int(seconds):02d}" if hours else f"{minutes}:{int(seconds):02d}"
