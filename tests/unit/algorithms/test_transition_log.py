"""Transitions in files: what was appended is what is read, and anything else is noticed."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from harness import flip
from hypothesis import given
from hypothesis import strategies as st

from litmus.algorithms.transition_log import TransitionLog
from litmus.errors import BadInput


def make_rows(first: int, count: int) -> np.ndarray:
    """Every row says which it is."""
    return np.arange(first, first + count, dtype=np.float32)[:, None] + np.zeros(3, np.float32)


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=12),
    st.integers(1, 7),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_after_a_cut_the_rows_are_those_that_followed(
    blocks: list[int], rows_per_file: int, cut: int, first: int
) -> None:
    total = sum(blocks)
    cut, first = min(cut, total), min(first, total)
    with tempfile.TemporaryDirectory() as folder:
        log, stored = TransitionLog(Path(folder), 3, rows_per_file), 0
        for count in blocks:
            log.append(stored, make_rows(stored, count))
            stored += count
        log.sync()
        log = TransitionLog(Path(folder), 3, rows_per_file)  # another process
        np.testing.assert_array_equal(log.read(first, total), make_rows(first, total - first))
        log.cut(cut)
        log.append(cut, make_rows(cut, 5))
        np.testing.assert_array_equal(log.read(0, cut + 5), make_rows(0, cut + 5))
        log.forget(first)
        kept = min(first, cut + 5)
        np.testing.assert_array_equal(log.read(kept, cut + 5), make_rows(kept, cut + 5 - kept))
        log.close()


@pytest.fixture
def log(tmp_path: Path) -> TransitionLog:
    made = TransitionLog(tmp_path, 3, rows_per_file=4)
    made.append(0, make_rows(0, 10))
    return made


@pytest.mark.parametrize("position", range(0, 64, 3))
def test_any_flipped_bit_is_noticed(position: int, log: TransitionLog, tmp_path: Path) -> None:
    path = sorted(tmp_path.iterdir())[1]
    path.write_bytes(flip(path.read_bytes(), position))
    with pytest.raises(BadInput, match=path.name):
        log.read(0, 10)


def test_files_that_changed_places_are_noticed(log: TransitionLog, tmp_path: Path) -> None:
    first, second, _ = sorted(tmp_path.iterdir())
    one, other = first.read_bytes(), second.read_bytes()
    first.write_bytes(other)
    second.write_bytes(one)
    with pytest.raises(BadInput, match="damaged"):
        log.read(0, 10)


def test_a_missing_file_is_noticed(log: TransitionLog, tmp_path: Path) -> None:
    sorted(tmp_path.iterdir())[1].unlink()
    with pytest.raises(BadInput, match="lacks transitions: number 4 of 10"):
        log.read(0, 10)
    assert len(log.read(8, 10)) == 2


def test_files_of_old_rows_alone_are_removed(log: TransitionLog, tmp_path: Path) -> None:
    log.forget(7)
    assert [path.name for path in sorted(tmp_path.iterdir())] == [
        "transitions-000000000004.bin",
        "transitions-000000000008.bin",
    ]
    log.forget(1000)  # the last one is still written to
    assert len(list(tmp_path.iterdir())) == 1
