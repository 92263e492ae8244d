"""The compiled perturbation must be numpy's, bit for bit: runs are rebuilt from it."""

from __future__ import annotations

import numpy as np
import pytest

from litmus.native.library import find_library
from litmus.seeding import Stream, make_generator, perturb

pytestmark = pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")


def perturb_by_numpy(flat: np.ndarray, noise: float, seed: int, index: int) -> np.ndarray:
    generator = make_generator(seed, Stream.PERTURBATION, index)
    return generator.standard_normal(len(flat), dtype=np.float32) * np.float32(noise) + flat


@pytest.mark.parametrize(
    ("seed", "index"), [(0, 0), (1, 12_345), (2**32 - 1, 2**40), (2**63, 7), (77, 3)]
)
def test_millions_of_numbers_are_numpys(seed: int, index: int) -> None:
    """Enough for every layer of the ziggurat, its wedges and its tail."""
    zero = np.zeros(3_000_000, np.float32)
    drawn = perturb(zero, 1.0, seed, index)
    assert np.array_equal(drawn, perturb_by_numpy(zero, 1.0, seed, index))
    assert np.abs(drawn).max() > 4  # the tail begins at 3.65


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 511, 512, 513, 70_145])
def test_any_count_is_numpys(count: int) -> None:
    flat = np.linspace(-1, 1, count, dtype=np.float32)
    assert np.array_equal(perturb(flat, 0.05, 3, 4), perturb_by_numpy(flat, 0.05, 3, 4))


def test_parameters_that_lie_apart_are_read_in_order() -> None:
    flat = np.arange(20, dtype=np.float32)
    assert np.array_equal(perturb(flat[::2], 0.1, 1, 2), perturb(flat[::2].copy(), 0.1, 1, 2))
