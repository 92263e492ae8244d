from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litmus.analysis.statistics import (
    Curve,
    average_curves,
    compute_sign_flip_p,
    interquartile_mean,
    mean,
    performance_profile,
    probability_of_improvement,
    rank_correlation,
    standard_deviation,
    stratified_bootstrap,
    summarize_mean,
)

numbers = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([5.0], 5.0),
        ([1.0, 3.0], 2.0),
        ([0.0, 1.0, 2.0, 100.0], 1.5),  # one is cut from each end
        ([0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 1000.0], 3.5),
        ([0.0, 10.0, 20.0], 10.0),  # a quarter of three: the outer ones count a quarter each
    ],
)
def test_interquartile_mean_of_known_values(values: list[float], expected: float) -> None:
    assert interquartile_mean(values) == pytest.approx(expected)


@given(numbers)
def test_interquartile_mean_does_not_depend_on_order_and_stays_inside(values: list[float]) -> None:
    found = float(interquartile_mean(values))
    assert found == pytest.approx(float(interquartile_mean(values[::-1])), abs=1e-6)
    tolerance = 1e-6 * max(1.0, *map(abs, values))
    assert min(values) - tolerance <= found <= max(values) + tolerance


def test_one_outlier_does_not_move_the_interquartile_mean() -> None:
    calm = [10.0, 11.0, 12.0, 13.0, 14.0]
    assert float(interquartile_mean([*calm[:-1], 1e9])) == pytest.approx(
        float(interquartile_mean(calm)), rel=0.1
    )


def test_interquartile_mean_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        interquartile_mean([])


def test_bootstrap_interval_holds_the_value_and_is_the_same_every_time() -> None:
    values = np.random.default_rng(3).normal(100, 5, size=30)
    first, second = stratified_bootstrap([values]), stratified_bootstrap([values])
    assert first == second
    assert first.low < first.value < first.high


def test_bootstrap_covers_the_true_mean_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(0)
    hits = 0
    for _ in range(200):
        found = stratified_bootstrap([generator.normal(size=40)], statistic=mean, resamples=400)
        hits += found.low <= 0.0 <= found.high
    assert 175 <= hits <= 200


def test_bootstrap_resamples_within_each_stratum() -> None:
    """Two strata that do not vary: however they are drawn, each keeps its share."""
    found = stratified_bootstrap([[0.0] * 5, [10.0] * 5], statistic=mean)
    assert (found.low, found.value, found.high) == (5.0, 5.0, 5.0)


def test_the_standard_deviation_is_that_of_a_sample() -> None:
    assert standard_deviation([1.0, 2.0, 3.0, 4.0]) == pytest.approx(math.sqrt(5 / 3))
    assert standard_deviation([7.0]) is None


def test_a_mean_has_an_interval_from_five_values_on_and_a_range_below() -> None:
    few, enough = summarize_mean([1.0, 5.0, 3.0]), summarize_mean([1.0, 5.0, 3.0, 2.0, 4.0])
    assert (few.value, few.low, few.high, few.is_range) == (3.0, 1.0, 5.0, True)
    assert 1.0 < enough.low < enough.value == 3.0 < enough.high < 5.0
    assert not enough.is_range


@pytest.mark.parametrize(("count", "lowest", "highest"), [(5, 0.80, 0.88), (20, 0.89, 0.96)])
def test_an_interval_of_the_mean_holds_the_truth_as_often_as_the_module_says(
    count: int, lowest: float, highest: float
) -> None:
    generator = np.random.default_rng(1)
    found = [summarize_mean(generator.normal(size=count).tolist()) for _ in range(600)]
    hits = np.mean([one.low <= 0.0 <= one.high for one in found])
    assert lowest <= hits <= highest


def test_the_interquartile_mean_over_tasks_is_covered_by_its_stratified_interval() -> None:
    """Tasks that differ widely in what is earned: resampling across them would be far too wide."""
    generator, places = np.random.default_rng(2), np.array([-1.0, 0.0, 1.0, 2.0])
    truth = float(interquartile_mean(generator.normal(places[:, None], 0.1, (4, 100_000)).ravel()))
    found = [
        stratified_bootstrap(list(generator.normal(places[:, None], 0.1, (4, 10))), resamples=400)
        for _ in range(300)
    ]
    assert 0.85 <= np.mean([one.low <= truth <= one.high for one in found]) <= 0.99
    assert max(one.high - one.low for one in found) < 0.5


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([[2.0, 3.0]], [[0.0, 1.0]], 1.0),
        ([[1.0, 2.0, 3.0]], [[2.0, 2.0]], 0.5),  # a tie counts half
        ([[1.0, 4.0]], [[2.0, 3.0, 5.0]], 1 / 3),  # 2 of 6 pairs
        ([[9.0], [0.0, 0.0]], [[1.0], [1.0]], 0.5),  # tasks count alike, however many runs
    ],
)
def test_the_probability_of_improvement_counts_pairs_of_runs(
    first: list[list[float]], second: list[list[float]], expected: float
) -> None:
    found = probability_of_improvement(first, second)
    assert found.value == pytest.approx(expected)
    assert found.low <= found.value <= found.high
    assert probability_of_improvement(second, first).value == pytest.approx(1 - expected)


