from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litmus.analysis.statistics import (
    Curve,
    average_curves,
    interquartile_mean,
    mean,
    rank_correlation,
    stratified_bootstrap,
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
