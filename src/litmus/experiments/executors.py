"""Where jobs are done: the contract of an executor, and the one that uses this machine's cores."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from litmus.experiments.jobs import Job, Standing
from litmus.experiments.process import Ending, JobProcess, Order


class Handle(Protocol):
    """A job that was started."""

    def poll(self) -> Ending | None:
        """How it ended; None while it is at work."""

    def look(self) -> Standing:
        """How far it is."""

    def stop(self) -> None:
        """Ask it to stop so that it can go on later."""

    def kill(self) -> None:
        """End it at once."""


class Executor(Protocol):
    @property
    def places(self) -> int:
        """Jobs that can be at work at once; it may change."""

    def start(self, job: Job) -> Handle:
        """Begin a job, or go on with it."""

    def tell_news(self) -> list[str]:
        """What has become known of the machines since the last time."""


def find_log(root: Path, job: Job) -> Path:
    """What a job prints."""
    return root / "logs" / f"{job.folder}.txt"


@dataclass(frozen=True)
class LocalExecutor:
    """One process per job on this machine."""

    root: Path
    """The folder of the experiment."""
    places: int
    lock: int | None = None
    """Descriptor of the folder's lock: it is held until the last job has let go, too."""

    def start(self, job: Job) -> LocalHandle:
        folder, log = self.root / job.folder, find_log(self.root, job)
        keeps = [] if self.lock is None else [self.lock]
        return LocalHandle(job, folder, JobProcess(job, folder, log, Order.here(), keeps))

    def tell_news(self) -> list[str]:
        return []


@dataclass(frozen=True)
class LocalHandle:
    job: Job
    folder: Path
    process: JobProcess

    def poll(self) -> Ending | None:
        return self.process.poll()

    def look(self) -> Standing:
        return self.job.look(self.folder)

    def stop(self) -> None:
        self.process.stop()

    def kill(self) -> None:
        self.process.kill()
