"""How many steps runs took to reach what the paper reports."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from litmus.analysis.comparison import Cell
from litmus.analysis.groups import Group
from litmus.analysis.statistics import Curve
from litmus.reports.comparison_table import Figures, shorten_task
from litmus.reports.html import show_number

REACHING = (
    "Steps to the paper's mean: of a run, those of its first evaluation at or above what the paper "
    "reports for the end of training; the median counts runs that never were as the slowest."
)
HEAD = ["Task", "Algorithm", "Paper's mean", "Median steps to it", "Seeds that reached it"]


@dataclass(frozen=True)
class Reaching:
    """One algorithm on one task."""

    task: str
    algorithm: str
    level: float
    """The paper's mean."""
    steps: Sequence[int | None]
    """Of each seed; None for those that never reached it."""

    def write_row(self) -> list[str]:
        middle = find_median(self.steps)
        return [
            shorten_task(self.task),
            self.algorithm,
            show_number(self.level),
            "never" if middle is None else f"{middle:,.0f}",
            f"{sum(one is not None for one in self.steps)} of {len(self.steps)}",
        ]


def list_reaching(groups: Sequence[Group], paper: Figures) -> list[Reaching]:
    """Of those that the paper reports."""
    found = []
    for group in groups:
        figure = paper.find(Cell(group.task, group.label, 1, (), ()))
        if figure is not None:
            curves = [record.evaluation_curve("steps") for record in group.records]
            steps = [find_steps_to(curve, figure[0]) for curve in curves]
            found.append(Reaching(group.task, group.label, figure[0], steps))
    return found


def write_reaching(found: Sequence[Reaching]) -> tuple[list[str], list[list[str]]] | None:
    """Head and rows in plain text; None where there are none."""
    return (HEAD, [one.write_row() for one in found]) if found else None


def find_steps_to(curve: Curve, level: float) -> int | None:
    places = np.flatnonzero(curve.y >= level)
    return int(curve.x[places[0]]) if places.size else None


def find_median(steps: Sequence[int | None]) -> float | None:
    """None where it would be one of those that never reached it."""
    median = float(np.median([np.inf if one is None else one for one in steps]))
    return median if np.isfinite(median) else None
