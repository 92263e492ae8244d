"""metrics.jsonl: one JSON object a line, `event` first."""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import Any, BinaryIO

Event = dict[str, Any]


class MetricsFile:
    """Appends events; can be cut back to an earlier size when a run is resumed."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("ab")

    @property
    def size(self) -> int:
        """Bytes written so far."""
        return self._file.tell()

    def write(self, event: str, **values: Any) -> Event:
        line: Event = {
            "event": event,
            **{key: finite_or_none(value) for key, value in values.items()},
        }
        self._file.write((json.dumps(line, allow_nan=False) + "\n").encode())
        self._file.flush()
        return line

    def sync(self) -> None:
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def read_metrics(path: Path) -> list[Event]:
    """Read all whole lines; a last line cut off by a crash, or a damaged one, is left out."""
    events = []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError:
        return []
    for line in lines:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and "event" in event:
            events.append(event)
    return events


def finite_or_none(value: Any) -> Any:
    """JSON has no NaN: what is not finite becomes null."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [finite_or_none(item) for item in value]
    return value
