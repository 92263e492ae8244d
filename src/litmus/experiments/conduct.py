"""Doing the jobs of a plan: as many at once as there are places, whatever becomes of each."""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from litmus.counts import say_count
from litmus.experiments.display import Overview, Running, SweepDisplay
from litmus.experiments.executors import Executor, Handle
from litmus.experiments.jobs import Job, Standing
from litmus.experiments.process import Ending
from litmus.files import describe_os_error
from litmus.training.interrupts import Interrupted, InterruptFlag

SECONDS_BETWEEN_POLLS = 0.1
SECONDS_BETWEEN_LOOKS = 1.0
MOST_NAMED = 3
LOSSES_ALLOWED = 5
"""How often the machine that a job is on may go away before the job is given up."""


@dataclass
class Sweep:
    """Jobs under way. `failures` are why jobs failed, by the job's name."""

    root: Path
    jobs: Sequence[Job]
    executor: Executor
    display: SweepDisplay
    interrupt: InterruptFlag
    failures: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        standings = {job.folder: job.look(self.root / job.folder) for job in self.jobs}
        self._done = {folder: standing.done for folder, standing in standings.items()}
        self._finished = sum(one.state == "finished" for one in standings.values())
        self._waiting = deque(j for j in self.jobs if standings[j.folder].state != "finished")
        self._running: dict[str, tuple[Job, Handle]] = {}
        self._standings: dict[str, Standing] = {}
        self._losses: Counter[str] = Counter()

    def conduct(self) -> None:
        """Until every job has ended. Raises Interrupted on Ctrl-C, when all jobs have stopped."""
        looked = 0.0
        try:
            while self._waiting or self._running:
                if self.interrupt.is_set:
                    self._stop()
                while self._waiting and len(self._running) < self.executor.places:
                    self._start(self._waiting.popleft())
                self._poll()
                if time.monotonic() - looked >= SECONDS_BETWEEN_LOOKS:
                    self._look()
                    looked = time.monotonic()
                time.sleep(SECONDS_BETWEEN_POLLS)
            self._look()
        finally:
            for _, handle in self._running.values():
                handle.kill()

    def _start(self, job: Job) -> None:
        try:
            self._running[job.folder] = (job, self.executor.start(job))
        except OSError as error:  # a full disk, or no more processes
            self._end(job, Ending("failed", describe_os_error(error)), Standing("missing"))

    def _poll(self) -> None:
        for folder, (job, handle) in list(self._running.items()):
            ending = handle.poll()
            if ending is not None:
                standing = handle.look()
                del self._running[folder]
                self._standings.pop(folder, None)
                self._end(job, ending, standing)

    def _end(self, job: Job, ending: Ending, standing: Standing) -> None:
        self._done[job.folder] = standing.done
        if ending.kind == "finished":
            self._finished += 1
            self._done[job.folder] = job.steps
            shown = "" if standing.return_ is None else f": return {standing.return_:.1f}"
            self.display.note(f"finished  {job.name}{shown}")
            return
        if ending.kind == "lost" and not self.interrupt.is_set:
            self._losses[job.folder] += 1
            if self._losses[job.folder] <= LOSSES_ALLOWED:
                self.display.note(f"lost      {job.name}: {ending.reason}; it goes on elsewhere")
                self._waiting.appendleft(job)
                return
        if ending.kind == "interrupted" and self.interrupt.is_set:
            return
        self.failures[job.name] = ending.reason
        self.display.note(f"failed    {job.name}: {ending.reason}")

    def _look(self) -> None:
        for words in self.executor.tell_news():
            self.display.note(words)
        for folder, (_, handle) in self._running.items():
            standing = handle.look()
            self._standings[folder] = standing
            self._done[folder] = max(self._done[folder], standing.done)
        running = [
            Running(job.name, self._done[folder], job.steps, self._find_return(folder))
            for folder, (job, _) in self._running.items()
        ]
        self.display.update(
            Overview(
                finished=self._finished,
                failed=len(self.failures),
                jobs=len(self.jobs),
                done=sum(self._done.values()),
                steps=sum(job.steps for job in self.jobs),
                running=running,
            )
        )

    def _find_return(self, folder: str) -> float | None:
        standing = self._standings.get(folder)
        return None if standing is None else standing.return_

    def _stop(self) -> None:
        """Ask every job to stop, and wait: a second signal is raised in here."""
        for _, handle in self._running.values():
            handle.stop()
        while self._running:
            self._poll()
            time.sleep(SECONDS_BETWEEN_POLLS)
        raise Interrupted


def name_failures(failures: dict[str, str], total: int, root: Path) -> str:
    """One line for all of them."""
    named = [f"{name} ({reason})" for name, reason in list(failures.items())[:MOST_NAMED]]
    more = f" and {len(failures) - MOST_NAMED} more" if len(failures) > MOST_NAMED else ""
    shown, jobs = "; ".join(named), say_count(total, "job")
    return f"{len(failures)} of {jobs} failed: {shown}{more}; what they said: {root / 'logs'}"
