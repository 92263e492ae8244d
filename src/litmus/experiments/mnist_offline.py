"""M4: from classifiers that are no better than chance to a good one, through a frozen evaluator.

For each seed: random CNNs are measured, those above 12% accuracy are thrown away, evaluators learn
from the others and are frozen, and fresh CNNs climb them (`offline.py`). Nothing but (policy,
return) pairs reaches the evaluators, and no CNN sees a supervised gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from litmus.errors import BadInput, suggest
from litmus.experiments.image_results import check_image_sets, summarize
from litmus.experiments.jobs import Job
from litmus.experiments.offline_settings import PRESETS, read_settings
from litmus.experiments.plan import OF_ONE_RUN, Choices, Plan
from litmus.experiments.result_job import ResultJob
from litmus.experiments.results_file import add_result
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.reports.plots import write_figures
from litmus.reports.progress import ReportProgress

SEEDS = tuple(range(100, 105))
BYTES_PER_POLICY = 200_000
"""Of a network for images of 28 × 28 pixels."""


@dataclass(frozen=True)
class OfflineJob(ResultJob):
    """One seed."""

    task: str
    data: str | None

    @property
    def subject(self) -> str:
        return self.task

    @property
    def steps(self) -> int:
        return int(self.settings["updates"])

    def find(self, folder: Path) -> dict[str, Any]:
        from litmus.experiments.offline import run_offline

        return run_offline(self.task, self.data, read_settings(self.settings), self.seed, folder)

    def describe(self) -> dict[str, Any]:
        described = {"task": self.task, **super().describe()}
        return described if self.data is None else {**described, "data": self.data}


@dataclass(frozen=True)
class OfflineImages:
    title: str
    tasks: tuple[str, ...] = ("mnist",)

    def plan(self, name: str, choices: Choices) -> Plan:
        choices.refuse(name, "algorithms", *OF_ONE_RUN)
        presets = [choices.preset] if choices.preset is not None else ["tuned"]
        for preset in presets:
            if preset not in PRESETS:
                raise BadInput(f"{name} has no preset '{preset}'{suggest(preset, PRESETS)}")
        places = check_image_sets(name, choices.tasks or self.tasks, choices)
        jobs = tuple(
            make_job(task, choices, preset, seed)
            for seed in choices.seeds or SEEDS
            for task in choices.tasks or self.tasks
            for preset in presets
        )
        largest = max(int(job.settings["policies"]) for job in jobs) * BYTES_PER_POLICY
        return Plan(name, self.title, jobs, partial(write_up, jobs), largest, places)


def make_job(task: str, choices: Choices, preset: str, seed: int) -> OfflineJob:
    from litmus.training.api import find_absolute

    settings = PRESETS[preset]
    if choices.steps is not None:
        settings = replace(settings, updates=choices.steps)
    if choices.probing_states is not None:
        settings = replace(settings, probing_states=choices.probing_states)
    values = {**asdict(settings), "heads": [list(one) for one in settings.heads]}
    folder = f"runs/{task}/{preset}/seed-{seed}"
    data = None if choices.data is None else find_absolute(choices.data)
    return OfflineJob(preset, seed, folder, values, task, data)


def write_up(
    jobs: Sequence[Job], folder: Path, results: Path | None, progress: ReportProgress
) -> list[Path]:
    """A figure of how the fresh CNNs fared, and the result."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for place, job in enumerate(jobs):
        assert isinstance(job, OfflineJob)
        progress.tell(f"reading {job.name}", place, len(jobs))
        if job.look(folder / job.folder).state == "finished":
            known = found.setdefault((job.task, job.label), [])
            known.append(job.read(folder / job.folder))
    if not found:
        raise BadInput(f"no seed in {folder} is finished yet")
    written = []
    for (task, preset), seeds in found.items():
        written += write_figures([draw_climb(f"{task}-{preset}", seeds)], folder / "figures")
        if results is not None:
            name = "offline" if task == "mnist" else f"{task}_offline"
            add_result(results, name, preset, summarize_seeds(seeds))
    return written + ([results] if results is not None else [])


def summarize_seeds(seeds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The step of each fresh CNN was chosen on validation images; beside it, by familiarity."""
    return summarize(
        [float(np.mean(one["chosen_by_validation"])) for one in seeds],
        int(seeds[0]["kept"]),
        [one["provenance"] for one in seeds],
        worst=min(min(one["chosen_by_validation"]) for one in seeds),
        fresh=[one["chosen_by_validation"] for one in seeds],
        by_familiarity=[float(np.mean(one["chosen_by_familiarity"])) for one in seeds],
        highest_accuracy_seen=max(float(one["highest_accuracy_seen"]) for one in seeds),
    )


def draw_climb(name: str, seeds: Sequence[dict[str, Any]]) -> Chart:
    curves = [one["curve"] for one in seeds]
    steps = curves[0]["steps"]

    def line(title: str, key: str, color: int) -> Series:
        values = np.concatenate([np.asarray(curve[key], float) for curve in curves], axis=1)
        low, high = np.quantile(values, [0.1, 0.9], axis=1)
        return Series(title, steps, values.mean(axis=1), low, high, color=color)

    panels = [
        Panel("test accuracy", [line("fresh CNNs", "test_accuracy", 0)]),
        Panel(
            "−cross-entropy",
            [line("predicted by V", "predicted", 0), line("measured", "test_return", 1)],
        ),
        Panel("distance from what V knows", [line("in standard deviations", "distance", 2)]),
    ]
    return Chart(
        f"climb-{name}",
        "Fresh CNNs climb a frozen V",
        "V learned from CNNs with at most 12% accuracy. Bands hold the middle 80% of all CNNs.",
        [View("steps", "gradient steps", panels)],
        is_tall=True,
    )


MNIST_OFFLINE = OfflineImages("From classifiers no better than chance to a good one")
