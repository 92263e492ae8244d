"""How sure an evaluator is: familiarity, and intervals that hold for lineages never seen.

Both are learned from policies of lineages that were left out, each judged by an evaluator that had
not seen its lineage:

    distance d      of a fingerprint from the nearest one learned from, as the root of the mean
                    squared difference of probing actions (for bounded ones, in half ranges)
    familiarity   = share of the left-out policies that were at least as far away
    interval      = V ± quantile · √(floor² + spread² + (slope · d)²),   spread: of nearby returns

`floor` and `slope` make the errors as normal as they can be made; the quantile is the one that,
found without a lineage, covers 90% of that lineage's errors, on average over lineages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

CONFIDENCE = 0.9
FLOORS = np.geomspace(0.02, 1.0, 14)
SLOPES = np.concatenate([[0.0], np.geomspace(0.1, 30.0, 16)])
"""Of the standard deviation of the returns, per unit of distance."""
LEVELS = np.linspace(0.9, 0.99, 19)
MOST_DISTANCES = 512
LEAST_SLOPE = 0.5
"""Even where left-out lineages show none: what is far from all of them must not look certain."""


@dataclass(frozen=True)
class LeftOut:
    """Policies of one lineage, judged by an evaluator that never saw it; in standard deviations of
    the returns."""

    errors: Floats  # [B], predicted - measured
    spreads: Floats  # [B]
    distances: Floats  # [B]


@dataclass(frozen=True)
class Calibration:
    floor: float
    slope: float
    quantile: float
    distances: Floats  # sorted

    def widths(self, spreads: Floats, distances: Floats) -> Floats:
        """Half of each interval, in standard deviations of the returns."""
        return self.quantile * scale(self.floor, self.slope, spreads, distances)


def scale(floor: float, slope: float, spreads: Floats, distances: Floats) -> Floats:
    return np.sqrt(floor**2 + spreads**2 + (slope * distances) ** 2)


def calibrate(lineages: Sequence[LeftOut]) -> Calibration:
    """From lineages that were left out; each counts alike, whatever its number of policies."""
    errors, spreads, distances = (
        np.concatenate([getattr(one, name) for one in lineages])
        for name in ("errors", "spreads", "distances")
    )
    weights = np.concatenate([np.full(len(one.errors), 1 / len(one.errors)) for one in lineages])
    weights /= weights.sum()
    best, found = np.inf, (1.0, LEAST_SLOPE)
    for floor in FLOORS:
        for slope in SLOPES[SLOPES >= LEAST_SLOPE]:
            scales = scale(floor, slope, spreads, distances)
            size = np.sqrt((weights * (errors / scales) ** 2).sum())  # likeliest common factor
            likelihood = (weights * np.log(scales * size)).sum()
            if likelihood < best:
                best, found = likelihood, (float(floor), float(slope))
    floor, slope = found
    scores = [
        np.abs(one.errors) / scale(floor, slope, one.spreads, one.distances) for one in lineages
    ]
    quantile = find_quantile(scores, choose_level(scores))
    sample = np.quantile(distances, np.linspace(0, 1, min(MOST_DISTANCES, len(distances))))
    return Calibration(floor, slope, quantile, sample)


def choose_level(scores: Sequence[Floats]) -> float:
    """The quantile, of all lineages but one, that covers 90% of that one, on average over which.

    It is above 0.9, since lineages differ: more so, the fewer there are.
    """
    if len(scores) < 3:
        return float(LEVELS[-1])
    for level in LEVELS:
        covered = []
        for place, left in enumerate(scores):
            others = [*scores[:place], *scores[place + 1 :]]
            covered.append(np.mean(left <= find_quantile(others, level)))
        if np.mean(covered) >= CONFIDENCE:
            break
    return float(level)


def find_quantile(scores: Sequence[Floats], level: float) -> float:
    """Of all scores, each lineage counting alike."""
    weights = np.concatenate([np.full(len(one), 1 / len(one)) for one in scores])
    return weighted_quantile(np.concatenate(scores), weights, level)


def weighted_quantile(values: Floats, weights: Floats, share: float) -> float:
    order = np.argsort(values)
    reached = np.cumsum(weights[order]) / weights.sum()
    place = min(int(np.searchsorted(reached, share)), len(values) - 1)
    return float(values[order][place])
