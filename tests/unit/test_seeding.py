"""Every random number is a function of (run seed, stream, index)."""

from __future__ import annotations

import itertools

import numpy as np

from litmus.seeding import Stream, make_generator, perturb


def test_the_same_key_gives_the_same_numbers() -> None:
    first = make_generator(3, Stream.TRAINING, 7).random(5)
    make_generator(3, Stream.TRAINING, 8).random(100)
    assert np.array_equal(make_generator(3, Stream.TRAINING, 7).random(5), first)


def test_seeds_streams_and_indices_do_not_share_numbers() -> None:
    keys = list(itertools.product((0, 1, 2**32 - 1), Stream, (0, 1, 2, 10**9)))
    first_numbers = {make_generator(*key).integers(2**63) for key in keys}
    assert len(first_numbers) == len(keys)


def test_neighbouring_streams_are_not_correlated() -> None:
    numbers = np.array([make_generator(0, Stream.TRAINING, i).random(200) for i in range(200)])
    correlations = np.corrcoef(numbers)[np.triu_indices(200, 1)]
    assert abs(correlations.mean()) < 0.005
    assert np.std(correlations) < 1.2 / np.sqrt(200)


def test_the_numbers_never_change_between_versions() -> None:
    """A run started with an older version must resume exactly: these are part of the format."""
    assert [int(make_generator(1, s, 5).integers(1000)) for s in Stream] == [
        990,
        102,
        353,
        84,
        82,
        310,
        668,
        892,
        733,
        469,
        399,
        935,
    ]
    assert {s.name: s.value for s in Stream} == {
        "INITIALIZATION": 0,
        "PERTURBATION": 1,
        "TRAINING": 2,
        "EVALUATION": 3,
        "BATCHES": 4,
        "MEASUREMENT": 5,
        "SELECTION": 6,
        "EXPLORATION": 7,
        "FIT": 8,
        "JUDGING": 9,
        "REMEASUREMENT": 10,
        "VERIFICATION": 11,
    }


def test_perturbations_never_change_between_versions() -> None:
    """History keeps indices, not policies: another stream would rebuild other policies."""
    perturbed = perturb(np.linspace(-1, 1, 6, dtype=np.float32), 0.05, seed=7, episode_index=12_345)
    assert [float(number).hex() for number in perturbed] == [
        "-0x1.d7ba6a0000000p-1",
        "-0x1.4dc9580000000p-1",
        "-0x1.0074bc0000000p-2",
        "0x1.ba09400000000p-3",
        "0x1.63a4dc0000000p-1",
        "0x1.e8cf6e0000000p-1",
    ]


def test_a_perturbation_is_gaussian_with_the_stated_spread_and_leaves_theta_alone() -> None:
    theta = np.ones(50_000, np.float32)
    perturbed = perturb(theta, 0.05, seed=0, episode_index=3)
    assert (theta == 1).all()
    assert perturbed.dtype == np.float32
    epsilon = perturbed - theta
    assert abs(epsilon.mean()) < 0.001
    assert abs(epsilon.std() - 0.05) < 0.001
    assert abs(np.mean(epsilon**4) / epsilon.var() ** 2 - 3) < 0.1  # kurtosis of a Gaussian


def test_a_worker_rebuilds_a_perturbation_from_its_index_alone() -> None:
    theta = np.zeros(10, np.float32)
    assert np.array_equal(perturb(theta, 0.1, 5, 12_345), perturb(theta, 0.1, 5, 12_345))
    assert not np.array_equal(perturb(theta, 0.1, 5, 12_345), perturb(theta, 0.1, 5, 12_346))
    assert not np.array_equal(perturb(theta, 0.1, 5, 12_345), perturb(theta, 0.1, 6, 12_345))
