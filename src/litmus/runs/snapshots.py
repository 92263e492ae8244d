"""How the probing states moved: `history/probing.bin`, one row per snapshot.

A row is the number of steps (float64), a CRC of the rest, and the probing states in normalised
coordinates (float32).
"""

from __future__ import annotations

import logging
import os
import zlib
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.files import open_plain, read_plain

logger = logging.getLogger("litmus")


def append_snapshot(path: Path, steps: int, states: NDArray[np.float32]) -> None:
    row = np.zeros(1, _row_type(states.shape))
    row["steps"], row["states"] = steps, states
    row["crc32"] = _checksum(row[0])
    with open_plain(path, "ab") as file:
        file.write(row.tobytes())


def cut_snapshots(path: Path, count: int, state_shape: tuple[int, ...]) -> None:
    """Forget everything after the first `count` snapshots of states [K, *state].

    Where fewer can be read, training goes on all the same: nothing is learned from them.
    """
    rows = _read_rows(path, state_shape)[:count]
    damaged = _find_damaged(rows)
    whole = len(rows) if damaged is None else damaged
    if whole < count:
        logger.warning("%s: only %d of its first %d snapshots can be read", path, whole, count)
    if path.exists():
        os.truncate(path, whole * rows.itemsize)


def read_snapshots(
    path: Path, state_shape: tuple[int, ...], least: int = 0
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return steps [S] and states [S, K, *state] of all whole rows; BadInput where one is damaged,
    or where they are fewer than `least`."""
    rows = _read_rows(path, state_shape)
    damaged = _find_damaged(rows)
    if damaged is not None:
        raise BadInput(f"snapshot {damaged} in {path} is damaged")
    if len(rows) < least:
        raise BadInput(f"{path} holds {len(rows)} of the {least} snapshots it should hold")
    return rows["steps"].copy(), rows["states"].copy()


def _read_rows(path: Path, state_shape: tuple[int, ...]) -> NDArray[np.void]:
    row = _row_type(state_shape)
    try:
        data = read_plain(path)
    except FileNotFoundError:
        data = b""
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    return np.frombuffer(data, row, count=len(data) // row.itemsize)


def _find_damaged(rows: NDArray[np.void]) -> int | None:
    """The first row that is not as it was written, or not in its place."""
    for number, row in enumerate(rows):
        is_later = number == 0 or row["steps"] > rows[number - 1]["steps"]
        if int(row["crc32"]) != _checksum(row) or not is_later:
            return number
    return None


def _checksum(row: np.void) -> int:
    return zlib.crc32(row["states"].tobytes(), zlib.crc32(row["steps"].tobytes()))


def _row_type(state_shape: tuple[int, ...]) -> np.dtype[np.void]:
    return np.dtype([("steps", "<f8"), ("crc32", "<u4"), ("states", "<f4", state_shape)])
