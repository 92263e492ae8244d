"""M1 to M3: Algorithm 1 on images, in the paper's way and in a better one, over some seeds.

Runs are trained, or gone on with, one after the other. They are evaluated on test images, for the
curves: no choice depends on that, so no run may hand over the best policy that it measured. The
result of a seed is the accuracy of its last policy on all test images.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from litmus.cli.command import Command
from litmus.config import check_whole
from litmus.errors import BadInput, option
from litmus.experiments.image_results import add_result, summarize
from litmus.options import OneLineParser, parse_whole
from litmus.policies.population import FlatPopulation
from litmus.presets import preset_values
from litmus.runs.run import Run
from litmus.streams import stdout_for_results
from litmus.tasks import find_task
from litmus.tasks.classification import ClassificationTask
from litmus.training.api import train
from litmus.training.setup import choose_device

ALGORITHM = "pssvf"


@dataclass(frozen=True)
class OnlineOptions:
    out: Path
    task: str = "mnist"
    data: str | None = None
    preset: str = "tuned"
    probing_states: int = 10
    seeds: tuple[int, ...] = (0, 1, 2, 3, 4)
    steps: int | None = None
    device: str = "auto"
    quiet: bool = False

    @property
    def name(self) -> str:
        """Of the experiment, in the file of results."""
        short = "online" if self.task == "mnist" else f"{self.task}_online"
        return f"{short}_{self.probing_states}"

    def find_run(self, seed: int) -> Path:
        return self.out / f"{self.task}-{self.preset}-{self.probing_states}-seed{seed}"


def train_seeds(options: OnlineOptions) -> list[Run]:
    """Train what is missing; a run that was interrupted goes on."""
    return [train_seed(options, seed) for seed in options.seeds]


def train_seed(options: OnlineOptions, seed: int) -> Run:
    own = preset_values(options.preset, ALGORITHM, options.task).get("env_kwargs", {})
    more: dict[str, Any] = {} if options.steps is None else {"steps": options.steps}
    return train(
        ALGORITHM,
        out=options.find_run(seed),
        resume_if_exists=True,
        quiet=options.quiet,
        preset=options.preset,
        task=options.task,
        data=options.data,
        env_kwargs={**own, "held_out": "test"},
        probing_states=options.probing_states,
        selection_share=0.0,
        device=options.device,
        seed=seed,
        **more,
    )


def measure_accuracy(run: Run) -> float:
    """Of the run's policy, on all images that it was evaluated on."""
    task = find_task(run.config).build()
    if not isinstance(task, ClassificationTask):
        raise BadInput(f"{run.path} was not trained on a set of images")
    policy = run.policy
    rows = policy.flat_params.to(choose_device(run.config.device)).unsqueeze(0)
    population = FlatPopulation(policy.architecture, rows, policy.normalizer)
    with torch.no_grad():
        return task.measure_all_held_out(population)[0].return_ / 100


def write_up(options: OnlineOptions, results: Path | None = None) -> list[Path]:
    """Page and pictures of the runs, and their result, from what is in the folder."""
    from litmus.reports.probing_images import write_probing_images
    from litmus.reports.report import build_report

    runs = [Run(options.find_run(seed)) for seed in options.seeds]
    unfinished = [str(run.path) for run in runs if run.status != "finished"]
    if unfinished:
        raise BadInput(f"not finished yet: {', '.join(unfinished)}")
    accuracies = [measure_accuracy(run) for run in runs]
    entry = summarize(
        accuracies,
        runs[0].config.steps,
        curves={
            str(run.config.seed): [[one["steps"], one["mean"] / 100] for one in run.evaluations]
            for run in runs
        },
    )
    print(f"test accuracy {entry['mean']:.1%} (mean of {len(runs)} seeds: ", end="")
    print(f"{', '.join(f'{one:.1%}' for one in accuracies)})")
    page = options.out / f"{options.name}-{options.preset}.html"
    report = build_report([run.path for run in runs], quiet=options.quiet)
    written = [report.write(page)]
    for run in runs:
        written += write_probing_images(run, run.path / "pictures")
    if results is not None:
        add_result(results, options.name, options.preset, entry)
        written.append(results)
    return written


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("--task", default="mnist", metavar="NAME", help="set of images [mnist]")
    parser.add_argument("--data", metavar="DIR", help="folder with its files")
    parser.add_argument("--preset", default="tuned", metavar="NAME", help="[tuned]")
    for name, default, words_ in (
        ("probing_states", 10, "number of probing images [10]"),
        ("seeds", 5, "number of seeds [5]"),
        ("first_seed", 0, "the first of them [0]"),
        ("steps", None, "interactions of each run [those of the preset]"),
    ):
        typed = "--" + name.replace("_", "-")
        parse = partial(parse_whole, name)
        parser.add_argument(typed, type=parse, default=default, metavar="N", help=words_)
    parser.add_argument("--device", default="auto", metavar="auto|cpu|cuda", help="[auto]")
    parser.add_argument("--out", default="experiments/mnist-online", metavar="DIR", help="folder")
    parser.add_argument("--results", metavar="FILE", help="JSON file that the result is put into")
    parser.add_argument("--no-report", action="store_true", help="train only")


def run(options: argparse.Namespace) -> None:
    first = check_whole("first_seed", options.first_seed, 0)
    count = check_whole("seeds", options.seeds, 1, 10_000)
    if options.steps is not None:
        check_whole("steps", options.steps, 1)
    if options.no_report and options.results:
        raise BadInput(f"{option('results')} needs all runs measured: leave out --no-report")
    chosen = OnlineOptions(
        Path(options.out),
        options.task,
        options.data,
        options.preset,
        check_whole("probing_states", options.probing_states, 1),
        tuple(range(first, first + count)),
        options.steps,
        options.device,
    )
    with stdout_for_results():
        train_seeds(chosen)
    if not options.no_report:
        for path in write_up(chosen, Path(options.results) if options.results else None):
            print(path)


MNIST_ONLINE = Command(
    "mnist-online", "learn to classify images by Algorithm 1, over some seeds", add_arguments, run
)

if __name__ == "__main__":
    from litmus.cli import run_alone

    sys.exit(run_alone(MNIST_ONLINE))
