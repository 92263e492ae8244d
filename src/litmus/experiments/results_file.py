"""A file of results, such as results/mnist.json: entries by name, each added by one experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from litmus.errors import BadInput, option
from litmus.files import read_json, to_text, write_bytes


def read_results(path: Path) -> dict[str, dict[str, Any]]:
    """What `add_result` wrote; BadInput where the file holds something else, such as the table of a
    grid (`table_file.py`), which could not be filled any more."""
    found = read_json(path, f"; name another {option('results')}")
    for group in found.values():
        entries = group.values() if isinstance(group, dict) else [None]
        if any(not isinstance(one, dict) or "iqm" in one for one in entries):
            raise BadInput(
                f"{path} does not hold what this experiment writes there; name another "
                f"{option('results')}"
            )
    return found


def add_result(path: Path, group: str, name: str, entry: Mapping[str, Any]) -> None:
    """Put an entry into the file, in the place of an older one; the others stay."""
    known = read_results(path) if path.exists() else {}
    known[group] = {**known.get(group, {}), name: dict(entry)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, to_text(known, indent=1).encode())
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error
