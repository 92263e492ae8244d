"""`litmus experiment`."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from litmus.cli.command import Command
from litmus.options import OneLineParser, add_whole, parse_whole
from litmus.streams import stdout_for_results

CHOICES = (
    *("tasks", "algorithms", "seeds", "steps", "evaluate_every", "device", "preset"),
    *("probing_states", "data", "run", "architecture", "states", "indices"),
)


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument(
        "name",
        metavar="NAME",
        help="see 'litmus list experiments'; or a plan: a .toml or .json file",
    )
    parser.add_argument("--tasks", nargs="+", metavar="ID", help="instead of the experiment's own")
    parser.add_argument(
        "--algorithms",
        nargs="+",
        metavar="NAME",
        help="those of the experiment, or others: ALGORITHM, ALGORITHM-PRESET, random, sb3-ars",
    )
    parser.add_argument(
        "--seeds", metavar="N|A-B", help="a number of seeds, from 0 on, or a range such as 100-109"
    )
    add_whole(parser, "steps", "steps of every run")
    add_whole(parser, "evaluate_every", "steps from one evaluation of a run to the next")
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        metavar="auto|cpu|cuda",
        help="where runs learn, instead of the experiment's own (on tasks: one core)",
    )
    parser.add_argument("--preset", metavar="NAME", help="instead of the experiment's own")
    add_whole(parser, "probing_states", "of the experiments on images: instead of their own number")
    parser.add_argument(
        "--data", metavar="DIR", help="of the experiments on images: the folder with their files"
    )
    parser.add_argument("--run", dest="of_run", metavar="RUN", help="of zero-shot and clone")
    parser.add_argument(
        "--architecture",
        metavar="NAME",
        help="of zero-shot: linear, mlp:64x64 or package:Class",
    )
    add_whole(parser, "states", "of clone: probing states to copy the policy from")
    parser.add_argument(
        "--indices",
        nargs="+",
        type=partial(parse_whole, "indices"),
        metavar="N",
        help="of clone: these probing states, instead of choosing them",
    )
    parser.add_argument(
        "--executor",
        choices=("local", "ray"),
        default="local",
        metavar="local|ray",
        help="this machine, one run per core, or a Ray cluster [local]",
    )
    parser.add_argument(
        "--ray-address",
        metavar="ADDRESS",
        help="of the cluster; without one, Ray finds or starts one",
    )
    add_whole(parser, "jobs", "runs at once (default: one per core)")
    parser.add_argument("--out", metavar="DIR", help="where everything goes [experiments/NAME]")
    parser.add_argument(
        "--results", metavar="FILE", help="also put the table with every curve into one JSON file"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="show what there is to do, and do nothing"
    )
    parser.add_argument(
        "--redraw", action="store_true", help="train nothing: write up the runs that are finished"
    )


def run(options: argparse.Namespace) -> None:
    from litmus.experiments.api import (
        check_filling,
        check_jobs,
        check_results,
        choose_executor,
        choose_folder,
        experiment,
        make_choices,
        make_plan,
    )
    from litmus.experiments.dry_run import describe_plan

    chosen = {name: getattr(options, "of_run" if name == "run" else name) for name in CHOICES}
    folder = Path(options.out) if options.out is not None else choose_folder(options.name)
    if options.dry_run:
        with stdout_for_results():
            choose_executor(options.executor, options.ray_address, options.jobs)
            if options.results is not None:
                check_results(Path(options.results), folder)
            plan = make_plan(options.name, make_choices(**chosen, may_download=False))
            if options.results is not None:
                check_filling(plan, Path(options.results))
            check_jobs(plan, folder)
        columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        print("\n".join(describe_plan(plan, folder, columns)))
        return
    try:
        with stdout_for_results():
            done = experiment(
                options.name,
                executor=options.executor,
                ray_address=options.ray_address,
                jobs=options.jobs,
                out=folder,
                results=options.results,
                redraw=options.redraw,
                **chosen,
            )
    except KeyboardInterrupt:
        print("interrupted; the same command goes on", file=sys.stderr)
        raise
    folders = [done.folder / name for name in ("figures", "pictures")]
    inside = {one: [path for path in done.written if one in path.parents] for one in folders}
    for path in done.written:
        if not any(path in found for found in inside.values()):
            print(f"wrote  {path}")
    for folder, found in inside.items():
        if found:
            print(f"wrote  {folder} ({len(found)} files)")


EXPERIMENT = Command(
    "experiment",
    "run an experiment of the paper, or a plan of your own, over tasks, algorithms and seeds",
    add_arguments,
    run,
)
