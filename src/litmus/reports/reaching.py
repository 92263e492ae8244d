"""How many steps runs took to reach what the paper reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from litmus.analysis.comparison import Cell
from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord
from litmus.reports.comparison_table import Figures, shorten_task
from litmus.reports.html import show_number

REACHING = (
    "Steps to the paper's mean: of a run, those of its first evaluation at or above what the paper "
    "reports for the end of training; the median counts runs that never were as the slowest."
)
HEAD = ["Task", "Algorithm", "Paper's mean", "Median steps to it", "Seeds that reached it"]


def write_reaching(
    groups: Sequence[Group], paper: Figures
) -> tuple[list[str], list[list[str]]] | None:
    """Head and rows in plain text; None where the paper reports nothing of these."""
    rows = []
    for group in groups:
        if (level := _find_level(group, paper)) is None:
            continue
        steps = [find_steps_to(record, level) for record in group.records]
        middle = find_median(steps)
        rows.append(
            [
                shorten_task(group.task),
                group.label,
                show_number(level),
                "never" if middle is None else f"{middle:,.0f}",
                f"{sum(one is not None for one in steps)} of {len(steps)}",
            ]
        )
    return (HEAD, rows) if rows else None


def describe_reaching(group: Group, paper: Figures) -> dict[str, Any]:
    """The same for a file of results: steps by seed."""
    if (level := _find_level(group, paper)) is None:
        return {}
    return {
        "steps_to_paper": {str(one.seed): find_steps_to(one, level) for one in group.records},
    }


def find_steps_to(record: RunRecord, level: float) -> int | None:
    curve = record.evaluation_curve("steps")
    places = np.flatnonzero(curve.y >= level)
    return int(curve.x[places[0]]) if places.size else None


def find_median(steps: list[int | None]) -> float | None:
    """None where it would be one of those that never reached it."""
    median = float(np.median([np.inf if one is None else one for one in steps]))
    return median if np.isfinite(median) else None


def _find_level(group: Group, paper: Figures) -> float | None:
    figure = paper.find(Cell(group.task, group.label, 1, (), ()))
    return None if figure is None else figure[0]
