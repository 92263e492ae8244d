"""Running statistics against numpy on all observations at once."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from litmus.algorithms.running_normalizer import RunningNormalizer
from litmus.tasks.base import Moments


@given(st.integers(0, 2**32 - 1), st.lists(st.integers(1, 20), min_size=1, max_size=8), st.data())
def test_merging_episodes_in_any_order_equals_numpy_on_all_of_them(seed, lengths, data) -> None:
    """Each of N observations goes through at most N sums, the roundings of a merge among them a
    few each: a mean is off by less than ε = 8 N u of the largest number M. A spread is off by less
    than 2 ε: by ε for the mean that it is measured from, and by its own sums, which are of numbers
    no larger than M² for a root that is no larger than M."""
    generator = np.random.default_rng(seed)
    episodes = [generator.normal(5, 3, size=(length, 2)) for length in lengths]
    running = RunningNormalizer.empty(2)
    for episode in data.draw(st.permutations(episodes)):
        running.merge(Moments.of(episode))
    everything = np.concatenate(episodes).astype(np.longdouble)
    assert running.count == len(everything)
    epsilon = 8 * len(everything) * 2.0**-53 * np.abs(everything).max()
    spread = np.sqrt(running.squared_deviations / running.count)
    np.testing.assert_allclose(running.mean, everything.mean(axis=0), rtol=0, atol=epsilon)
    np.testing.assert_allclose(spread, everything.std(axis=0), rtol=0, atol=2 * epsilon)


def test_a_small_spread_around_a_large_mean_is_not_lost() -> None:
    """The textbook formula, mean of squares less squared mean, gives nonsense here."""
    observations = np.random.default_rng(0).normal(1e8, 1e-1, size=(1000, 1))
    running = RunningNormalizer.empty(1)
    for piece in np.split(observations, 10):
        running.merge(Moments.of(piece))
    assert running.freeze().std[0] == pytest.approx(observations.std(), rel=1e-6)


def test_a_component_that_never_varies_is_centred_and_not_blown_up() -> None:
    running = RunningNormalizer.empty(2)
    running.merge(Moments.of(np.array([[3.0, 1.0], [3.0, 2.0]])))
    frozen = running.freeze()
    assert frozen.mean[0] == 3.0
    assert frozen.std.tolist() == [1.0, 0.5]


def test_before_the_first_episode_nothing_is_changed() -> None:
    frozen = RunningNormalizer.empty(3).freeze()
    assert frozen.mean.tolist() == [0.0] * 3
    assert frozen.std.tolist() == [1.0] * 3


def test_what_was_frozen_stays_as_it_was() -> None:
    running = RunningNormalizer.empty(1)
    running.merge(Moments.of(np.array([[1.0], [3.0]])))
    frozen = running.freeze()
    running.merge(Moments.of(np.array([[100.0]])))
    assert frozen.mean[0] == 2.0


def test_observations_that_count_as_fewer_say_the_same_with_less_weight() -> None:
    """Four times the same ones, as a quarter each, are these once."""
    first, more = np.random.default_rng(0).normal(size=(2, 8, 3))
    weighed, once = RunningNormalizer.empty(3), RunningNormalizer.empty(3)
    for running in (weighed, once):
        running.merge(Moments.of(first))
    for _ in range(4):
        weighed.merge(Moments.of(more), share=0.25)
    once.merge(Moments.of(more))
    assert weighed.count == once.count == 16
    np.testing.assert_allclose(weighed.mean, once.mean)
    np.testing.assert_allclose(weighed.freeze().std, once.freeze().std)
