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

from litmus.errors import BadInput
from litmus.experiments.grid import Grid, Variant
from litmus.experiments.image_results import add_result, measure_accuracy, summarize
from litmus.experiments.jobs import Job, TrainJob
from litmus.experiments.plan import Choices, Plan, WriteUp
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
    """Beside the grid's table, figures and page: pictures of the probing images, and the accuracy
    on all test images."""
    written = of_grid(folder, None, progress)
    accuracies: dict[tuple[str, str, int], list[float]] = {}
    interactions = 0
    for place, job in enumerate(jobs):
        if not isinstance(job, TrainJob) or job.look(folder / job.folder).state != "finished":
            continue
        progress.tell(f"measuring {job.name}", place, len(jobs))
        run, interactions = Run(folder / job.folder), job.steps
        written += write_probing_images(run, folder / "pictures" / f"{job.label}-seed{job.seed}")
        key = (job.task, job.label.rpartition("-")[0], int(job.config["probing_states"]))
        accuracies.setdefault(key, []).append(measure_accuracy(run))
    if results is not None:
        if not accuracies:
            raise BadInput(f"no run in {folder} is finished yet")
        for (task, preset, size), found in accuracies.items():
            of_task = "online" if task == "mnist" else f"{task}_online"
            add_result(results, f"{of_task}_{size}", preset, summarize(found, interactions))
        written.append(results)
    return written


MNIST_ONLINE = OnlineImages("Learning to classify images from returns alone")
