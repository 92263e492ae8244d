"""`litmus evaluate`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from litmus.cli.command import Command
from litmus.cli.results import print_final_return
from litmus.counts import say_count, show_return
from litmus.options import OneLineParser, add_whole, parse_object
from litmus.streams import stdout_for_results

if TYPE_CHECKING:
    from litmus.training.measuring import Measurement, Subject


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("path", metavar="RUN|POLICY", help="run directory, or policy.safetensors")
    parser.add_argument(
        "--task", metavar="ID", help="task to measure it in; a run knows its own, a policy does not"
    )
    parser.add_argument(
        "--env-kwargs",
        type=partial(parse_object, "env_kwargs"),
        metavar="JSON",
        help="options of the task, as a JSON object; a run's own stay where they are not named",
    )
    parser.add_argument("--data", metavar="DIR", help="folder with the files of a set of images")
    add_whole(parser, "episodes", "episodes to run [10]", default=10)
    add_whole(parser, "seed", "of start states and random choices [0]", default=0)
    add_whole(parser, "workers", "worker processes (default: one per core)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--video", metavar="FILE", help="film the first episode: a file ending in .webp or .mp4"
    )


def run(options: argparse.Namespace) -> None:
    from litmus.training.measuring import find_subject, measure

    if options.video is not None:
        from litmus.reports.video import check_video

        check_video(options.video)
    with stdout_for_results():
        subject = find_subject(options.path, options.task, options.env_kwargs, options.data)
        measured = measure(subject, options.episodes, options.seed, options.workers)
    if options.json:
        print(json.dumps(_describe(options.path, subject, measured)))
    else:
        _print(measured)
        if subject.run is not None and options.task is None and options.env_kwargs is None:
            print_final_return(options.path)
    if options.video is not None:
        _film(options, subject)


def _describe(path: str, subject: Subject, measured: Measurement) -> dict[str, Any]:
    from litmus.runs.metrics import finite_or_none

    return {
        "path": str(path),
        "task": subject.task_name,
        "episodes": len(measured.returns),
        "mean": finite_or_none(measured.mean),
        "std": finite_or_none(measured.std),
        "standard_error": finite_or_none(measured.standard_error),
        "returns": finite_or_none(measured.returns),
        "training_returns": finite_or_none(measured.training_returns),
        "steps": measured.steps,
        "final_return": None if subject.run is None else subject.run.final_return,
    }


def _print(measured: Measurement) -> None:
    if len(measured.returns) == 1:
        print(f"return {show_return(measured.mean)} (one episode)")
    else:
        print(
            f"return {show_return(measured.mean)} ± {show_return(measured.standard_error)} "
            f"(mean of {say_count(len(measured.returns), 'episode')} ± standard error; "
            f"from {show_return(min(measured.returns))} to {show_return(max(measured.returns))})"
        )


def _film(options: argparse.Namespace, subject: Subject) -> None:
    from litmus.reports.video import record_video

    video = record_video(Path(options.video), subject.task, subject.policy, options.seed)
    if not options.json:
        part = "" if video.is_whole else "the beginning of "
        print(
            f"video      {video.path} ({part}the first episode, {video.seconds:.1f} s, "
            f"return {video.return_:.1f})"
        )


EVALUATE = Command("evaluate", "measure a policy: run new episodes with it", add_arguments, run)
