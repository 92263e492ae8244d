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

from litmus.analysis.records import read_curve
from litmus.analysis.statistics import Curve, average_curves
from litmus.experiments.grid import Grid, Variant
from litmus.experiments.image_results import (
    check_image_sets,
    measure_accuracy,
    summarize,
)
from litmus.experiments.jobs import Job, TrainJob
from litmus.experiments.plan import Choices, Plan, WriteUp
from litmus.experiments.results_file import add_result
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.reports.plots import write_figures
from litmus.reports.probing_images import write_probing_images
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
        return replace(plan, write_up=partial(write_up, plan.write_up, plan.jobs))


def write_up(
    of_grid: WriteUp,
    jobs: Sequence[Job],
    folder: Path,
    results: Path | None,
    progress: ReportProgress,
) -> list[Path]:
    """Beside the grid's table, figures and page: pictures of the probing images, the loss of
    perturbed policies, and the accuracy on all test images."""
    written = of_grid(folder, None, progress)
    groups: dict[tuple[str, str, int], list[Run]] = {}
    for job in jobs:
        if isinstance(job, TrainJob) and job.look(folder / job.folder).state == "finished":
            key = (job.task, job.label.rpartition("-")[0], int(job.config["probing_states"]))
            groups.setdefault(key, []).append(Run(folder / job.folder))
    for (task, preset, size), runs in groups.items():
        name = f"{task}-{preset}-{size}"
        written += write_figures([draw_loss(name, runs)], folder / "figures")
        accuracies: list[float] = []
        for run in runs:
            progress.tell(f"measuring {run.path}", len(accuracies), len(runs))
            seed = run.config.seed
            written += write_probing_images(run, folder / "pictures" / f"{name}-seed{seed}")
            accuracies.append(measure_accuracy(run))
        if results is not None:
            of_task = "online" if task == "mnist" else f"{task}_online"
            entry = summarize(
                accuracies,
                runs[0].config.steps,
                [run.provenance for run in runs],
                curves={str(run.config.seed): read_accuracies(run) for run in runs},
            )
            add_result(results, f"{of_task}_{size}", preset, entry)
    return written + ([results] if results is not None else [])


def read_accuracies(run: Run) -> list[list[float]]:
    """Pairs of interactions and accuracy."""
    return [[one["steps"], one["mean"] / 100] for one in run.evaluations]


def draw_loss(name: str, runs: Sequence[Run]) -> Chart:
    """What the perturbed policies lost, over the interactions."""
    curves = []
    for run in runs:
        rounds = [event for event in run.metrics if event["event"] == "round"]
        returns = read_curve(rounds, "steps", "training_mean")
        curves.append(Curve(returns.x, -returns.y))
    band = average_curves(curves)
    series = [Series(f"seed {r.config.seed}", c.x, c.y) for r, c in zip(runs, curves, strict=True)]
    if band is not None:
        series = [Series("mean over seeds", band.x, band.mean, band.low, band.high)]
    return Chart(
        f"loss-{name}",
        "Cross-entropy of the perturbed policies",
        "On the training images of each round.",
        [View("interactions", "interactions", [Panel("cross-entropy", series)])],
    )


MNIST_ONLINE = OnlineImages("Learning to classify images from returns alone")
