"""A file of results, such as results/mnist.json: entries by name, each added by one experiment."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from litmus.errors import BadInput
from litmus.files import read_json, to_text, write_bytes


def add_result(path: Path, group: str, name: str, entry: Mapping[str, Any]) -> None:
    """Put an entry into the file, in the place of an older one; the others stay."""
    known = read_json(path) if path.exists() else {}
    of_group = known.get(group, {})
    if not isinstance(of_group, dict):
        raise BadInput(f"{path} does not hold what litmus writes there")
    known[group] = {**of_group, name: dict(entry)}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, to_text(known, indent=1).encode())
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error
