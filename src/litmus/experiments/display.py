"""What a person sees of an experiment: one bar over all jobs, and one for each that is at work."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from litmus.experiments.lines import shorten, wrap
from litmus.training.display import show_duration

SECONDS_BETWEEN_LINES = 10.0
BESIDE_NAMES = 38
"""Columns of a terminal for a bar, a return and the time left; the rest is for a job's name."""


@dataclass(frozen=True)
class Running:
    """A job at work."""

    name: str
    done: int
    steps: int
    return_: float | None


@dataclass(frozen=True)
class Overview:
    """How far an experiment is."""

    finished: int
    failed: int
    jobs: int
    done: int
    steps: int
    running: Sequence[Running] = field(default_factory=tuple)

    @property
    def counted(self) -> str:
        failed = f", {self.failed} failed" if self.failed else ""
        return f"{self.finished} of {self.jobs}{failed}"


class SweepDisplay(Protocol):
    def update(self, overview: Overview) -> None:
        """Show how far it is."""

    def note(self, text: str) -> None:
        """Show one line beside the progress."""

    def close(self) -> None:
        """Leave the screen tidy."""


def make_sweep_display(title: str, quiet: bool) -> SweepDisplay:
    """Bars if standard error is a terminal, else plain lines; nothing where that is wanted."""
    if quiet:
        return SilentSweepDisplay()
    return LiveSweepDisplay(title) if sys.stderr.isatty() else PlainSweepDisplay(title)


class LiveSweepDisplay:
    def __init__(self, title: str) -> None:
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            TextColumn("{task.fields[count]}", markup=False),
            TimeRemainingColumn(compact=True),
            console=Console(stderr=True),
            refresh_per_second=4,
            speed_estimate_period=600.0,
        )
        self._all: TaskID = self._progress.add_task(title, total=None, count="")
        self._bars: dict[str, TaskID] = {}
        self._names: set[str] = set()
        self._progress.start()

    def update(self, overview: Overview) -> None:
        count = f"{overview.counted}"
        self._progress.update(
            self._all, total=overview.steps or None, completed=overview.done, count=count
        )
        running = {one.name: one for one in overview.running}
        for name in self._bars.keys() - running.keys():
            self._progress.remove_task(self._bars.pop(name))
        self._names |= running.keys()
        room = max(20, self._progress.console.width - BESIDE_NAMES)
        for name, one in running.items():
            shown = "" if one.return_ is None else f"return {one.return_:.1f}"
            if name not in self._bars:
                self._bars[name] = self._progress.add_task("", total=one.steps or None, count="")
            self._progress.update(
                self._bars[name],
                description="  " + shorten(name, room, self._names),
                completed=one.done,
                count=shown,
            )

    def note(self, text: str) -> None:
        console = self._progress.console
        lines = "\n".join(wrap(text, console.width))
        console.print(lines, highlight=False, markup=False, soft_wrap=True)

    def close(self) -> None:
        for bar in self._bars.values():
            self._progress.remove_task(bar)
        self._progress.stop()


class PlainSweepDisplay:
    def __init__(self, title: str) -> None:
        self._title = title
        self._first: int | None = None
        self._started = self._printed = time.monotonic()

    def update(self, overview: Overview) -> None:
        if self._first is None:
            self._first = overview.done
        now = time.monotonic()
        if now - self._printed < SECONDS_BETWEEN_LINES:
            return
        self._printed = now
        rate = (overview.done - self._first) / max(now - self._started, 1e-9)
        left = show_duration((overview.steps - overview.done) / rate) if rate > 0 else "…"
        text = f"{self._title}  {overview.counted} done, {len(overview.running)} at work"
        if overview.steps:
            text += (
                f"  {overview.done:,}/{overview.steps:,} steps  {rate:,.0f} steps/s  {left} left"
            )
        self.note(text)

    def note(self, text: str) -> None:
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        pass


class SilentSweepDisplay:
    def update(self, overview: Overview) -> None:
        pass

    def note(self, text: str) -> None:
        pass

    def close(self) -> None:
        pass
