"""A job's folder that travels from machine to machine, piece by piece, while the job is at work.

Files of a job either grow or are replaced whole. What has grown since the last time is sent before
what was replaced: a checkpoint never arrives before what it counts on, so the copy can go on from
it at any moment.
"""

from __future__ import annotations

import contextlib
import os
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from litmus.files import open_plain, write_bytes
from litmus.runs.directory import LOCK

PIECE_BYTES = 16 * 2**20
TAIL_BYTES = 4096
TRIES = 10


@dataclass(frozen=True)
class Piece:
    """Part of a file. One that begins at its start replaces it."""

    path: str
    start: int
    data: bytes


@dataclass(frozen=True)
class Sent:
    """What the other side has of a file."""

    inode: int
    size: int
    tail: int
    """Checksum of the last bytes: a file that was cut and grew again is not one that grew."""


@dataclass
class Sender:
    """Knows what the other side has of a folder."""

    root: Path
    folder: str = "."
    """The part of `root` that travels."""
    listed: list[str] = field(default_factory=list)
    """Files that there were when it was last packed."""
    _sent: dict[str, Sent] = field(default_factory=dict)

    def pack(self) -> Iterator[list[Piece]]:
        """What has changed, in batches; all of them together bring the copy up to date."""
        whole, grown = self._list_changes()
        for path in grown:
            with contextlib.suppress(FileNotFoundError):  # an old checkpoint, removed meanwhile
                yield from self._pack_growth(path)
        if whole:
            yield whole

    def _list_files(self) -> list[str]:
        found = (path for path in (self.root / self.folder).rglob("*") if path.is_file())
        return sorted(str(path.relative_to(self.root)) for path in found if _travels(path))

    def _list_changes(self) -> tuple[list[Piece], list[str]]:
        """Files that were replaced, read at once, and names of those that have grown.

        Whatever was replaced is read first: what it counts on is then there to be read.
        """
        for _ in range(TRIES):
            try:
                return self._try_to_list()
            except FileNotFoundError:  # an old checkpoint was removed meanwhile
                continue
        return [], []

    def _try_to_list(self) -> tuple[list[Piece], list[str]]:
        whole, grown, read = [], [], {}
        listed = self._list_files()
        for path in listed:
            size, known = (self.root / path).stat().st_size, self._sent.get(path)
            if known is not None and self._begins_as(path, known):
                grown += [path] if size > known.size else []
            elif size > PIECE_BYTES:
                grown.append(path)  # too large to be held: it is sent in pieces, from its start
            else:
                with open_plain(self.root / path, "rb") as file:
                    data = file.read()
                    read[path] = Sent(_find_inode(file), len(data), zlib.crc32(data[-TAIL_BYTES:]))
                whole.append(Piece(path, 0, data))
        self._sent |= read
        self.listed = listed
        return whole, grown

    def _begins_as(self, path: str, known: Sent) -> bool:
        """Whether a file is still what was sent of it, or that and more."""
        start = max(0, known.size - TAIL_BYTES)
        with open_plain(self.root / path, "rb") as file:
            if _find_inode(file) != known.inode:
                return False
            file.seek(start)
            tail = file.read(known.size - start)
        return len(tail) == known.size - start and zlib.crc32(tail) == known.tail

    def _pack_growth(self, path: str) -> Iterator[list[Piece]]:
        known = self._sent.get(path)
        start = known.size if known is not None and self._begins_as(path, known) else 0
        with open_plain(self.root / path, "rb") as file:
            file.seek(start)
            while data := file.read(PIECE_BYTES):
                yield [Piece(path, start, data)]
                start += len(data)
                first = max(0, start - TAIL_BYTES)
                file.seek(first)
                tail = zlib.crc32(file.read(start - first))
                self._sent[path] = Sent(_find_inode(file), start, tail)


def _find_inode(file: BinaryIO) -> int:
    return os.fstat(file.fileno()).st_ino


def receive(root: Path, pieces: Sequence[Piece]) -> None:
    """Put pieces where they belong."""
    for piece in pieces:
        path = root / piece.path
        if not path.resolve().is_relative_to(root.resolve()):
            raise OSError(f"a piece for {piece.path}, outside its folder")
        path.parent.mkdir(parents=True, exist_ok=True)
        if piece.start == 0:
            write_bytes(path, piece.data)
        else:
            _write_at(path, piece.start, piece.data)


def _write_at(path: Path, start: int, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT, 0o666)
    with os.fdopen(descriptor, "wb") as file:
        file.truncate(start)
        file.seek(start)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def forget_others(root: Path, folder: str, known: Sequence[str]) -> None:
    """Remove files of a job's folder that the other side does not have any more."""
    for path in (root / folder).rglob("*"):
        name = str(path.relative_to(root))
        if path.is_file() and _travels(path) and name not in known:
            path.unlink()


def _travels(path: Path) -> bool:
    return path.name != LOCK and path.suffix != ".tmp"
