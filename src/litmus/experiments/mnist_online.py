"""M1 to M3: Algorithm 1 on images, in the paper's way and in ours, with 10 and 50 probing images.

Runs are evaluated on test images, for the curves: no choice depends on that, and no run hands over
the best policy that it measured. The result of a seed is the accuracy of its last policy on all
test images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from litmus.experiments.grid import Grid, Variant
from litmus.experiments.image_results import (
    check_image_sets,
    measure_accuracy,
    summarize,
)
from litmus.experiments.jobs import Job, TrainJob
from litmus.experiments.plan import Choices, Plan, WriteUp
from litmus.experiments.results_file import add_result, read_results
from litmus.reports.image_runs import read_loss
from litmus.reports.progress import ReportProgress
from litmus.runs.run import Run

SEEDS = tuple(range(100, 105))
"""Options are chosen on seeds below 100, and on validation images."""
SIZES = (10, 50)
PRESETS = ("tuned", "paper")
PAPER = {
    "mnist": {
        f"{preset}-{size}": (accuracy, None)
        for preset in PRESETS
        for size, accuracy in ((10, 82.5), (50, 87.0))
    }
}


@dataclass(frozen=True)
class OnlineImages:
    """Presets × numbers of probing images × seeds."""

    title: str
    tasks: tuple[str, ...] = ("mnist",)

    def plan(self, name: str, choices: Choices) -> Plan:
        choices.refuse(name, "algorithms")
        check_image_sets(name, choices.tasks or self.tasks, choices)
        sizes = SIZES if choices.probing_states is None else (choices.probing_states,)
        presets = PRESETS if choices.preset is None else (choices.preset,)
        options = {
            "device": "auto",
            "data": choices.data,
            "env_kwargs": {"images_per_episode": 1024, "held_out": "test"},
            "selection_share": 0.0,
        }
        grid = Grid(
            title=self.title,
            tasks=self.tasks,
            variants=tuple(
                Variant(f"{preset}-{size}", "pssvf", preset, {"probing_states": size})
                for preset in presets
                for size in sizes
            ),
            seeds=SEEDS,
            options=options,
            paper=PAPER,
        )
        plan = grid.plan(name, replace(choices, probing_states=None, data=None, preset=None))
        of_images = partial(write_up, plan.write_up, plan.jobs)
        return replace(plan, write_up=of_images, read_results=read_results)


def write_up(
    of_grid: WriteUp,
    jobs: Sequence[Job],
    folder: Path,
    results: Path | None,
    progress: ReportProgress,
) -> list[Path]:
    """The grid's table, figures and page; the result is the accuracy on all test images."""
    written = of_grid(folder, None, progress)
    if results is None:
        return written
    groups: dict[tuple[str, str, int], list[Run]] = {}
    for job in jobs:
        if isinstance(job, TrainJob) and job.look(folder / job.folder).state == "finished":
            key = (job.task, job.label.rpartition("-")[0], int(job.config["probing_states"]))
            groups.setdefault(key, []).append(Run(folder / job.folder))
    for (task, preset, size), runs in groups.items():
        accuracies: list[float] = []
        for run in runs:
            progress.tell(f"measuring {run.path}", len(accuracies), len(runs))
            accuracies.append(measure_accuracy(run))
        of_task = "online" if task == "mnist" else f"{task}_online"
        entry = summarize(
            accuracies,
            runs[0].config.steps,
            [run.provenance for run in runs],
            curves={str(run.config.seed): read_accuracies(run) for run in runs},
            losses={str(run.config.seed): read_losses(run) for run in runs},
        )
        add_result(results, f"{of_task}_{size}", preset, entry)
    return [*written, results]


def read_accuracies(run: Run) -> list[list[float]]:
    """Pairs of interactions and accuracy."""
    return [[one["steps"], one["mean"] / 100] for one in run.evaluations]


def read_losses(run: Run) -> list[list[float]]:
    """Pairs of interactions and cross-entropy of the perturbed policies."""
    curve = read_loss(run)
    return [[float(x), float(y)] for x, y in zip(curve.x, curve.y, strict=True)]


MNIST_ONLINE = OnlineImages("Learning to classify images from returns alone")
