"""The replay buffer: which policies it keeps, and how often each is drawn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from litmus.training.buffer import Buffer

CPU = torch.device("cpu")


def fill(buffer: Buffer, count: int, first: int = 0) -> None:
    """Policy n is all n, and so is its return."""
    for number in range(first, first + count):
        buffer.add(np.full(buffer.num_params, number, np.float32), float(number))


def draw_returns(buffer: Buffer, draws: int, recency: float, size: int = 50) -> np.ndarray:
    """The returns of `draws` drawn policies, each as often as it was drawn."""
    generator = np.random.default_rng(0)
    drawn = []
    for batch in buffer.draw_batches(draws // size, size, recency, generator):
        _, returns = buffer.gather(batch.rows)
        drawn.append(np.repeat(returns.numpy(), batch.counts))
    return np.concatenate(drawn)


@pytest.mark.parametrize("stored", [3, 10, 27])
@pytest.mark.parametrize("recency", [0.0, 0.5, 1.1, 3.0])
def test_draws_follow_one_over_age_to_the_k(recency: float, stored: int) -> None:
    """Chi-square against the stated law; 27 policies in 10 places: the ring has turned."""
    buffer = Buffer(10, 3, CPU)
    fill(buffer, stored)
    kept = min(stored, 10)
    ages = np.arange(1, kept + 1)
    expected = ages**-recency / np.sum(ages**-recency)
    drawn = draw_returns(buffer, 20_000, recency)
    counted = np.bincount((stored - drawn).astype(int), minlength=kept + 1)[1:]
    assert len(counted) == kept
    chi_square = np.sum((counted - 20_000 * expected) ** 2 / (20_000 * expected))
    # Mean d, variance 2d: five standard deviations above the mean, far beyond 99.9 %.
    assert chi_square < (kept - 1) + 5 * np.sqrt(2 * (kept - 1))


def test_every_batch_has_the_size_that_was_asked_for() -> None:
    buffer = Buffer(10, 3, CPU)
    fill(buffer, 4)
    batches = buffer.draw_batches(7, 16, 1.1, np.random.default_rng(0))
    assert len(batches) == 7
    for batch in batches:
        assert batch.counts.sum() == 16
        assert len(set(batch.rows.tolist())) == len(batch.rows) == len(batch.counts)


def test_the_newest_overwrite_the_oldest() -> None:
    buffer = Buffer(4, 2, CPU)
    fill(buffer, 11)
    assert len(buffer) == 4
    drawn = draw_returns(buffer, 2000, recency=0.0)
    assert set(drawn.tolist()) == {7.0, 8.0, 9.0, 10.0}


def test_a_policy_comes_back_with_its_own_return() -> None:
    buffer = Buffer(50, 5, CPU)
    fill(buffer, 73)
    rows = np.arange(50)
    policies, returns = buffer.gather(rows)
    assert policies.shape == (50, 5)
    assert torch.equal(policies, returns.unsqueeze(1).expand(50, 5))


def test_what_was_gathered_does_not_change_when_the_buffer_does() -> None:
    buffer = Buffer(2, 3, CPU)
    fill(buffer, 2)
    policies, returns = buffer.gather(np.array([0, 1]))
    fill(buffer, 2, first=10)
    assert policies[:, 0].tolist() == returns.tolist() == [0.0, 1.0]


def test_a_buffer_filled_anew_draws_as_the_one_it_stands_for() -> None:
    """After a resume the overwritten policies are counted, not stored."""
    grown, refilled = Buffer(5, 2, CPU), Buffer(5, 2, CPU)
    fill(grown, 13)
    refilled.skip(8)
    fill(refilled, 5, first=8)
    assert np.array_equal(draw_returns(grown, 500, 1.1), draw_returns(refilled, 500, 1.1))


def test_memory_grows_with_what_is_stored() -> None:
    """10,000 policies of 70,000 floats are 2.8 GB: they must not be claimed at once."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # kB
    buffer = Buffer(10_000, 70_000, CPU)
    fill(buffer, 3)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 300_000
    assert draw_returns(buffer, 100, 0.0).max() == 2.0
