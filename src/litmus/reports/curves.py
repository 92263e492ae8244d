"""Learning curves: return against steps and against time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np

from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord, read_returns
from litmus.analysis.statistics import FEWEST_FOR_INTERVAL, Curve, average_curves
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
    counts = {sum(bool(record.evaluations) for record in group.records) for group in groups}
    return Chart(
        f"learning-{task.replace(':', '-').replace('/', '-')}",
        f"{task}: {earned} during training",
        f"Each point is an evaluation: the mean {earned} of the policy without noise, over some "
        f"episodes. {_explain_bands(counts)}",
        views,
    )


def draw_losses(task: str, losses: Mapping[str, Mapping[str, Curve]]) -> Chart:
    """What the perturbed policies lost, by configuration and by run: what V learns from."""
    series: list[Series] = []
    for color, (label, runs) in enumerate(losses.items()):
        series += _draw_mean(label, runs, color)
    counts = {len(runs) for runs in losses.values()}
    return Chart(
        f"loss-{task}",
        f"{task}: cross-entropy of the perturbed policies",
        "What V learns from: the mean loss of the policies with noise of some rounds, on the "
        f"training images of each. {_explain_bands(counts - {1})}",
        [View("steps", "interactions", [Panel("cross-entropy", series)])],
    )


def _explain_bands(counts: set[int]) -> str:
    """What bold, thin and shaded mean in a chart of so many runs each, and nothing else."""
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
        curves = {record.name: record.evaluation_curve(over) for record in evaluated}
        series += _draw_mean(group.label, curves, color)
    return series


def _draw_mean(label: str, curves: Mapping[str, Curve], color: int) -> list[Series]:
    """The mean over runs with its band, and the runs behind it; one run alone is its own mean."""
    if len(curves) == 1:
        return [Series(label, one.x, one.y, color=color) for one in curves.values()]
    series = [
        Series(name, one.x, one.y, color=color, is_quiet=True) for name, one in curves.items()
    ]
    band = average_curves(list(curves.values()))
    if band is not None:
        series.append(Series(label, band.x, band.mean, band.low, band.high, color=color))
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
