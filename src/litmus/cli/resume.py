"""`litmus resume`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from litmus.cli.command import Command
from litmus.cli.results import offering_resume, print_result
from litmus.options import OneLineParser, add_whole
from litmus.streams import stdout_for_results


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("path", metavar="RUN", help="run directory")
    add_whole(parser, "steps", "make the run longer: train until N steps are done")
    add_whole(parser, "workers", "worker processes from now on")
    parser.add_argument(
        "--collector",
        choices=("local", "ray"),
        metavar="local|ray",
        help="where episodes run from now on",
    )
    parser.add_argument("--ray-address", metavar="ADDRESS", help="of the Ray cluster")
    parser.add_argument("--data", metavar="DIR", help="where the files of a set of images lie now")


def run(options: argparse.Namespace) -> None:
    from litmus.training.api import resume

    with offering_resume(Path(options.path)), stdout_for_results():
        resumed = resume(
            options.path,
            steps=options.steps,
            workers=options.workers,
            collector=options.collector,
            ray_address=options.ray_address,
            data=options.data,
        )
    print_result(resumed)


RESUME = Command(
    "resume", "continue an interrupted run exactly where it stopped", add_arguments, run
)
