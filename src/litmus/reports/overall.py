"""What the algorithms of an experiment come to over all its tasks: for people, and as JSON."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from litmus.analysis.comparison import PROFILE, Comparison
from litmus.analysis.statistics import Estimate
from litmus.reports.comparison_figures import choose_profiled
from litmus.reports.comparison_table import WIDEST, shorten_task, show_interval
from litmus.reports.html import show_number

Table = tuple[str, list[str], list[list[str]]]
"""Caption, head and rows."""

OF_SCORES = "Interquartile mean of scores"
ABOVE = "Probability that a run ends above another"


def estimate_scores(comparison: Comparison) -> dict[str, Estimate]:
    """The interquartile mean of each algorithm's scores; of none where no task has scores, and
    where there are more than can be compared."""
    names = _list_compared(comparison) if comparison.scored_tasks else []
    return {name: comparison.score_interquartile(name) for name in names}


def estimate_above(comparison: Comparison) -> dict[tuple[str, str], Estimate]:
    """How likely a run of the first ends above one of the second, for each pair."""
    pairs = combinations(_list_compared(comparison), 2)
    found = {pair: comparison.compare(*pair) for pair in pairs}
    return {pair: estimate for pair, estimate in found.items() if estimate is not None}


def write_overall(comparison: Comparison) -> list[Table]:
    def show(found: Estimate) -> list[str]:
        interval = show_interval(found) if comparison.has_intervals else "too few seeds"
        return [show_number(found.value), interval]

    scores = [[name, *show(found)] for name, found in estimate_scores(comparison).items()]
    above = [
        [f"{first} above {second}", *show(found)]
        for (first, second), found in estimate_above(comparison).items()
    ]
    tables = [
        (OF_SCORES, ["Algorithm", OF_SCORES, "95% interval"], scores),
        (ABOVE, ["Run", "Probability", "95% interval"], above),
    ]
    return [one for one in tables if one[2]]


def describe_overall(comparison: Comparison) -> dict[str, Any]:
    """The same numbers, and those of the profiles that are drawn; nothing where there are none."""
    is_sure = comparison.has_intervals

    def tell(found: Estimate) -> dict[str, Any]:
        return {"value": found.value, "ci95": [found.low, found.high] if is_sure else None}

    scores = {name: tell(found) for name, found in estimate_scores(comparison).items()}
    above: dict[str, dict[str, Any]] = {}
    for (first, second), found in estimate_above(comparison).items():
        above.setdefault(first, {})[second] = tell(found)
    bands = {name: comparison.draw_profile(name) for name in choose_profiled(comparison)}
    profiles = {
        name: {
            "share": band.mean.tolist(),
            "ci95": [band.low.tolist(), band.high.tolist()] if is_sure else None,
        }
        for name, band in bands.items()
    }
    if not above and not profiles:
        return {}
    return {
        "scored_tasks": comparison.scored_tasks,
        "interquartile_mean": scores,
        "probability_of_improvement": above,
        "performance_profile": {"scores": PROFILE.round(6).tolist(), "algorithms": profiles},
    }


def say_scores(comparison: Comparison) -> str:
    left_out = [task for task in comparison.tasks if task not in comparison.scored_tasks]
    words = (
        "A score is 0 for the untrained policies of a task and 1 for the mean of the algorithm "
        "that is best there."
    )
    if left_out:
        names = ", ".join(map(shorten_task, left_out))
        words += f" Not scored (one was not trained there, or none is clearly above 0): {names}."
    return words


def _list_compared(comparison: Comparison) -> list[str]:
    names = comparison.trained
    return names if 2 <= len(names) <= WIDEST else []
