"""The replay buffer: which policies it keeps, and how often each is drawn."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from litmus.algorithms.buffer import Buffer, DeviceTable, Recency, RowBlocks

CPU = torch.device("cpu")


@pytest.fixture(params=[RowBlocks, DeviceTable])
def make(request: pytest.FixtureRequest):
    """A buffer with each kind of storage: a GPU's works on the CPU too, only more slowly."""

    def make_buffer(capacity: int, num_params: int) -> Buffer:
        buffer = Buffer(capacity, num_params, CPU)
        buffer.storage = request.param(capacity, num_params, CPU)
        return buffer

    return make_buffer


def fill(buffer: Buffer, count: int, first: int = 0, at_once: int = 3) -> None:
    """Policy n is all n, and so is its return; stored a few at a time, as rounds are."""
    numbers = np.arange(first, first + count, dtype=np.float32)
    for start in range(0, count, at_once):
        piece = numbers[start : start + at_once]
        policies = np.repeat(piece[:, None], buffer.storage.num_params, axis=1)
        buffer.add(policies, piece.tolist(), [0] * len(piece))


def draw_returns(buffer: Buffer, draws: int, recency: float, size: int = 50) -> np.ndarray:
    """The returns of `draws` drawn policies, each as often as its weight says."""
    drawn = []
    for slots in buffer.draw(draws // size, size, Recency(recency), np.random.default_rng(0)):
        batch = buffer.select(torch.from_numpy(slots))
        counts = np.rint(batch.weights.numpy() * size).astype(int)
        assert counts.sum() == size
        drawn.append(np.repeat(batch.returns.numpy(), counts))
    return np.concatenate(drawn)


@pytest.mark.parametrize("stored", [3, 10, 27])
@pytest.mark.parametrize("recency", [0.0, 0.5, 1.1, 3.0])
def test_draws_follow_one_over_age_to_the_k(make, recency: float, stored: int) -> None:
    """Chi-square against the stated law; 27 policies in 10 places: the ring has turned."""
    buffer = make(10, 3)
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


def test_by_rounds_all_policies_of_a_round_are_drawn_alike(make) -> None:
    buffer = make(10, 3)
    for number, count in ((4, 6), (5, 1), (7, 3)):  # six in round 4, none in round 6
        returns = [float(number)] * count
        buffer.add(np.zeros((count, 3), np.float32), returns, [number] * count)
    ages = np.array([1, 1, 1, 3, 4, 4, 4, 4, 4, 4])
    assert buffer._weigh(Recency(2.0, "round")) == pytest.approx(ages**-2.0)
    mean, _ = buffer.describe_returns(Recency(2.0, "round"))
    assert mean == pytest.approx(np.average([7, 7, 7, 5, *[4] * 6], weights=ages**-2.0))


def test_a_batch_is_as_large_as_was_asked_for_and_its_weights_sum_to_one(make) -> None:
    buffer = make(10, 3)
    fill(buffer, 4)
    slots = buffer.draw(7, 16, Recency(1.1), np.random.default_rng(0))
    assert slots.shape == (7, 16)
    for row in slots:
        batch = buffer.select(torch.from_numpy(row))
        assert len(batch.rows) == len(batch.returns) == len(batch.weights)
        assert batch.weights.sum().item() == pytest.approx(1)


def test_both_kinds_of_storage_give_the_same_weighted_batch() -> None:
    """A policy drawn twice: once with twice the weight, or twice."""
    sums = []
    for storage in (RowBlocks, DeviceTable):
        buffer = Buffer(10, 3, CPU)
        buffer.storage = storage(10, 3, CPU)
        fill(buffer, 25)
        batch = buffer.select(torch.tensor([3, 3, 3, 7, 0]))
        sums.append(sum(w * torch.cat([row, r[None]]) for w, row, r in zip_batch(batch)))
    torch.testing.assert_close(sums[0], sums[1])


def zip_batch(batch):
    return zip(batch.weights, batch.rows, batch.returns, strict=True)


def test_the_newest_overwrite_the_oldest(make) -> None:
    buffer = make(4, 2)
    fill(buffer, 11)
    assert len(buffer) == 4
    assert set(draw_returns(buffer, 2000, recency=0.0).tolist()) == {7.0, 8.0, 9.0, 10.0}


def test_a_round_larger_than_the_buffer_leaves_its_last_policies(make) -> None:
    buffer = make(4, 2)
    fill(buffer, 11, at_once=11)
    assert set(draw_returns(buffer, 2000, recency=0.0).tolist()) == {7.0, 8.0, 9.0, 10.0}


def test_a_policy_comes_back_with_its_own_return(make) -> None:
    buffer = make(50, 5)
    fill(buffer, 73)
    batch = buffer.select(torch.arange(50))
    for _, row, return_ in zip_batch(batch):
        assert row.shape == (5,)
        assert (row == return_).all()


def test_a_buffer_filled_anew_draws_as_the_one_it_stands_for(make) -> None:
    """After a resume the overwritten policies are counted, not stored."""
    grown, refilled = make(5, 2), make(5, 2)
    fill(grown, 13)
    refilled.skip(8)
    fill(refilled, 5, first=8)
    assert np.array_equal(draw_returns(grown, 500, 1.1), draw_returns(refilled, 500, 1.1))


def test_memory_grows_with_what_is_stored(make) -> None:
    """10,000 policies of 70,000 floats are 2.8 GB: they must not be claimed at once."""
    buffer = make(10_000, 70_000)
    fill(buffer, 3)
    assert 3 * 4 * 70_000 <= count_bytes(vars(buffer.storage).values()) < 100e6
    assert draw_returns(buffer, 100, 0.0).max() == 2.0


def count_bytes(values) -> int:
    """Of all arrays among them. What the process has in use would tell less: its most was perhaps
    reached by an earlier test, and memory that is claimed is not yet in use."""
    return sum(
        count_bytes(value) if isinstance(value, list) else getattr(value, "nbytes", 0)
        for value in values
    )


def fill_rounds(buffer: Buffer, sizes: list[int]) -> None:
    """Rounds of so many policies; the return of each is 100 times its round, plus its place."""
    for number, size in enumerate(sizes):
        returns = [100.0 * number + place for place in range(size)]
        policies = np.zeros((size, buffer.storage.num_params), np.float32)
        buffer.add(policies, returns, [number] * size)


def test_a_batch_of_one_round_holds_each_of_its_policies_once(make) -> None:
    buffer = make(100, 2)
    fill_rounds(buffer, [4, 4, 4])
    slots = buffer.draw_rounds(30, 4, Recency(0.0), np.random.default_rng(0))
    assert {tuple(sorted(one)) for one in slots.tolist()} == {
        (0, 1, 2, 3),
        (4, 5, 6, 7),
        (8, 9, 10, 11),
    }


def test_a_round_that_lost_policies_fills_its_batch_with_those_it_has(make) -> None:
    buffer = make(10, 2)
    fill_rounds(buffer, [8, 1, 3])  # of the first round, two are overwritten
    slots = buffer.draw_rounds(50, 4, Recency(0.0), np.random.default_rng(0))
    kinds = {frozenset(one) for one in slots.tolist()}
    assert frozenset({8}) in kinds
    assert frozenset({9, 0, 1}) in kinds
    assert all(len(one) == 4 for one in kinds if not one & {8, 9, 0, 1})


def test_rounds_are_drawn_with_the_weight_of_their_newest_policy(make) -> None:
    buffer = make(100, 2)
    fill_rounds(buffer, [4, 4])
    slots = buffer.draw_rounds(4000, 4, Recency(1.0), np.random.default_rng(0))
    share = float((slots.min(axis=1) >= 4).mean())
    assert share == pytest.approx(1 / (1 + 1 / 5), abs=0.03)  # ages 1 and 5


def test_the_spread_within_rounds_leaves_out_what_rounds_differ_by(make) -> None:
    buffer = make(100, 2)
    fill_rounds(buffer, [2, 2])  # 0 1, 100 101
    mean, spread = buffer.describe_returns_in_rounds(Recency(0.0))
    assert (mean, spread) == (50.5, 0.5)
    assert buffer.oldest_round == 0
    assert make(3, 2).oldest_round is None
