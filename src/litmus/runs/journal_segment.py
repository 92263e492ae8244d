"""Rounds that follow each other, in two files: what a journal is made of.

A round is one appended row of `rounds.bin` (θ as float32, then the normaliser's mean and std as
float64) and one line of `rounds.jsonl` (first episode, noise, returns, steps, the row's CRC and
the line's own).
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.files import checksum_line, open_plain, parse_json, read_plain
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Outcome, Round


class Segment:
    """Appends rounds, from the one with the number `first` on, and reads them back."""

    def __init__(self, directory: Path, first: int, num_params: int, state_size: int) -> None:
        name = f"rounds-{first:08d}" if first else "rounds"
        self.rows_path = directory / f"{name}.bin"
        self.lines_path = directory / f"{name}.jsonl"
        self.first = first
        self.num_params = num_params
        self.state_size = state_size
        self._rows: BinaryIO | None = None
        self._lines: BinaryIO | None = None

    @property
    def row_bytes(self) -> int:
        return 4 * self.num_params + 16 * self.state_size

    def append(self, round_: Round) -> None:
        if self._rows is None or self._lines is None:
            self.rows_path.parent.mkdir(exist_ok=True)
            self._rows = open_plain(self.rows_path, "ab")
            self._lines = open_plain(self.lines_path, "ab")
        row = b"".join(
            (
                round_.flat_params.astype("<f4").tobytes(),
                round_.normalizer.mean.astype("<f8").tobytes(),
                round_.normalizer.std.astype("<f8").tobytes(),
            )
        )
        line = {
            "round": round_.number,
            "first_episode": round_.first_episode,
            "noise": round_.noise,
            "antithetic": round_.antithetic,
            "most_steps": round_.most_steps,
            "crc32": zlib.crc32(row),
            "steps": [outcome.steps for outcome in round_.episodes],
            "returns": [outcome.return_ for outcome in round_.episodes],
            "training_returns": [outcome.training_return for outcome in round_.episodes],
        }
        line["line_crc32"] = checksum_line(line)
        self._rows.write(row)
        self._rows.flush()
        self._lines.write((json.dumps(line, allow_nan=False) + "\n").encode())
        self._lines.flush()

    def sync(self) -> None:
        """Bring what was appended to the disk, before a checkpoint counts on it."""
        for file in (self._rows, self._lines):
            if file is not None:
                os.fsync(file.fileno())

    def close(self) -> None:
        for file in (self._rows, self._lines):
            if file is not None:
                file.close()
        self._rows = self._lines = None

    def read(self, count: int | None = None, skipped: int = 0) -> Iterator[Round]:
        """Read and verify the first `count` rounds, or all whole ones, but for the first few that
        are `skipped`."""
        lines = self._read_lines()[:count]
        rows = self._map_rows(len(lines))
        for place in range(skipped, len(rows)):
            line, number = _parse_line(lines[place]), self.first + place
            if (
                line is None
                or line["round"] != number
                or line.get("crc32") != zlib.crc32(rows[place])
            ):
                raise BadInput(f"round {number} in {self.rows_path.parent} is damaged")
            yield self._unpack(rows[place], line)

    def cut(self, count: int) -> None:
        """Forget everything after the first `count` rounds."""
        self.close()
        lines = b"".join(line + b"\n" for line in self._read_lines()[:count])
        for path, size in ((self.rows_path, count * self.row_bytes), (self.lines_path, len(lines))):
            with open_plain(path, "ab") as file:
                file.truncate(size)

    def remove(self) -> None:
        self.close()
        for path in (self.rows_path, self.lines_path):
            path.unlink(missing_ok=True)

    def _read_lines(self) -> list[bytes]:
        try:
            return read_plain(self.lines_path).split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        except OSError as error:
            raise BadInput(f"{self.lines_path} cannot be read: {error.strerror}") from error

    def _map_rows(self, most: int) -> NDArray[np.uint8]:  # [rounds, bytes]
        try:
            with open_plain(self.rows_path, "rb") as file:
                whole = min(most, os.fstat(file.fileno()).st_size // self.row_bytes)
                if whole:
                    return np.memmap(file, np.uint8, "r", shape=(whole, self.row_bytes))
        except FileNotFoundError:
            pass
        except OSError as error:
            raise BadInput(f"{self.rows_path} cannot be read: {error.strerror}") from error
        return np.empty((0, self.row_bytes), np.uint8)

    def _unpack(self, row: NDArray[np.uint8], line: dict[str, Any]) -> Round:
        params_end, mean_end = 4 * self.num_params, 4 * self.num_params + 8 * self.state_size
        return Round(
            line["round"],
            row[:params_end].view("<f4"),
            Normalizer(
                row[params_end:mean_end].copy().view("<f8"), row[mean_end:].copy().view("<f8")
            ),
            line["noise"],
            line["first_episode"],
            [
                Outcome(*values)
                for values in zip(
                    line["returns"], line["training_returns"], line["steps"], strict=True
                )
            ],
            line["antithetic"],
            line.get("most_steps"),
        )


def _parse_line(line: bytes) -> dict[str, Any] | None:
    """None for a line that is not as it was written, or that nobody would write."""
    try:
        parsed = parse_json(line)
    except ValueError:
        return None
    if not isinstance(parsed, dict) or parsed.pop("line_crc32", None) != checksum_line(parsed):
        return None
    return parsed if _is_round(parsed) else None


def _is_round(line: dict[str, Any]) -> bool:
    lists: list[Any] = [line.get(name) for name in ("steps", "returns", "training_returns")]
    if not all(isinstance(one, list) for one in lists):
        return False
    steps, returns, training_returns = lists
    return (
        len(steps) == len(returns) == len(training_returns)
        and all(map(_is_count, (line.get("round"), line.get("first_episode"), *steps)))
        and all(one is None or _is_number(one) for one in (*returns, *training_returns))
        and _is_number(line.get("noise"))
        and isinstance(line.get("antithetic"), bool)
        and (line.get("most_steps") is None or _is_count(line["most_steps"]))
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**48


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308
