"""M4: from classifiers that are no better than chance to a good one, through a frozen evaluator.

For each seed: random CNNs are measured, those above 12% accuracy are thrown away, evaluators learn
from the others and are frozen, and fresh CNNs climb them (`offline.py`). Nothing but (policy,
return) pairs reaches the evaluators, and no CNN sees a supervised gradient.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from litmus.errors import BadInput, suggest
from litmus.experiments.image_results import check_image_sets
from litmus.experiments.jobs import Job
from litmus.experiments.offline_settings import PRESETS, read_settings
from litmus.experiments.plan import OF_ONE_RUN, Choices, Plan
from litmus.experiments.result_job import ResultJob
from litmus.experiments.results_file import add_result, read_results
from litmus.reports.progress import ReportProgress
from litmus.runs.directory import as_bad_input
from litmus.tasks.image_sets import read_image_set
from litmus.tasks.known_images import IMAGE_SETS

SEEDS = tuple(range(100, 105))
BYTES_OF_POLICY, BYTES_OF_ANSWER = 250, 80
"""For each pixel: of a network, and of what it makes of an image until V has learned from it."""


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

        settings = read_settings(self.settings)
        tell = partial(self.tell, folder)
        return run_offline(self.task, self.data, settings, self.seed, folder, tell)

    def describe(self) -> dict[str, Any]:
        described = {"task": self.task, **super().describe()}
        return described if self.data is None else {**described, "data": self.data}


@dataclass(frozen=True)
class OfflineImages:
    title: str
    tasks: tuple[str, ...] = ("mnist",)

    def plan(self, name: str, choices: Choices) -> Plan:
        choices.refuse(name, "algorithms", "evaluate_every", "device", *OF_ONE_RUN)
        presets = [choices.preset] if choices.preset is not None else ["tuned"]
        for preset in presets:
            if preset not in PRESETS:
                raise BadInput(f"{name} has no preset '{preset}'{suggest(preset, PRESETS)}")
        tasks = tuple(dict.fromkeys(choices.tasks or self.tasks))
        places = check_image_sets(name, tasks, choices)
        jobs = tuple(
            make_job(task, choices, preset, seed)
            for seed in choices.seeds or SEEDS
            for task in tasks
            for preset in presets
        )
        largest = max(check_size(job) for job in jobs)
        of_climbs = partial(write_up, self.title, jobs)
        return Plan(name, self.title, jobs, of_climbs, largest, places, read_results)


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


def check_size(job: OfflineJob) -> float:
    """The bytes that it takes; BadInput where this machine has fewer."""
    from litmus.training.memory import Need, check_need
    from litmus.training.setup import choose_device

    settings = read_settings(job.settings)
    shape = IMAGE_SETS[job.task].shape or read_image_set(job.task, job.data)[0].images.shape
    pixels = math.prod(shape[1:])
    asked = settings.batch_size * settings.probing_states
    parts: dict[str, float] = {
        f"{settings.policies:,} networks": settings.policies * pixels * BYTES_OF_POLICY,
        "a batch's probing actions (--probing-states)": asked * pixels * BYTES_OF_ANSWER,
    }
    return check_need(Need(parts), choose_device("auto"))


def write_up(
    title: str, jobs: Sequence[Job], folder: Path, results: Path | None, progress: ReportProgress
) -> list[Path]:
    """Table, figure and page of how the fresh CNNs fared, and the result."""
    from litmus.experiments.offline_report import Climbs, write_report

    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    missing = []
    for place, job in enumerate(jobs):
        assert isinstance(job, OfflineJob)
        progress.tell(f"reading {job.name}", place, len(jobs))
        if job.look(folder / job.folder).state == "finished":
            known = found.setdefault((job.task, job.label), [])
            known.append(job.read(folder / job.folder))
        else:
            missing.append(job.name)
    if not found:
        raise BadInput(f"no seed in {folder} is finished yet")
    climbs = [Climbs(task, preset, seeds) for (task, preset), seeds in found.items()]
    with as_bad_input(folder):
        written = write_report(title, climbs, missing, folder)
    if results is None:
        return written
    for one in climbs:
        name = "offline" if one.task == "mnist" else f"{one.task}_offline"
        add_result(results, name, one.preset, one.to_json())
    return [*written, results]


MNIST_OFFLINE = OfflineImages("From classifiers no better than chance to a good one")
