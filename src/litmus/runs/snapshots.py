"""How the probing states moved: `history/probing.bin`, one row per snapshot.

A row is the number of steps (float64) and the probing states in normalised coordinates (float32).
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray


def append_snapshot(path: Path, steps: int, states: NDArray[np.float32]) -> None:
    with path.open("ab") as file:
        file.write(np.float64(steps).tobytes() + states.astype("<f4").tobytes())


def cut_snapshots(path: Path, count: int, state_shape: tuple[int, ...]) -> None:
    """Forget everything after the first `count` snapshots of states [K, *state]."""
    if path.exists():
        os.truncate(path, min(path.stat().st_size, count * _row_type(state_shape).itemsize))


def read_snapshots(
    path: Path, state_shape: tuple[int, ...]
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Return steps [S] and states [S, K, *state] of all whole rows."""
    row = _row_type(state_shape)
    data = path.read_bytes() if path.exists() else b""
    rows = np.frombuffer(data, row, count=len(data) // row.itemsize)
    return rows["steps"].copy(), rows["states"].copy()


def _row_type(state_shape: tuple[int, ...]) -> np.dtype[np.void]:
    return np.dtype([("steps", "<f8"), ("states", "<f4", state_shape)])