def test_the_probability_of_improvement_is_covered_by_its_interval() -> None:
    generator, hits = np.random.default_rng(4), 0
    truth = 0.5 * (1 + math.erf(0.5))  # P(X > Y) for X ~ N(1, 1), Y ~ N(0, 1)
    for _ in range(200):
        ours, theirs = generator.normal(1, 1, (3, 10)), generator.normal(0, 1, (3, 10))
        found = probability_of_improvement(list(ours), list(theirs))
        hits += found.low <= truth <= found.high
    assert 0.86 <= hits / 200 <= 0.99


def test_a_performance_profile_says_which_share_of_runs_is_above_each_threshold() -> None:
    profile = performance_profile([[0.2, 0.8], [1.0]], [0.0, 0.5, 1.0])
    np.testing.assert_allclose(profile.mean, [1.0, 0.75, 0.0])
    assert (profile.low <= profile.mean).all()
    assert (profile.mean <= profile.high).all()


@given(st.lists(st.lists(st.floats(-2, 2), min_size=1, max_size=6), min_size=1, max_size=4))
def test_a_performance_profile_falls_from_all_runs_to_none(strata: list[list[float]]) -> None:
    profile = performance_profile(strata, np.linspace(-3, 3, 9))
    assert profile.mean[0] == 1.0
    assert profile.mean[-1] == 0.0
    assert (np.diff(profile.mean) <= 1e-12).all()


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ([1, 2, 3, 4], [10, 20, 30, 4000], 1.0),
        ([1, 2, 3, 4], [4, 3, 2, 1], -1.0),
        ([1, 2, 3], [1, 3, 2], 0.5),
        ([1, 2, 2, 3], [1, 2, 2, 3], 1.0),
    ],
)
def test_rank_correlation_of_known_rankings(
    first: list[float], second: list[float], expected: float
) -> None:
    assert rank_correlation(first, second) == pytest.approx(expected)


def test_rank_correlation_does_not_exist_where_nothing_varies() -> None:
    assert rank_correlation([1, 2, 3], [7, 7, 7]) is None
    assert rank_correlation([1], [2]) is None


def test_the_mean_of_curves_lies_between_them_and_ends_with_the_shorter() -> None:
    long = Curve.of([(0, 0.0), (10, 10.0), (20, 20.0)])
    short = Curve.of([(0, 10.0), (10, 20.0)])
    band = average_curves([long, short])
    assert band is not None
    assert band.x[-1] == 10
    np.testing.assert_allclose(band.mean, band.x + 5.0)
    assert (band.low <= band.mean).all()
    assert (band.mean <= band.high).all()


def test_few_curves_have_their_range_as_a_band_and_five_an_interval() -> None:
    curves = [Curve.of([(0, float(n)), (1, 10.0 * n)]) for n in range(5)]
    few, enough = average_curves(curves[:4]), average_curves(curves)
    assert few is not None
    assert enough is not None
    np.testing.assert_array_equal([few.low[0], few.high[0]], [0.0, 3.0])
    np.testing.assert_array_equal([few.low[-1], few.high[-1]], [0.0, 30.0])
    assert 0.0 < enough.low[-1] < enough.mean[-1] < enough.high[-1] < 40.0


def test_equal_curves_have_an_interval_of_no_width() -> None:
    curve = Curve.of([(0, 1.0), (5, 3.0)])
    band = average_curves([curve, curve, curve])
    assert band is not None
    np.testing.assert_allclose(band.low, band.high)


def test_curves_that_do_not_overlap_have_no_mean() -> None:
    assert average_curves([Curve.of([(0, 1.0)]), Curve.of([(5, 1.0), (6, 1.0)])]) is None
    assert average_curves([]) is None


def test_points_of_a_curve_are_put_in_order() -> None:
    curve = Curve.of([(5, 2.0), (1, 1.0), (5, 3.0)])
    assert curve.x.tolist() == [1, 5]
    assert curve.y.tolist() == [1, 3]


def test_a_sign_flip_test_is_wrong_as_often_as_it_says() -> None:
    """Where either sign is as likely, one result in twenty has a p below 0.05, and no more."""
    sizes = np.array([1.0, 2.1, 3.3, 4.6, 6.0, 7.7, 9.5])
    found = np.array([compute_sign_flip_p(sizes * s) for s in product((-1, 1), repeat=7)])
    for level in (0.02, 0.05, 0.1, 0.5):
        assert level - 3 / 2**7 < np.mean(found < level) <= level


def test_a_sign_flip_test_has_known_answers() -> None:
    assert compute_sign_flip_p([1.0, 2.0, 3.0]) == 1 / 8
    assert compute_sign_flip_p([1.0, 2.0, -3.0]) == 5 / 8  # sums of 6, 4, 2, 0 and 0
    assert compute_sign_flip_p([0.0] * 5) == 1.0
    assert compute_sign_flip_p([1.0] * 20) < 1e-3
