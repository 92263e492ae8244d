"""What an experiment is made of: jobs that can be stopped, and started again on any machine.

A job is a frozen dataclass of plain values, so that it can travel as JSON; what it does is known to
its folder alone. Adding a kind of job is one class like these.
"""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from litmus.errors import BadInput
from litmus.fields import Values
from litmus.registry import import_named
from litmus.runs.directory import RunDirectory, wait_for_lock
from litmus.runs.metrics import read_last_events

LONGEST_NAME = 80
SECONDS_TO_LET_GO = 15.0
"""That a job takes to stop by itself, when whoever started it is gone."""

State = Literal["missing", "unfinished", "finished"]


@dataclass(frozen=True)
class Standing:
    """How far a job is."""

    state: State
    done: int = 0
    """Steps."""
    return_: float | None = None
    """The latest that was measured."""


class Job(Protocol):
    @property
    def name(self) -> str:
        """For people: 'Swimmer-v5, pssvf, seed 3'."""

    @property
    def group(self) -> str:
        """What it has in common with others that differ by their seed: 'Swimmer-v5, pssvf'."""

    @property
    def folder(self) -> str:
        """Where it works, in the folder of its experiment; no other job works there."""

    @property
    def steps(self) -> int:
        """How much there is to do."""

    def look(self, folder: Path) -> Standing:
        """How far the job in this folder is: cheap, and harmless while it is at work."""

    def check(self, folder: Path) -> None:
        """BadInput where it cannot work, as far as that is known before it does."""

    def work(self, folder: Path) -> None:
        """Do it to the end, from wherever it was stopped; on Ctrl-C and SIGTERM, leave it so that
        it can go on. Runs in a process of its own."""


def describe_job(job: Job) -> dict[str, Any]:
    """In plain values."""
    kind = type(job)
    values = {spec.name: getattr(job, spec.name) for spec in dataclasses.fields(cast(Any, job))}
    return {"job": f"{kind.__module__}:{kind.__qualname__}", "values": values}


def build_job(described: Mapping[str, Any]) -> Job:
    return cast(Job, import_named(described["job"], "job")(**described["values"]))


def name_folder(name: str) -> str:
    """The name itself where a folder can have it; else like it, and never another one's."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.,:=+-]*", name) and len(name) <= LONGEST_NAME:
        return name
    readable = re.sub(r"[^A-Za-z0-9_.,=+-]+", "-", name).strip("-.")[:LONGEST_NAME]
    return f"{readable}-{hashlib.sha256(name.encode()).hexdigest()[:8]}".lstrip("-")


@dataclass(frozen=True)
class TrainJob:
    """One training run."""

    task: str
    label: str
    """What the experiment calls the algorithm with its options."""
    folder: str
    config: Values
    """Every option, in plain values."""

    @property
    def name(self) -> str:
        return f"{self.group}, seed {self.seed}"

    @property
    def group(self) -> str:
        return f"{self.task}, {self.label}"

    @property
    def seed(self) -> int:
        return int(self.config["seed"])

    @property
    def steps(self) -> int:
        return int(self.config["steps"])

    def look(self, folder: Path) -> Standing:
        if not (folder / "config.json").is_file():
            return Standing("missing")
        events = read_last_events(folder / "metrics.jsonl")
        is_finished = bool(events) and events[-1]["event"] == "finished"
        measured = ("evaluation", "handed_over")
        evaluated = [event.get("mean") for event in events if event["event"] in measured]
        latest = evaluated[-1] if evaluated else None
        if is_finished and not find_problem(folder):
            return Standing("finished", self.steps, latest)
        done = max((int(event.get("steps", 0)) for event in events), default=0)
        return Standing("unfinished", min(self.steps, done), latest)

    def check(self, folder: Path) -> None:
        from litmus.algorithms import read_config
        from litmus.analysis.groups import NOT_THE_METHOD
        from litmus.runs.run import Run
        from litmus.training.api import CHANGE_NO_RESULT, refuse_other_config

        if not (folder / "config.json").is_file() or find_problem(folder):
            return  # damaged: that is this run's own failure, and no reason to stop the others
        wanted = read_config(self.config["algorithm"], self.options)
        is_finished = self.look(folder).state == "finished"  # wherever that was done
        may_differ = NOT_THE_METHOD if is_finished else CHANGE_NO_RESULT
        refuse_other_config(Run(folder), wanted, may_differ)

    def work(self, folder: Path) -> None:
        from litmus.training.api import train

        self.wait_for(folder)
        train(self.config["algorithm"], out=folder, resume_if_exists=True, **self.options)

    @staticmethod
    def wait_for(folder: Path) -> None:
        """Its last process may still be about to stop."""
        if folder.is_dir():
            wait_for_lock(RunDirectory(folder), SECONDS_TO_LET_GO).close()

    @property
    def options(self) -> Values:
        return {name: value for name, value in self.config.items() if name != "algorithm"}


def find_problem(folder: Path) -> str:
    """Why the run's configuration cannot be read; nothing where it can."""
    from litmus.runs.run import Run

    try:
        _ = Run(folder).config
    except BadInput as error:
        return str(error)
    return ""
