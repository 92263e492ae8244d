"""Transitions on disk: appended as they are seen, so that a checkpoint only says how many count.

Rows of float32, each with its CRC, lie in files that are named after their first row. A file that
no checkpoint needs any more is removed as a whole; nothing is ever written again.
"""

from __future__ import annotations

import os
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.files import open_plain

NAME = "transitions-{:012d}.bin"
CRC_BYTES = 4


class TransitionLog:
    """Rows of `width` numbers, counted from 0."""

    def __init__(self, folder: Path, width: int, rows_per_file: int) -> None:
        self.folder, self.width, self.rows_per_file = folder, width, rows_per_file
        self._row = np.dtype([("numbers", "<f4", (width,)), ("crc", "<u4")])
        self._file: BinaryIO | None = None
        self._room = 0
        """Rows that the open file still takes."""

    def append(self, first: int, rows: NDArray[np.float32]) -> None:  # [N, width]
        """Rows that follow those there are, which are `first`."""
        while len(rows):
            if not self._room:
                self._open_next(first)
            some, rows = rows[: self._room], rows[self._room :]
            packed = np.empty(len(some), self._row)
            packed["numbers"] = some
            packed["crc"] = _checksum(packed["numbers"], first)
            assert self._file is not None
            self._file.write(packed.tobytes())
            self._file.flush()
            self._room -= len(some)
            first += len(some)

    def sync(self) -> None:
        """Bring what was appended to the disk, before a checkpoint counts on it."""
        if self._file is not None:
            os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
        self._file, self._room = None, 0

    def read(self, first: int, end: int) -> NDArray[np.float32]:  # [end - first, width]
        """The rows from `first` to before `end`; BadInput where one is missing or damaged."""
        rows = np.empty((end - first, self.width), dtype=np.float32)
        read = first
        for start, path in self._list_files():
            if read < end and start <= read:
                packed = self._read_file(path)[read - start : end - start]
                numbers = np.ascontiguousarray(packed["numbers"])
                if not np.array_equal(packed["crc"], _checksum(numbers, read)):
                    raise BadInput(f"{path} is damaged: a checksum does not match")
                rows[read - first : read - first + len(numbers)] = numbers
                read += len(numbers)
        if read < end:
            raise BadInput(f"{self.folder} lacks transitions: number {read} of {end} is not there")
        return rows

    def cut(self, end: int) -> None:
        """Forget the rows from `end` on; the next ones follow there."""
        self.close()
        for start, path in self._list_files():
            if start >= end:
                path.unlink()
            else:
                with open_plain(path, "ab") as file:
                    size = (end - start) * self._row.itemsize
                    file.truncate(min(size, file.tell()))

    def forget(self, before: int) -> None:
        """Remove the files that hold only rows before this one."""
        for (_, path), (following, _) in pairwise(self._list_files()):
            if following <= before:
                path.unlink(missing_ok=True)

    def _open_next(self, first: int) -> None:
        """The file that row `first` goes to: the last one, where it has room, or a new one."""
        self.sync()
        self.close()
        files = self._list_files()
        start, path = files[-1] if files else (first, self.folder / NAME.format(first))
        if first - start >= self.rows_per_file:
            start, path = first, self.folder / NAME.format(first)
        self.folder.mkdir(exist_ok=True)
        self._file = open_plain(path, "ab")
        self._room = self.rows_per_file - (first - start)

    def _list_files(self) -> list[tuple[int, Path]]:
        """First row and path of each, in order."""
        found = [
            (int(path.stem.rpartition("-")[2]), path)
            for path in self.folder.glob("transitions-*.bin")
            if path.stem.rpartition("-")[2].isdecimal()
        ]
        return sorted(found)

    def _read_file(self, path: Path) -> NDArray[Any]:
        """Its whole rows."""
        try:
            with open_plain(path, "rb") as file:
                data = file.read()
        except OSError as error:
            raise BadInput(f"{path} cannot be read: {error.strerror}") from error
        whole = len(data) // self._row.itemsize
        return np.frombuffer(data, self._row, whole)


def _checksum(numbers: NDArray[np.float32], first: int) -> NDArray[np.uint32]:
    """Of each row and its number: one that was moved is noticed."""
    return np.array(
        [
            zlib.crc32(row.tobytes(), number & 0xFFFFFFFF)
            for number, row in enumerate(numbers, start=first)
        ],
        dtype=np.uint32,
    )
