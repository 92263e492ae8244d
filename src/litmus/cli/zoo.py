"""`litmus zoo add|list|grow`."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from litmus.cli.command import Command
from litmus.cli.judging_options import POLICY_HELP, add_number, add_reading, add_task, read_reading
from litmus.counts import say_count
from litmus.options import OneLineParser, add_whole
from litmus.streams import stdout_for_results

if TYPE_CHECKING:
    from litmus.runs.zoo import Record


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    actions = parser.add_subparsers(metavar="add|list|grow", required=True, dest="action")
    add = actions.add_parser("add", help="measure policies and store them")
    add.add_argument("zoo", metavar="ZOO", help="directory; the first add makes it")
    add.add_argument("files", metavar="FILE", nargs="+", help=POLICY_HELP)
    add_task(add, "task to measure them in; a zoo that exists knows its own")
    add_whole(add, "episodes", "episodes of each policy [5]", default=5)
    _add_common(add)
    add.set_defaults(run=run_add, _parser=add)
    listing = actions.add_parser("list", help="show what a zoo holds")
    listing.add_argument("zoo", metavar="ZOO", help="directory")
    listing.add_argument("--json", action="store_true", help="print one JSON object per policy")
    listing.set_defaults(run=run_list, _parser=listing)
    grow = actions.add_parser("grow", help="add perturbations of a policy, each measured")
    grow.add_argument("zoo", metavar="ZOO", help="directory")
    grow.add_argument("--from", dest="source", metavar="FILE", required=True, help=POLICY_HELP)
    add_number(grow, "noise", "standard deviation of what is added to its parameters [0.05]", 0.05)
    add_whole(grow, "count", "perturbations to add [20]", default=20)
    add_whole(grow, "episodes", "episodes of each [1]", default=1)
    _add_common(grow)
    grow.set_defaults(run=run_grow, _parser=grow)


def _add_common(parser: OneLineParser) -> None:
    parser.add_argument(
        "--lineage", metavar="NAME", help="the training that they came from [their folder]"
    )
    parser.add_argument("--algorithm", metavar="NAME", help="that trained them [as files tell]")
    add_whole(parser, "seed", "of start states and random choices [0]", default=0)
    add_whole(parser, "workers", "worker processes (default: one per core)")
    add_reading(parser)


def run_add(options: argparse.Namespace) -> None:
    from litmus.judging.zoos import zoo_add

    with stdout_for_results():
        records = zoo_add(
            options.zoo,
            options.files,
            task=options.task,
            env_kwargs=options.env_kwargs,
            episodes=options.episodes,
            **_read_common(options),
        )
        count = _tell(records)
    _sum_up(options.zoo, count, len(options.files))


def run_grow(options: argparse.Namespace) -> None:
    from litmus.judging.zoos import zoo_grow

    with stdout_for_results():
        count = _tell(
            zoo_grow(
                options.zoo,
                options.source,
                noise=options.noise,
                count=options.count,
                episodes=options.episodes,
                **_read_common(options),
            )
        )
    _sum_up(options.zoo, count, options.count)


def run_list(options: argparse.Namespace) -> None:
    from litmus.runs.zoo import Zoo

    zoo = Zoo(options.zoo)
    records = zoo.records()
    if options.json:
        for one in records:
            print(json.dumps({**vars(one), "task": zoo.task.task}))
        return
    print(f"{say_count(len(records), 'policy', 'policies')} measured in {zoo.task.task}")
    for one in records:
        print(_show(one))


def run(options: argparse.Namespace) -> None:
    raise AssertionError("each action has its own")


def _read_common(options: argparse.Namespace) -> dict[str, Any]:
    return {
        "lineage": options.lineage,
        "algorithm": options.algorithm,
        "seed": options.seed,
        "workers": options.workers,
        "reading": read_reading(options),
    }


def _tell(records: Iterable[Record]) -> int:
    """One line as soon as each is stored; how many there were."""
    count = 0
    for count, one in enumerate(records, start=1):  # noqa: B007
        print(_show(one), flush=True)
    return count


def _sum_up(zoo: str, count: int, wanted: int) -> None:
    more = f"; {wanted - count} were there already" if wanted > count else ""
    print(f"added {say_count(count, 'policy', 'policies')} to {zoo}{more}")


def _show(record: Record) -> str:
    """One line: no longer than the terminal is wide, if it goes to one."""
    line = (
        f"{record.number:06d}  return {record.mean:9.1f} (of {len(record.returns)})  "
        f"{record.lineage}  {record.algorithm}  {record.source}"
    )
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else len(line)
    return line if len(line) <= width else line[: width - 1] + "…"


ZOO = Command(
    "zoo", "measure policies and keep them: zoo add, zoo list, zoo grow", add_arguments, run
)
