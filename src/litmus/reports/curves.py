"""Learning curves: return against steps and against time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord, read_curve, read_returns
from litmus.analysis.statistics import FEWEST_FOR_INTERVAL
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.tasks.known_images import IMAGE_SETS

Axis = Literal["steps", "wall_s"]


def draw_learning_curves(task: str, groups: Sequence[Group]) -> Chart:
    """One line per configuration; of several runs their mean, with the single runs behind it."""
    classifies = task in IMAGE_SETS
    earned, unit = ("accuracy", " (%)") if classifies else ("return", "")
    taken = "interactions" if classifies else "environment steps"
    views = [
        View("steps", taken, [Panel(earned + unit, _draw_runs(groups, "steps"))]),
        View("time", "training time (s)", [Panel(earned + unit, _draw_runs(groups, "wall_s"))]),
    ]
    return Chart(
        f"learning-{task.replace(':', '-').replace('/', '-')}",
        f"{task}: {earned} during training",
        f"Each point is an evaluation: the mean {earned} of the policy without noise, over some "
        f"episodes. {_explain_bands(groups)}",
        views,
    )


def _explain_bands(groups: Sequence[Group]) -> str:
    """What bold, thin and shaded mean in this chart, and nothing that is not in it."""
    counts = {sum(bool(record.evaluations) for record in group.records) for group in groups}
    parts = []
    if counts - {0, 1}:
        parts.append("Bold: the mean over runs; thin: single runs.")
    if 1 in counts:
        of_one = "The band of a single run" if counts - {0, 1} else "The band"
        parts.append(f"{of_one} goes from the lowest to the highest episode of each evaluation.")
    if any(1 < number < FEWEST_FOR_INTERVAL for number in counts):
        parts.append(
            f"With fewer than {FEWEST_FOR_INTERVAL} runs, the band goes from the lowest run to the "
            "highest."
        )
    if any(number >= FEWEST_FOR_INTERVAL for number in counts):
        parts.append("The band around a mean is its 95% bootstrap interval.")
    return " ".join(parts)


def _draw_runs(groups: Sequence[Group], over: Axis) -> list[Series]:
    series: list[Series] = []
    for color, group in enumerate(groups):
        evaluated = [record for record in group.records if record.evaluations]
        if len(evaluated) == 1:
            series += _single_run(group.label, evaluated[0], over, color)
            continue
        for record in evaluated:
            curve = read_curve(record.evaluations, over, "mean")
            series.append(Series(record.name, curve.x, curve.y, color=color, is_quiet=True))
        band = group.average(over)
        if band is not None:
            series.append(Series(group.label, band.x, band.mean, band.low, band.high, color=color))
    return series


def _single_run(label: str, record: RunRecord, over: Axis, color: int) -> list[Series]:
    rows = []
    for event in record.evaluations:
        if isinstance(event.get(over), int | float):
            mean, returns = float(event["mean"]), read_returns(event)
            low, high = (min(returns), max(returns)) if returns else (np.nan, np.nan)
            rows.append((float(event[over]), mean, low, high))
    if not rows:
        return []
    x, y, low_, high_ = np.array(sorted(rows)).T
    return [Series(label, x, y, low_, high_, color=color)]
