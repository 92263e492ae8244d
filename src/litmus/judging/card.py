"""An evaluator's card: how far it is right, on policies that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.analysis.statistics import rank_correlation, spread_evenly

Floats = NDArray[np.float64]

KNOWN = "policies held out of known lineages"
LINEAGES = "lineages never seen"
ARCHITECTURES = "architectures never seen"
ALGORITHMS = "algorithms never seen"
TIMES = "other times of the one lineage"
KINDS = (KNOWN, LINEAGES, TIMES, ARCHITECTURES, ALGORITHMS)

BEST = (1, 3, 10)
GUESSING_WIDTH = 3.29
"""Standard deviations from end to end of a 90% interval around the mean."""
MOST_SHOWN = 300


@dataclass(frozen=True)
class Answers:
    """What was said of policies that belong together, beside what they earned."""

    group: str
    """Their lineage, architecture or algorithm."""
    measured: Floats  # [B]
    predicted: Floats  # [B]
    low: Floats  # [B]
    high: Floats  # [B]
    distances: Floats  # [B]


def describe(groups: Sequence[Answers]) -> dict[str, Any]:
    """The mean over the groups of each measure; pooled ones over all policies."""
    measured, predicted, low, high = (
        np.concatenate([getattr(one, name) for one in groups])
        for name in ("measured", "predicted", "low", "high")
    )
    each = [describe_one(one) for one in groups]
    means: dict[str, Any] = {}
    for name in each[0]:
        values = [one[name] for one in each if one[name] is not None]
        means[name] = float(np.mean(values)) if values else None
    means["policies"] = len(measured)
    means["spearman_pooled"] = rank_correlation(predicted, measured)
    means["coverage"] = float(np.mean((low <= measured) & (measured <= high)))
    means["sample"] = draw_sample(measured, predicted)
    means["groups"] = {
        one.group: {name: values[name] for name in ("policies", "spearman", "error", "coverage")}
        for one, values in zip(groups, each, strict=True)
    }
    return means


def draw_sample(measured: Floats, predicted: Floats) -> dict[str, list[float]]:
    """Some of the policies, for a figure."""
    places = spread_evenly(len(measured), MOST_SHOWN)
    return {
        "measured": [float(f"{one:.5g}") for one in measured[places]],
        "predicted": [float(f"{one:.5g}") for one in predicted[places]],
    }


def describe_one(answers: Answers) -> dict[str, Any]:
    measured, predicted = answers.measured, answers.predicted
    found: dict[str, Any] = {
        "policies": len(measured),
        "error": float(np.sqrt(np.mean((predicted - measured) ** 2))),
        "guessing_error": float(np.std(measured)),
        "spearman": rank_correlation(predicted, measured),
        "kendall": kendall(predicted, measured),
        "coverage": float(np.mean((answers.low <= measured) & (measured <= answers.high))),
        "width": float(np.mean(answers.high - answers.low)),
        "distance": float(np.mean(answers.distances)),
    }
    for count in BEST:
        found[f"regret@{count}"] = regret(predicted, measured, count)
        found[f"share_of_best@{count}"] = share_of_best(predicted, measured, count)
        found[f"earned@{count}"] = mean_of_chosen(predicted, measured, count)
        found[f"possible@{count}"] = mean_of_chosen(measured, measured, count)
    return found


def kendall(first: Floats, second: Floats) -> float | None:
    """Kendall's τ-b; None where one side does not vary."""
    count = len(first)
    a, b = np.triu_indices(count, 1)
    one, other = np.sign(first[a] - first[b]), np.sign(second[a] - second[b])
    varying = np.sqrt(float(np.abs(one).sum()) * float(np.abs(other).sum()))
    return float((one * other).sum() / varying) if varying else None


def mean_of_chosen(predicted: Floats, measured: Floats, count: int) -> float | None:
    """What the best `count` by prediction earn, on average."""
    if len(measured) < count:
        return None
    return float(measured[np.argsort(-predicted, kind="stable")[:count]].mean())


def regret(predicted: Floats, measured: Floats, count: int) -> float | None:
    """How much more the best `count` there are earn than the best `count` by prediction."""
    possible = mean_of_chosen(measured, measured, count)
    earned = mean_of_chosen(predicted, measured, count)
    return None if possible is None or earned is None else possible - earned


def share_of_best(predicted: Floats, measured: Floats, count: int) -> float | None:
    """From 0, what guessing gives, to 1, the best that there are."""
    lost = regret(predicted, measured, count)
    if lost is None:
        return None
    possible = float(np.sort(measured)[-count:].mean() - measured.mean())
    return 1 - lost / possible if possible > 0 else None


def show_card(card: dict[str, Any]) -> list[str]:
    """For people: one line for each kind of policy that was held out."""
    lines = [f"{'':27} policies Spearman error (guessing) coverage width"]
    for kind in KINDS:
        found = card["held_out"].get(kind)
        if found is None:
            continue
        spearman = "–" if found["spearman"] is None else f"{found['spearman']:.2f}"
        errors = f"{found['error']:.3g} ({found['guessing_error']:.3g})"
        name = kind.removeprefix("policies ")
        lines.append(
            f"{name:27} {found['policies']:8,} {spearman:>8} {errors:>16} "
            f"{found['coverage']:8.2f} {found['width']:5.3g}"
        )
    return lines


def find_doubts(card: dict[str, Any]) -> list[str]:
    """What speaks against trusting it, in words for people."""
    doubts = []
    if not card["intervals_hold_for_other_lineages"]:
        doubts.append(
            "one lineage only: nothing tells how far intervals hold for policies of others"
        )
    for kind in (LINEAGES, TIMES):
        found = card["held_out"].get(kind)
        if found is not None and found["width"] >= GUESSING_WIDTH * found["guessing_error"]:
            doubts.append(
                f"intervals for {kind} are as wide as if their mean were guessed: it cannot tell "
                "such policies apart yet; more policies of more lineages help"
            )
    return doubts
