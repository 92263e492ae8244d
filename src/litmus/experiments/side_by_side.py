"""Runs that differ in their seeds alone as one job, where one GPU program can do their updates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litmus.algorithms import ALGORITHMS, read_config
from litmus.experiments.jobs import Job, Standing, State, TrainJob, build_job, describe_job

MOST_TOGETHER = 10
"""Runs in one program: each holds what it learns from, twice while they are put together."""


@dataclass(frozen=True)
class SideBySideJob:
    """Several runs in threads of one process."""

    runs: tuple[dict[str, Any], ...]
    """Described jobs, each in a folder of its own beside the others'."""

    @property
    def jobs(self) -> list[TrainJob]:
        jobs = [build_job(one) for one in self.runs]
        return [job for job in jobs if isinstance(job, TrainJob)]

    @property
    def name(self) -> str:
        return f"{self.group}, {len(self.runs)} seeds side by side"

    @property
    def group(self) -> str:
        return self.jobs[0].group

    @property
    def folder(self) -> str:
        """That of the first run; the others' are beside it."""
        return self.jobs[0].folder

    @property
    def steps(self) -> int:
        return sum(job.steps for job in self.jobs)

    def look(self, folder: Path) -> Standing:
        standings = [job.look(path) for job, path in self._pair_with(folder)]
        states: set[State] = {one.state for one in standings}
        state: State = states.pop() if len(states) == 1 else "unfinished"
        known = [one.return_ for one in standings if one.return_ is not None]
        mean = sum(known) / len(known) if known else None
        return Standing(state, sum(one.done for one in standings), mean)

    def check(self, folder: Path) -> None:
        for job, path in self._pair_with(folder):
            job.check(path)

    def work(self, folder: Path) -> None:
        from litmus.training.side_by_side import train_side_by_side

        runs = [
            (read_config(job.config["algorithm"], job.options), path)
            for job, path in self._pair_with(folder)
        ]
        train_side_by_side(runs, TrainJob.wait_for)

    def _pair_with(self, folder: Path) -> list[tuple[TrainJob, Path]]:
        return [(job, folder.parent / Path(job.folder).name) for job in self.jobs]


def put_side_by_side(jobs: Sequence[Job], root: Path) -> list[Job]:
    """The same work, with what can share a program in one job; in the order of their first ones."""
    groups: dict[Any, list[Job]] = {}
    for number, job in enumerate(jobs):
        shares = isinstance(job, TrainJob) and can_share(job)
        is_finished = shares and job.look(root / job.folder).state == "finished"
        groups.setdefault(job.group if shares and not is_finished else number, []).append(job)
    parts = [
        group[first : first + MOST_TOGETHER]
        for group in groups.values()
        for first in range(0, len(group), MOST_TOGETHER)
    ]
    return [
        SideBySideJob(tuple(map(describe_job, part))) if len(part) > 1 else part[0]
        for part in parts
    ]


def count_runs(job: Job) -> int:
    """That learn in this job's process."""
    return len(job.runs) if isinstance(job, SideBySideJob) else 1


def can_share(job: TrainJob) -> bool:
    """Whether others of its group may learn in the same program."""
    if not ALGORITHMS.find(job.config["algorithm"]).side_by_side:
        return False
    if job.config.get("architecture", "mlp") != "mlp":  # whose rows alone can be stacked
        return False
    device = job.config.get("device")
    if device == "auto":
        import torch

        return torch.cuda.is_available()
    return device == "cuda"
