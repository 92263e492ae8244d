"""On a node of a cluster: one job, in a process of its own, watched from elsewhere."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from litmus.experiments.executors import find_log
from litmus.experiments.jobs import build_job
from litmus.experiments.process import JobProcess, Order
from litmus.experiments.travel import Piece, Sender, receive


class NodeRunner:
    """A Ray actor. It works where whoever conducts the jobs does, if this node sees the folder;
    else in one of its own, which travels."""

    def __init__(
        self, job: Mapping[str, Any], order: Mapping[str, Any], root: str, mark: str
    ) -> None:
        self.job, self.order = build_job(job), Order(**order)
        self.is_shared = (Path(root) / mark).exists()
        self.root = Path(root) if self.is_shared else Path(tempfile.mkdtemp(prefix="litmus-"))
        self.process: JobProcess | None = None
        self.sender = Sender(self.root)
        self.batches: Iterator[list[Piece]] = iter(())

    def needs_folder(self) -> bool:
        """Whether what there is of the job has to be sent here."""
        return not self.is_shared

    def receive(self, pieces: Sequence[Piece]) -> None:
        receive(self.root, pieces)

    def start(self) -> None:
        folder, log = self.root / self.job.folder, find_log(self.root, self.job)
        self.process = JobProcess(self.job, folder, log, self.order)

    def look(self) -> dict[str, Any]:
        """How far it is, and how it ended."""
        assert self.process is not None
        ending = self.process.poll()
        standing = self.job.look(self.root / self.job.folder)
        return {
            "standing": asdict(standing),
            "ending": None if ending is None else asdict(ending),
        }

    def begin_sending(self) -> None:
        """Everything that has changed since the last time."""
        self.batches = self.sender.pack()

    def send(self) -> list[Piece] | None:
        """The next pieces; None where there are no more."""
        return next(self.batches, None)

    def list_sent(self) -> list[str]:
        """All files that there were: the copy has no need of others."""
        return self.sender.listed

    def stop(self) -> None:
        if self.process is not None:
            self.process.stop()

    def clean_up(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
        if not self.is_shared:
            shutil.rmtree(self.root, ignore_errors=True)
