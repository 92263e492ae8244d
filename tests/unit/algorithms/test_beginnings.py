"""Where learning begins: the best of all policies near several untrained ones."""

from __future__ import annotations

import numpy as np
import pytest

from litmus.algorithms.beginnings import FINALISTS, Beginnings
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Outcome, Round

SEED = 3
NAN = float("nan")


def make_round(number: int, returns: list[float], noise: float = 0.1) -> Round:
    """Of θ = (number, number), whose perturbations earn these; what is not finite was dropped."""
    flat_params = np.full(2, number, np.float32)
    kept = [one if np.isfinite(one) else None for one in returns]
    outcomes = [Outcome(one, one, 10) for one in kept]
    return Round(number, flat_params, Normalizer.identity((1,)), noise, 100 * number, outcomes)


def take_in(beginnings: Beginnings, measured: Round, wanted: int, done: float) -> None:
    beginnings.take_in(measured.flat_params, *measured.rebuild_kept(SEED), wanted, done)


def look(rounds: list[list[float]], wanted: int = 100, share: float = 0.001) -> Beginnings:
    """Each round takes this share of the run."""
    beginnings = Beginnings.expect(wanted, 2)
    for number, returns in enumerate(rounds):
        assert beginnings.is_looking
        done = share * (number + 1)
        take_in(beginnings, make_round(number, returns), wanted, done)
    return beginnings


@pytest.mark.parametrize("untrained", [5.9, 6.1])
def test_the_best_policies_of_all_rounds_and_an_untrained_one_meet_and_the_best_of_them_begins(
    untrained: float,
) -> None:
    rounds = [[1.0, 9.0], [8.0, 2.0, 7.0], [3.0, 6.0], [0.0, 0.0]]
    beginnings = look(rounds, wanted=4)
    assert not beginnings.is_looking
    assert beginnings.earned.tolist() == [9.0, 8.0, 7.0, 6.0, 17 / 3]
    places = [(0, 1), (1, 0), (1, 2), (2, 1)]
    for number, place in places:
        finalist = make_round(number, rounds[number]).rebuild(SEED, 100 * number + place)
        np.testing.assert_array_equal(beginnings.theta, finalist)
        again = [5.0, 7.0] if (number, place) == (1, 2) else [5.0, NAN]
        assert not beginnings.are_over
        take_in(beginnings, make_round(50, again, noise=0.0), 4, 0.1)
    np.testing.assert_array_equal(beginnings.theta, [1.0, 1.0])  # whose perturbations earned most
    take_in(beginnings, make_round(50, [untrained], noise=0.0), 4, 0.1)
    assert beginnings.are_over
    best = make_round(1, rounds[1]).rebuild(SEED, 102)
    np.testing.assert_array_equal(beginnings.theta, best if untrained < 6.0 else [1.0, 1.0])


def test_a_finalist_without_a_finite_return_is_not_chosen() -> None:
    beginnings = look([[5.0, 4.0], [3.0, 2.0]], wanted=2)
    for returns in ([NAN, NAN], [-9.0], [-7.0, -8.0], [-8.0], [-10.0]):
        take_in(beginnings, make_round(9, returns, noise=0.0), 2, 0.1)
    np.testing.assert_array_equal(beginnings.theta, make_round(0, [5.0, 4.0]).rebuild(SEED, 1))


@pytest.mark.parametrize(
    ("share", "looked_near"), [(0.3, 1), (0.11, 1), (0.1, 2), (0.04, 2), (0.024, 4), (0.001, 9)]
)
def test_looking_takes_a_tenth_of_the_run_or_two_rounds_if_they_fit(
    share: float, looked_near: int
) -> None:
    beginnings, rounds = Beginnings.expect(9, 2), 0
    while beginnings.is_looking:
        rounds += 1
        returns = [float(one) for one in range(FINALISTS)]
        take_in(beginnings, make_round(rounds, returns), 9, rounds * share)
    assert rounds == beginnings.looked_near == looked_near
    assert beginnings.has_choice == (looked_near > 1)
    assert looked_near > 1 or beginnings.are_over  # learning begins with the only one, at once


@pytest.mark.parametrize(
    ("episodes", "share", "finalists"), [(4, 0.05, 4), (2, 0.05, 2), (1, 0.05, 0), (16, 0.1, 5)]
)
def test_finalists_meet_as_far_as_a_third_of_the_run_has_room(
    episodes: int, share: float, finalists: int
) -> None:
    """Two rounds of so many episodes, each of which takes this share of the run."""
    returns = [[float(one) for one in range(first, first + episodes)] for first in (0, 99)]
    beginnings = look(returns, wanted=2, share=share)
    assert beginnings.finalists == finalists
    assert beginnings.are_over == (finalists == 0)
    best = make_round(1, returns[1]).rebuild(SEED, 100 + episodes - 1)
    np.testing.assert_array_equal(beginnings.theta, best)  # who is first to meet, or begins
    again = [1.0, 5.0, 4.0, 3.0, 2.0][
        :finalists
    ]  # all less than what one that does not meet had once
    for one in again:
        take_in(beginnings, make_round(9, [one], noise=0.0), 2, 0.3)
    assert beginnings.are_over
    chosen = make_round(1, returns[1]).rebuild(SEED, 100 + episodes - (2 if again else 1))
    if episodes == 2:  # the mean of both, which the untrained one counts with, comes second
        chosen = np.ones(2, np.float32)
    np.testing.assert_array_equal(beginnings.theta, chosen)


def test_a_single_beginning_has_nothing_to_look_for() -> None:
    assert Beginnings.expect(1, 2).are_over


def test_where_no_return_is_finite_learning_begins_all_the_same() -> None:
    beginnings = look([[NAN, NAN], [NAN]], wanted=2)
    assert beginnings.are_over
    assert beginnings.finalists == 0
    few = look([[NAN, 1.0], [2.0]], wanted=2)
    assert few.finalists == 3  # an untrained one among them
