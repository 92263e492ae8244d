"""How sure we are: means with ranges or bootstrap intervals, rank correlation, common curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From resampled values [R, N] to one number a row [R]."""

RESAMPLES = 2000
CONFIDENCE = 0.95
FEWEST_FOR_INTERVAL = 5
"""Fewer values than this say too little about others for an interval: they get their range."""


@dataclass(frozen=True)
class Estimate:
    """A number, and how far what it was made from spreads."""

    value: float
    low: float
    high: float
    is_range: bool = False
    """`low` and `high` are the lowest and the highest value; else a 95% interval of `value`."""


def interquartile_mean(values: ArrayLike) -> Floats:  # [..., N] -> [...]
    """The mean of the middle half: a quarter is cut from each end, fractions counted in part."""
    ordered = np.sort(np.asarray(values, dtype=np.float64), axis=-1)
    count = ordered.shape[-1]
    if count == 0:
        raise ValueError("the interquartile mean of no values does not exist")
    # Value i covers [i, i + 1]; its weight is what of that lies in the middle half.
    edges = np.arange(count + 1)
    inside = np.clip(edges, count / 4, 3 * count / 4)
    weights = np.diff(inside)
    return np.asarray(ordered @ (weights / weights.sum()))


def mean(values: ArrayLike) -> Floats:  # [..., N] -> [...]
    return np.asarray(np.mean(np.asarray(values, dtype=np.float64), axis=-1))


def stratified_bootstrap(
    strata: Sequence[ArrayLike],
    statistic: Statistic = interquartile_mean,
    resamples: int = RESAMPLES,
    confidence: float = CONFIDENCE,
    seed: int = 0,
) -> Estimate:
    """The statistic of all values together; the interval from resampling within each stratum.

    The same input always gives the same interval: the generator is seeded here.
    """
    groups = [np.asarray(stratum, dtype=np.float64).ravel() for stratum in strata]
    groups = [group for group in groups if group.size]
    if not groups:
        raise ValueError("no values to estimate from")
    generator = np.random.default_rng(seed)
    drawn = np.concatenate(
        [group[generator.integers(group.size, size=(resamples, group.size))] for group in groups],
        axis=1,
    )
    tail = (1 - confidence) / 2
    low, high = np.quantile(statistic(drawn), [tail, 1 - tail])
    return Estimate(float(statistic(np.concatenate(groups))), float(low), float(high))


def summarize(values: Sequence[float]) -> Estimate:
    """Interquartile mean with an interval; of fewer than five values, their mean and range."""
    if len(values) >= FEWEST_FOR_INTERVAL:
        return stratified_bootstrap([values])
    return summarize_range(values)


def summarize_range(values: Sequence[float]) -> Estimate:
    """The mean, the lowest and the highest."""
    return Estimate(float(mean(values)), min(values), max(values), is_range=True)


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float | None:
    """Spearman's ρ, ties at their mean rank; None where one side does not vary."""
    a, b = _rank(np.asarray(first)), _rank(np.asarray(second))
    if a.size < 2 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    return float(np.corrcoef(a, b)[0, 1])


def _rank(values: NDArray[np.generic]) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2)[inverse.ravel()], dtype=np.float64)


@dataclass(frozen=True)
class Curve:
    """One run's values over steps or seconds; x rises."""

    x: Floats
    y: Floats

    @staticmethod
    def of(points: Sequence[tuple[float, float]]) -> Curve:
        """From points in any order; of two at the same place the later one counts."""
        ordered = sorted(dict(points).items())
        array = np.array(ordered, dtype=np.float64).reshape(-1, 2)
        return Curve(array[:, 0], array[:, 1])


@dataclass(frozen=True)
class Band:
    """The mean of several curves: with its bootstrap interval, or with the range of few curves."""

    x: Floats
    mean: Floats
    low: Floats
    high: Floats


def average_curves(curves: Sequence[Curve], points: int = 300, seed: int = 0) -> Band | None:
    """Mean over runs on a common grid, no further than the shortest run got.

    The interval resamples whole runs, so it says how another set of runs might have looked. Fewer
    than five curves are too few for that: the band is from the lowest of them to the highest.
    """
    curves = [curve for curve in curves if curve.x.size]
    if not curves:
        return None
    start = max(float(curve.x[0]) for curve in curves)
    end = min(float(curve.x[-1]) for curve in curves)
    if end < start:
        return None
    longest = max(curve.x.size for curve in curves)
    grid = np.linspace(start, end, min(points, max(2, longest))) if end > start else np.array([end])
    values = np.stack([np.interp(grid, curve.x, curve.y) for curve in curves])  # [N, G]
    if len(curves) < FEWEST_FOR_INTERVAL:
        return Band(grid, values.mean(axis=0), values.min(axis=0), values.max(axis=0))
    chosen = np.random.default_rng(seed).integers(len(curves), size=(RESAMPLES, len(curves)))
    counts = (chosen[:, :, None] == np.arange(len(curves))).sum(axis=1) / len(curves)  # [R, N]
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(counts @ values, [tail, 1 - tail], axis=0)
    return Band(grid, values.mean(axis=0), low, high)
