"""Experiments on one run: repeats that differ by their seed, each leaving one JSON file."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np

from litmus.errors import BadInput, option
from litmus.experiments.jobs import Job
from litmus.experiments.plan import Choices, Plan
from litmus.experiments.result_job import ResultJob
from litmus.experiments.results_file import add_result, read_results
from litmus.fields import Values
from litmus.files import to_text, write_bytes
from litmus.registry import import_named
from litmus.reports.comparison_table import show_mean, write_markdown_table
from litmus.reports.figures import Chart
from litmus.reports.html import show_number
from litmus.reports.plots import write_figures
from litmus.reports.progress import ReportProgress
from litmus.runs.directory import as_bad_input
from litmus.runs.provenance import describe_process
from litmus.runs.run import Run
from litmus.runs.zoo import digest_policy, digest_tensors

REPEATS = (0, 1, 2, 3, 4)

Repeat = Callable[[Run, Mapping[str, Any], int], dict[str, Any]]
"""Does one repeat: of a run, with settings, with a seed."""
Draw = Callable[[str, Sequence[dict[str, Any]]], Chart]


@dataclass(frozen=True)
class RepeatJob(ResultJob):
    repeat: str
    """'package.module:name' of the function that does it."""
    run: str

    @property
    def subject(self) -> str:
        return Path(self.run).name

    def check(self, folder: Path) -> None:
        Run(self.run)
        super().check(folder)

    def find(self, folder: Path) -> dict[str, Any]:
        repeat = cast(Repeat, import_named(self.repeat, "experiment"))
        about = {"run": self.run, "provenance": describe_process()}
        return {**about, **repeat(Run(self.run), self.settings, self.seed)}

    def describe(self) -> dict[str, Any]:
        """The run as it is now, wherever it lies."""
        run = Run(self.run)
        evaluator = digest_tensors(run.evaluator.state_dict())
        return {"policy": digest_policy(run.policy), "evaluator": evaluator, **super().describe()}


@dataclass(frozen=True)
class OfRun:
    """What the experiments on one run share."""

    title: str
    repeat: str
    draw: Draw
    settings: Callable[[str, Choices, Run], dict[str, Values]]
    """By label; BadInput for choices that cannot be."""

    def plan(self, name: str, choices: Choices) -> Plan:
        choices.refuse(name, "tasks", "algorithms", "evaluate_every", "device", "preset")
        choices.refuse(name, "probing_states", "data")
        if choices.run is None:
            raise BadInput(f"{name} is about one run: name it with {option('run')}")
        run = Run(choices.run)
        if not run.has_evaluator or run.evaluator.probing_states is None:
            raise BadInput(f"{run.path} has no evaluator with probing states")
        jobs = tuple(
            RepeatJob(label, seed, f"runs/{label}/seed-{seed}", values, self.repeat, choices.run)
            for seed in choices.seeds or REPEATS
            for label, values in self.settings(name, choices, run).items()
        )
        of_repeats = partial(write_up, name, self.title, self.draw, jobs)
        return Plan(name, self.title, jobs, of_repeats, read_results=read_results)


def write_up(
    name: str,
    title: str,
    draw: Draw,
    jobs: Sequence[Job],
    folder: Path,
    results: Path | None,
    progress: ReportProgress,
) -> list[Path]:
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place, job in enumerate(jobs):
        assert isinstance(job, RepeatJob)
        progress.tell(f"reading {job.name}", place, len(jobs))
        if job.look(folder / job.folder).state == "finished":
            values = found.setdefault((job.run, job.label), [])
            values.append(job.read(folder / job.folder))
    if not found:
        raise BadInput(f"no repeat in {folder} is finished yet")
    written, table = [], {}
    for (run, label), repeats in found.items():
        written += write_figures([draw(f"{name}-{label}", repeats)], folder / "figures")
        returns = [float(one["return"]) for one in repeats]
        task = Run(run).config.task
        entry = {
            "mean": float(np.mean(returns)),
            "std": float(np.std(returns, ddof=1)) if len(returns) > 1 else None,
            "returns": returns,
            "repeats": [
                {key: value for key, value in one.items() if key not in ("curve", "provenance")}
                for one in repeats
            ],
            "provenance": repeats[0]["provenance"],
        }
        table[f"{task}, {label}"] = {key: entry[key] for key in ("mean", "std", "returns")}
        if results is not None:
            add_result(results, task, label, entry)
    rows = [
        (name, show_mean(one["mean"], one["std"]), " ".join(map(show_number, one["returns"])))
        for name, one in table.items()
    ]
    text = write_markdown_table(("Task", "Return, mean ± sd", "Every repeat"), rows)
    tables = [folder / "table.md", folder / "table.json"]
    with as_bad_input(folder):
        write_bytes(tables[0], f"# {title}\n\n{text}\n".encode())
        write_bytes(tables[1], to_text(table).encode())
    return [*written, *tables, *([results] if results is not None else [])]
