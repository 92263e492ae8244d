"""The table of an experiment: one row per task and algorithm, for the page and as Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from typing import TypeAlias

from litmus.analysis.comparison import Cell, Comparison
from litmus.analysis.statistics import Estimate
from litmus.reports.html import show_number, table
from litmus.tasks.names import base_name

WIDEST = 6
"""Algorithms that a table has room for side by side."""

HEAD = (
    *("Task", "Algorithm", "Mean ± sd", "95% interval of the mean", "Interquartile mean"),
    *("Seeds", "Steps", "Untrained", "Above untrained", "Paper"),
)

PaperFigure: TypeAlias = tuple[float, float | None]
"""Mean and, where it is given, standard deviation."""


@dataclass(frozen=True)
class Figures:
    """What a paper reports: by task, perhaps without its version, then by algorithm."""

    reported: Mapping[str, Mapping[str, PaperFigure]] = field(default_factory=dict)

    def find(self, cell: Cell) -> PaperFigure | None:
        names = (cell.task, base_name(cell.task))
        row = next((self.reported[name] for name in names if name in self.reported), {})
        return row.get(cell.algorithm)


def write_rows(comparison: Comparison, paper: Figures) -> list[list[str]]:
    """Plain text."""
    return [
        [
            shorten_task(cell.task),
            cell.algorithm,
            show_mean(cell.mean.value, cell.std),
            show_interval(cell.mean),
            show_number(cell.iqm),
            str(len(cell.seeds)),
            f"{cell.steps:,}" if cell.is_trained else "–",
            show_number(_mean(cell.untrained)),
            say_above_untrained(cell),
            _show_figure(paper.find(cell)),
        ]
        for cell in comparison.cells
    ]


def write_html(comparison: Comparison, paper: Figures) -> str:
    rows = write_rows(comparison, paper)
    kept = [place for place in range(len(HEAD)) if any(row[place] != "–" for row in rows)]
    return table(
        [HEAD[place] for place in kept],
        [[escape(row[place]) for place in kept] for row in rows],
        "Final returns",
        numbers=range(2, len(kept)),
    )


def write_wide(comparison: Comparison, paper: Figures) -> tuple[list[str], list[list[str]]]:
    """One row per task, one column per algorithm, one more for each that the paper reports."""
    names = comparison.algorithms
    reported = [
        name
        for name in names
        if any(paper.find(cell) for cell in comparison.cells if cell.algorithm == name)
    ]
    rows = []
    for task in comparison.tasks:
        cells = [comparison.find(task, name) for name in names]
        row = [shorten_task(task)]
        row += ["–" if one is None else show_mean(one.mean.value, one.std) for one in cells]
        beside = [comparison.find(task, name) for name in reported]
        row += ["–" if one is None else _show_figure(paper.find(one)) for one in beside]
        rows.append(row)
    return ["Task", *names, *(f"paper: {name}" for name in reported)], rows


def write_markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(_cell(text) for text in line) + " |" for line in lines)


def show_mean(mean: float, std: float | None) -> str:
    return show_number(mean) if std is None else f"{show_number(mean)} ± {show_number(std)}"


def show_interval(estimate: Estimate) -> str:
    shown = f"{show_number(estimate.low)} to {show_number(estimate.high)}"
    return f"{shown} (range)" if estimate.is_range else shown


def say_above_untrained(cell: Cell) -> str:
    """By a test of the gains; few seeds cannot tell."""
    if not cell.untrained:
        return "–"
    if cell.p_untrained is None:
        return "too few seeds"
    return f"{'yes' if cell.is_above_untrained else 'no'} (p = {cell.p_untrained:.2g})"


def shorten_task(task: str) -> str:
    """A task of one's own without its package."""
    return task.rpartition(":")[2]


def _show_figure(figure: PaperFigure | None) -> str:
    return "–" if figure is None else show_mean(*figure)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
