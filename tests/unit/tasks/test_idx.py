"""IDX files: read whole or refused by name."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from litmus.errors import BadInput
from litmus.tasks.idx import read_idx, write_idx

ARRAYS = [
    np.arange(24, dtype=np.uint8).reshape(2, 3, 4),
    np.array([-3, 7], np.int8),
    np.array([[1, -2], [300, 4]], np.int16),
    np.array([70_000, -1], np.int32),
    np.array([0.5, -1e30], np.float32),
    np.array([0.1], np.float64),
]


@pytest.mark.parametrize("name", ["x-ubyte", "x-ubyte.gz"])
@pytest.mark.parametrize("array", ARRAYS, ids=lambda array: array.dtype.name)
def test_what_is_written_is_read_back(array: np.ndarray, name: str, tmp_path: Path) -> None:
    write_idx(tmp_path / name, array)
    found = read_idx(tmp_path / name)
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


def test_the_bytes_are_those_of_the_format(tmp_path: Path) -> None:
    path = tmp_path / "labels"
    path.write_bytes(bytes([0, 0, 8, 1, 0, 0, 0, 3, 5, 0, 4]))
    assert read_idx(path).tolist() == [5, 0, 4]


def test_every_shortened_file_is_refused_by_name(tmp_path: Path) -> None:
    for name in ("x", "x.gz"):
        write_idx(tmp_path / name, ARRAYS[0])
        whole = (tmp_path / name).read_bytes()
        for length in range(len(whole)):
            (tmp_path / name).write_bytes(whole[:length])
            with pytest.raises(BadInput, match=f"{name} is (not|damaged)"):
                read_idx(tmp_path / name)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html>not found</html>",
        bytes([0, 0, 10, 1, 0, 0, 0, 1, 5]),  # no such type
        bytes([0, 0, 8, 0]),  # no dimension
        bytes([0, 0, 8, 1, 0, 0, 0, 1, 5, 5]),  # one byte too many
        bytes([0, 0, 8, 3]) + b"\xff" * 12,  # more than any memory
    ],
)
def test_what_is_no_such_file_is_refused(data: bytes, tmp_path: Path) -> None:
    for path, content in ((tmp_path / "x", data), (tmp_path / "x.gz", gzip.compress(data))):
        path.write_bytes(content)
        with pytest.raises(BadInput, match="is not"):
            read_idx(path)


def test_what_the_format_cannot_hold_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="int64"):
        write_idx(tmp_path / "x", np.zeros(2, np.int64))
