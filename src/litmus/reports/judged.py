"""The section of an evaluator that was fitted: its card, and what it says of the runs' policies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.records import RunRecord
from litmus.errors import BadInput
from litmus.evaluators.base import Estimate
from litmus.evaluators.kernel import KernelEvaluator
from litmus.judging.card import KINDS, LINEAGES, TIMES
from litmus.judging.compare import find_opinion
from litmus.judging.subjects import find_judge
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.reports.html import note, show_number, table
from litmus.reports.sections import Sections

MOST_COMPARED = 8
INTRODUCTION = (
    "An evaluator that was fitted to measured policies says what each run's policy is worth, "
    "without an episode. Its card says how far such numbers were right for policies that it had "
    "not learned from; intervals should hold 90% of the returns."
)


@dataclass(frozen=True)
class Verdicts:
    """What an evaluator says of the policies of runs."""

    card: Mapping[str, Any]
    records: Sequence[RunRecord]
    estimate: Estimate
    problems: Sequence[str] = ()
    """Why policies of other runs could not be asked."""


def judge_runs(path: Path | str, records: Sequence[RunRecord]) -> Verdicts:
    """BadInput where it is no evaluator of `litmus fit`, or for none of these runs."""
    judge = find_judge(path)
    evaluator = judge.evaluator
    if not isinstance(evaluator, KernelEvaluator) or not evaluator.is_calibrated:
        raise BadInput(f"{path} is not an evaluator that was fitted")
    task = judge.require_task().task
    judged = [one for one in records if one.run is not None and one.task == task]
    if not judged:
        raise BadInput(f"{path} judges policies of {task}, and no run is one of that task")
    policies, asked, problems = [], [], []
    for one in judged:
        assert one.run is not None
        try:
            policies.append(one.run.policy)
            asked.append(one)
        except BadInput as error:
            problems.append(f"run {one.name}: {error}")
    if not asked:
        raise BadInput(problems[0])
    return Verdicts(evaluator.card, asked, evaluator.predict(policies), problems)


def add_judged(sections: Sections, verdicts: Verdicts) -> None:
    shown = [draw_held_out(verdicts.card), draw_scores(verdicts)]
    body = write_card(verdicts.card) + sections.draw(shown)
    body += write_scores(verdicts) + write_comparisons(verdicts)
    body += note(verdicts.problems, "What could not be judged") if verdicts.problems else ""
    sections.add("judged", "Judged by a fitted evaluator", INTRODUCTION, body)


def write_card(card: Mapping[str, Any]) -> str:
    rows = []
    for kind in KINDS:
        found = card["held_out"].get(kind)
        if found is not None:
            names = ("policies", "spearman", "error", "guessing_error", "coverage", "width")
            rows.append([escape(kind), *(show_number(found[name]) for name in names)])
    head = ("asked about", "policies", "Spearman", "error", "guessing", "coverage", "width")
    return table(head, rows, "The evaluator's card", range(1, len(head)))


def draw_held_out(card: Mapping[str, Any]) -> Chart | None:
    held_out = card["held_out"]
    sample = held_out.get(LINEAGES, held_out.get(TIMES, {})).get("sample")
    if not sample:
        return None
    cloud = Series("policies", sample["measured"], sample["predicted"], kind="points")
    panel = Panel("predicted", [cloud], has_diagonal=True)
    return Chart(
        "judged-held-out",
        "Lineages never seen",
        "Each dot is a policy of a training that the evaluator had not learned from when it was "
        "asked. On the dashed line it predicts what was measured.",
        [View("policies", "measured return", [panel])],
    )


def draw_scores(verdicts: Verdicts) -> Chart:
    mean, low, high = bounds(verdicts.estimate)
    order = np.argsort(mean)
    places = np.arange(1, len(order) + 1)
    measured = [verdicts.records[place].final_return for place in order]
    series = [
        Series("predicted, with its interval", places, mean[order], low[order], high[order]),
        Series(
            "measured",
            places,
            [np.nan if one is None else one for one in measured],
            kind="points",
            color=1,
        ),
    ]
    return Chart(
        "judged-scores",
        "Scores and intervals",
        "The runs' policies, the least first, beside the return that was measured at the end of "
        "each training.",
        [View("policies", "policy, by predicted return", [Panel("return", series)])],
    )


def write_scores(verdicts: Verdicts) -> str:
    mean, low, high = bounds(verdicts.estimate)
    assert verdicts.estimate.familiarity is not None
    rows = [
        [
            escape(record.name),
            show_number(float(mean[place])),
            f"{show_number(float(low[place]))} to {show_number(float(high[place]))}",
            f"{float(verdicts.estimate.familiarity[place]):.2f}",
            show_number(record.final_return),
        ]
        for place, record in enumerate(verdicts.records)
    ]
    head = ("run", "predicted", "90% interval", "familiarity", "measured")
    return table(head, rows, "What each policy is worth", range(1, len(head)))


def write_comparisons(verdicts: Verdicts) -> str:
    """How probably the policy of a row is better than that of a column."""
    records = verdicts.records[:MOST_COMPARED]
    if len(records) < 2:
        return ""

    def compare(one: int, other: int) -> str:
        if one == other:
            return "–"
        pair = [one, other]
        parts = (verdicts.estimate.mean, verdicts.estimate.low, verdicts.estimate.high)
        opinion = find_opinion(Estimate(*(part[pair] for part in parts if part is not None)))
        return "–" if opinion is None else f"{100 * opinion:.0f}%"

    rows = [
        [escape(record.name), *(compare(one, other) for other in range(len(records)))]
        for one, record in enumerate(records)
    ]
    head = ("run", *(record.name for record in records))
    caption = "How probably the policy of the row is better than that of the column"
    return table(head, rows, caption, range(1, len(head)))


def bounds(estimate: Estimate) -> tuple[Any, Any, Any]:
    """Mean, low and high, as arrays [B]."""
    assert estimate.low is not None
    assert estimate.high is not None
    return estimate.mean.numpy(), estimate.low.numpy(), estimate.high.numpy()
