"""What an experiment's algorithms look like beside each other: curves, and profiles of scores."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from litmus.analysis.comparison import Comparison
from litmus.analysis.groups import Group
from litmus.reports.curves import draw_learning_curves
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.reports.plots import PALETTE

MOST_CURVES = len(PALETTE)
"""Algorithms in one chart: of more, the best are drawn."""


def draw_curves(comparison: Comparison, groups: Sequence[Group]) -> list[Chart]:
    """One chart per task."""
    charts = []
    for task in dict.fromkeys(group.task for group in groups):
        members = [group for group in groups if group.task == task]
        if len(members) > MOST_CURVES:
            members = _choose_best(comparison, members)
        charts.append(draw_learning_curves(task, members))
    return charts


def _choose_best(comparison: Comparison, groups: Sequence[Group]) -> list[Group]:
    def mean(group: Group) -> float:
        cell = comparison.find(group.task, group.label)
        return float("-inf") if cell is None else cell.mean.value

    return sorted(groups, key=mean, reverse=True)[:MOST_CURVES]


def choose_profiled(comparison: Comparison) -> list[str]:
    """Algorithms whose profiles are drawn: none where there is nothing to compare, and of many the
    best by their mean score."""
    names = comparison.trained
    if not comparison.scored_tasks or len(names) < 2:
        return []
    if len(names) > MOST_CURVES:
        names.sort(key=lambda one: -float(np.mean(np.concatenate(comparison.score(one)))))
    return names[:MOST_CURVES]


def draw_profiles(comparison: Comparison) -> Chart | None:
    """Which share of an algorithm's runs scores above each threshold."""
    names, known = choose_profiled(comparison), len(comparison.trained)
    if not names:
        return None
    more = f" Of {known} algorithms, the best {len(names)} by their mean score."
    more = more if known > len(names) else ""
    series = []
    for color, name in enumerate(names):
        band = comparison.draw_profile(name)
        low, high = (band.low, band.high) if comparison.has_intervals else (None, None)
        series.append(Series(name, band.x, band.mean, low, high, color=color))
    bands = " Bands: 95% bootstrap intervals." if comparison.has_intervals else ""
    return Chart(
        "profile",
        "Performance profile",
        "Which share of runs scores above each value, every task counting alike: the higher a "
        f"line, the better.{bands}{more}",
        [View("scores", "score", [Panel("share of runs above it", series)])],
    )
