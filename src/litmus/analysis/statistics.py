"""How sure we are: means with ranges or bootstrap intervals, rank correlation, common curves.

Intervals are percentiles of resampled statistics. With few values they are too narrow: those of a
mean of normal numbers hold the truth 84% of the time with 5 values, 90% with 10, 92% with 20.
"""

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
MOST_FLIPPED = 14
"""Values whose signs are tried in every combination."""
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


def standard_deviation(values: Sequence[float]) -> float | None:
    """Of the distribution that the values are drawn from; one value says nothing about it."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else None


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
    groups = _read_strata(strata)
    generator = np.random.default_rng(seed)
    drawn = np.concatenate(
        [group[generator.integers(group.size, size=(resamples, group.size))] for group in groups],
        axis=1,
    )
    low, high = _find_interval(statistic(drawn), confidence)
    return Estimate(float(statistic(np.concatenate(groups))), float(low), float(high))


def summarize(values: Sequence[float]) -> Estimate:
    """Interquartile mean with an interval; of fewer than five values, their mean and range."""
    if len(values) >= FEWEST_FOR_INTERVAL:
        return stratified_bootstrap([values])
    return summarize_range(values)


def summarize_mean(values: Sequence[float]) -> Estimate:
    """The mean with its bootstrap interval, as the paper gives it; of fewer than five values, their
    range."""
    if len(values) >= FEWEST_FOR_INTERVAL:
        return stratified_bootstrap([values], statistic=mean)
    return summarize_range(values)


def summarize_range(values: Sequence[float]) -> Estimate:
    """The mean, the lowest and the highest."""
    return Estimate(float(mean(values)), min(values), max(values), is_range=True)


def probability_of_improvement(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike], seed: int = 0
) -> Estimate:
    """How likely a run of the first algorithm ends above one of the second, on a task of chance.

    Each has one stratum of values per task, in the same order; a tie counts half.
    """
    generator = np.random.default_rng(seed)
    values, resampled = [], []
    for ours, theirs in zip(_read_strata(first), _read_strata(second), strict=True):
        wins = (ours[:, None] > theirs) + 0.5 * (ours[:, None] == theirs)  # [N, M]
        values.append(wins.mean())
        our_shares = _draw_shares(generator, ours.size)  # [R, N]
        their_shares = _draw_shares(generator, theirs.size)  # [R, M]
        resampled.append(((our_shares @ wins) * their_shares).sum(axis=1))
    low, high = _find_interval(np.mean(resampled, axis=0))
    return Estimate(float(np.mean(values)), float(low), float(high))


def compute_sign_flip_p(differences: Sequence[float], seed: int = 0) -> float:
    """How likely the mean is as high as this if each difference had either sign alike: one-sided,
    over all signs, or over some drawn at random where there are too many."""
    values = np.asarray(differences, dtype=np.float64)
    if values.size <= MOST_FLIPPED:
        numbers = np.arange(2**values.size)[:, None] >> np.arange(values.size)
        signs = 1.0 - 2.0 * (numbers & 1)  # the first row has none flipped
    else:
        generator = np.random.default_rng(seed)
        signs = generator.choice([-1.0, 1.0], size=(2**MOST_FLIPPED, values.size))
        signs[0] = 1.0
    means = signs @ values
    tolerance = 1e-9 * float(np.abs(values).sum())  # sums of the same numbers in another order
    return float(np.mean(means >= means[0] - tolerance))


def performance_profile(strata: Sequence[ArrayLike], thresholds: ArrayLike, seed: int = 0) -> Band:
    """Which share of runs scores above each threshold, every task counting alike."""
    generator, grid = np.random.default_rng(seed), np.asarray(thresholds, dtype=np.float64)
    shares, resampled = [], []
    for scores in _read_strata(strata):
        above = (scores[:, None] > grid).astype(np.float64)  # [N, G]
        shares.append(above.mean(axis=0))
        resampled.append(_draw_shares(generator, scores.size) @ above)  # [R, G]
    low, high = _find_interval(np.mean(resampled, axis=0))
    return Band(grid, np.mean(shares, axis=0), low, high)


def _read_strata(strata: Sequence[ArrayLike]) -> list[Floats]:
    groups = [np.asarray(stratum, dtype=np.float64).ravel() for stratum in strata]
    groups = [group for group in groups if group.size]
    if not groups:
        raise ValueError("no values to estimate from")
    return groups


def _draw_shares(generator: np.random.Generator, size: int) -> Floats:  # [R, size]
    """Resamples of `size` values, each as the share that every value has in it."""
    chosen = generator.integers(size, size=(RESAMPLES, size))
    places = chosen + size * np.arange(RESAMPLES)[:, None]
    counts = np.bincount(places.ravel(), minlength=RESAMPLES * size)
    return np.asarray(counts.reshape(RESAMPLES, size) / size)


def _find_interval(resampled: Floats, confidence: float = CONFIDENCE) -> Floats:  # [R, …]
    """What leaves out as many of the resampled statistics below as above.  [2, …]"""
    tail = (1 - confidence) / 2
    return np.asarray(np.quantile(resampled, [tail, 1 - tail], axis=0))


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
    shares = _draw_shares(np.random.default_rng(seed), len(curves))
    low, high = _find_interval(shares @ values)
    return Band(grid, values.mean(axis=0), low, high)


def spread_evenly(count: int, most: int) -> NDArray[np.int64]:
    """Places of at most so many of `count` things, from the first to the last."""
    return np.linspace(0, count - 1, min(count, most)).round().astype(np.int64)
