"""Fills a file of results piece by piece: what it has, and what the folder of a grid has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from litmus.algorithms import read_config
from litmus.analysis.comparison import Comparison
from litmus.analysis.groups import show_value
from litmus.counts import say_count
from litmus.errors import BadInput
from litmus.experiments.random_policy import RANDOM, UNTRAINED
from litmus.experiments.sb3_ars import SB3_ARS
from litmus.experiments.seed_results import CellResults, SeedResult, select_options, sort_seeds
from litmus.reports.comparison_table import Figures
from litmus.reports.reaching import Reaching

BESIDE = (SB3_ARS, RANDOM, UNTRAINED)
"""What stands behind the algorithms of litmus."""
MOST_SHOWN = 3
"""Options that differ."""


@dataclass(frozen=True)
class Filled:
    cells: tuple[CellResults, ...]
    left_out: tuple[str, ...]
    """Seeds that the file had, made with other options than those of the folder, in words."""

    @property
    def comparison(self) -> Comparison:
        return Comparison(tuple(one.cell for one in self.cells))

    @property
    def paper(self) -> Figures:
        reported: dict[str, dict[str, Any]] = {one.task: {} for one in self.cells}
        for one in self.cells:
            if one.paper is not None:
                reported[one.task][one.algorithm] = one.paper
        return Figures(reported)

    @property
    def algorithms(self) -> list[str]:
        """Those of litmus."""
        return [name for name in self.comparison.algorithms if name not in BESIDE]

    @property
    def reaching(self) -> list[Reaching]:
        return [
            Reaching(one.task, one.algorithm, one.paper[0], list(steps.values()))
            for one in self.cells
            if one.paper is not None
            and one.algorithm not in BESIDE
            and (steps := one.steps_to_paper)
        ]

    @property
    def origins(self) -> list[Mapping[str, Any]]:
        return [one.origin for cell in self.cells for one in cell.seeds if one.origin]

    def select_missing(self, missing: Sequence[str]) -> list[str]:
        """Those that the file does not have either."""
        names = tuple(
            f"{cell.task}, {cell.algorithm}, seed {one.seed}:"
            for cell in self.cells
            for one in cell.seeds
        )
        return [line for line in missing if not line.startswith(names)]


def fill(
    known: Sequence[CellResults],
    found: Sequence[CellResults],
    tasks: Sequence[str],
    algorithms: Sequence[str],
) -> Filled:
    """What the file has (`known`) and what the folder has (`found`), in whose place nothing stays;
    in the order of `tasks` and `algorithms`, others behind them."""
    there = {(one.task, one.algorithm): one for one in known if one.algorithm != UNTRAINED}
    here = {(one.task, one.algorithm): one for one in found if one.algorithm != UNTRAINED}
    cells, left_out = list((there | here).values()), []
    for place, cell in enumerate(cells):
        old, new = there.get((cell.task, cell.algorithm)), here.get((cell.task, cell.algorithm))
        if old is not None and new is not None:
            cells[place], words = join_cells(old, new)
            left_out += [words] if words else []
    sort_cells(cells, tasks, algorithms)
    if any(one.algorithm == UNTRAINED for one in (*known, *found)):
        cells += make_untrained_cells(cells)
        sort_cells(cells, tasks, algorithms)
    return Filled(tuple(cells), tuple(left_out))


def join_cells(old: CellResults, new: CellResults) -> tuple[CellResults, str]:
    """The new one with the seeds that only the old one has; or without, and why."""
    taken = {one.seed for one in new.seeds}
    more = [one for one in old.seeds if one.seed not in taken]
    if not more:
        return new, ""
    if differing := find_other_options(old.options, new.options):
        seeds = ", ".join(str(one.seed) for one in more)
        many = "seed" if len(more) == 1 else "seeds"
        return new, f"{new.task}, {new.algorithm}, {many} {seeds}: {differing}"
    reached = old.reached if old.paper == new.paper else {}
    return replace(new, seeds=sort_seeds([*new.seeds, *more]), reached=reached), ""


def find_other_options(old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> str:
    """How options differ, in words; nothing where they are the same."""
    if old is None or new is None:
        return "" if old is new else "it is not known which options they were made with"
    full = complete_options(old, new)
    names = [name for name in {**new, **full} if full.get(name) != new.get(name)]
    shown = [
        f"{name} {show_value(full.get(name))}, not {show_value(new.get(name))}"
        for name in names[:MOST_SHOWN]
    ]
    more = len(names) - len(shown)
    shown += [f"{say_count(more, 'more option')}"] if more else []
    return f"made with other options ({'; '.join(shown)})" if names else ""


def complete_options(old: Mapping[str, Any], new: Mapping[str, Any]) -> Mapping[str, Any]:
    """Without options that litmus has no more, if they were off. Those that it did not have yet had
    their defaults, where all others are the same."""
    old = {name: value for name, value in old.items() if value or name in new}
    if any(name not in new or new[name] != value for name, value in old.items()) or old == new:
        return old
    try:
        named = {name: value for name, value in old.items() if name != "algorithm"}
        return select_options(read_config(str(old.get("algorithm")), named).to_dict())
    except BadInput:
        return old


def make_untrained_cells(cells: Sequence[CellResults]) -> list[CellResults]:
    """What the policies of each task's first algorithm earned before training."""
    first: dict[str, CellResults] = {}
    for one in cells:
        if one.cell.untrained:
            first.setdefault(one.task, one)
    return [
        CellResults(task, UNTRAINED, tuple(_forget_training(seed) for seed in one.seeds))
        for task, one in first.items()
    ]


def _forget_training(one: SeedResult) -> SeedResult:
    assert one.untrained is not None
    return SeedResult(one.seed, one.untrained, 0, origin=one.origin)


def sort_cells(cells: list[CellResults], tasks: Sequence[str], algorithms: Sequence[str]) -> None:
    """By task, then by algorithm: those that are named first, then as they come, then the rest."""
    rows = list(dict.fromkeys([*tasks, *(one.task for one in cells)]))
    named = dict.fromkeys([*algorithms, *(one.algorithm for one in cells)])
    columns = [*(name for name in named if name not in BESIDE), *BESIDE]
    cells.sort(key=lambda one: (rows.index(one.task), columns.index(one.algorithm)))
