"""metrics.jsonl: one JSON object per line, `event` first.

Each line ends with its number and a CRC: one that was changed, lost, doubled or moved is noticed.
"""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from litmus.errors import BadInput
from litmus.files import checksum_line, open_plain, parse_json, read_plain

Event = dict[str, Any]

NUMBER, CHECKSUM = "line", "crc32"
TAIL_BYTES = 16_384
MOST_NAMED = 3
"""Damaged lines that are named; of more, the number is told."""


class MetricsFile:
    """Appends events; can be cut back to an earlier size when a run is resumed."""

    def __init__(self, path: Path) -> None:
        lines = _read_lines(_read_data(path))
        self._number = 1 + max((one.number for one in lines if one.event), default=-1)
        self._file: BinaryIO = open_plain(path, "ab")

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell()

    def write(self, event: str, **values: Any) -> Event:
        line: Event = {
            "event": event,
            **{key: finite_or_none(value) for key, value in values.items()},
        }
        numbered = {**line, NUMBER: self._number}
        numbered[CHECKSUM] = checksum_line(numbered)
        self._number += 1
        self._file.write((json.dumps(numbered, allow_nan=False) + "\n").encode())
        self._file.flush()
        return line

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


class Metrics(NamedTuple):
    events: list[Event]
    damaged: list[int]
    """Numbers of the lines that were left out, the first being 1."""
    misplaced: int | None
    """The first line that is not where it was written: others are lost, doubled or moved."""
    size: int
    """Bytes of the file."""

    @property
    def is_finished(self) -> bool:
        return bool(self.events) and self.events[-1]["event"] == "finished"

    def describe_problems(self, least_size: int = 0) -> list[str]:
        """What was noticed, in words. A checkpoint counts on `least_size` bytes."""
        problems = []
        if self.damaged:
            named = ", ".join(map(str, self.damaged[:MOST_NAMED]))
            more = ", …" if len(self.damaged) > MOST_NAMED else ""
            what = "line" if len(self.damaged) == 1 else "lines"
            problems.append(f"{len(self.damaged)} damaged {what} left out ({what} {named}{more})")
        if self.misplaced is not None:
            problems.append(f"lines are lost, doubled or out of order at line {self.misplaced}")
        if self.size < least_size:
            problems.append("it is shorter than its checkpoint says: lines are lost at its end")
        return problems


class _Line(NamedTuple):
    position: int
    """In the file."""
    number: int
    """That it was written with; of a damaged one, its position."""
    event: Event | None
    """None where it is damaged."""


def read_metrics(path: Path) -> list[Event]:
    """All whole lines, in the order in which they were written."""
    return check_metrics(path).events


def read_last_events(path: Path) -> list[Event]:
    """The whole lines at the end of the file: a quick look at a run that may be long."""
    try:
        with open_plain(path, "rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            data = file.read()
    except OSError:
        return []
    return [numbered[1] for line in data.split(b"\n") if (numbered := _parse(line)) is not None]


def check_metrics(path: Path) -> Metrics:
    """Read all whole lines, and find out what is wrong with the others."""
    data = _read_data(path)
    lines = list(_read_lines(data))
    known = {one.number: one.event for one in lines if one.event is not None}
    damaged = [one.position + 1 for one in lines if one.event is None]
    misplaced = [one.position + 1 for one in lines if one.event and one.number != one.position]
    events = [known[number] for number in sorted(known)]
    return Metrics(events, damaged, misplaced[0] if misplaced else None, len(data))


def _read_data(path: Path) -> bytes:
    try:
        return read_plain(path)
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error


def _read_lines(data: bytes) -> Iterator[_Line]:
    lines = data.split(b"\n")
    for position, line in enumerate(lines if lines[-1] else lines[:-1]):
        numbered = _parse(line)
        yield _Line(position, *(numbered if numbered is not None else (position, None)))


def _parse(line: bytes) -> tuple[int, Event] | None:
    try:
        event = parse_json(line)
    except ValueError:
        return None
    if not isinstance(event, dict) or not is_event(event):
        return None
    found = event.pop(CHECKSUM, None)
    if not _is_count(found) or found != checksum_line(event):
        return None
    number = event.pop(NUMBER, None)
    return (number, event) if _is_count(number) else None


def is_event(event: Event) -> bool:
    """Whether the fields that are read again are of their kinds."""
    counts = ("steps", "episodes_done", "round", "dropped")
    returns = event.get("returns", [])
    return (
        isinstance(event.get("event"), str)
        and all(_is_count(event[name]) for name in counts if name in event)
        and _is_number(event.get("wall_s", 0.0))
        and all(
            event.get(name) is None or _is_number(event[name]) for name in ("mean", "training_mean")
        )
        and isinstance(returns, Sequence)
        and not isinstance(returns, str)
    )


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e308


def finite_or_none(value: Any) -> Any:
    """JSON has no NaN: what is not finite becomes null. Numbers of numpy become plain ones."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [finite_or_none(item) for item in value]
    return value
