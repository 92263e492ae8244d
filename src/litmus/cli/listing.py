"""`litmus list`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence

from litmus.algorithms import ALGORITHMS, CHOICES
from litmus.cli.command import Command
from litmus.experiments import EXPERIMENTS
from litmus.options import OneLineParser
from litmus.presets import PRESETS, Preset
from litmus.registry import Entry


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("list", metavar="|".join(LISTS), choices=tuple(LISTS), help="what to list")


def run(options: argparse.Namespace) -> None:
    for line in LISTS[options.list]():
        print(line)


def _list_tasks() -> list[str]:
    from litmus.tasks.gymnasium_registry import find_needed, list_environments
    from litmus.tasks.known_images import IMAGE_SETS

    said = {name: find_needed(name) for name in list_environments()}
    said |= {name: one.summary for name, one in IMAGE_SETS.items()}
    width = max(map(len, said))
    return [f"{name:<{width}}  {words}".rstrip() for name, words in said.items()]


def _list_table(rows: Mapping[str, Preset | Entry]) -> list[str]:
    width = max(map(len, rows), default=0)
    return [f"{name:<{width}}  {one.summary}" for name, one in rows.items()]


LISTS: dict[str, Callable[[], list[str]]] = {
    "tasks": _list_tasks,
    "presets": lambda: _list_table(PRESETS),
    "algorithms": lambda: _list_table(ALGORITHMS),
    "architectures": lambda: _list_table(CHOICES["architecture"]),
    "evaluators": lambda: _list_table(CHOICES["evaluator"]),
    "experiments": lambda: _list_table(EXPERIMENTS),
}

LIST = Command("list", "show what there is to choose from", add_arguments, run)
