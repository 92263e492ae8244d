"""Checkpoints: atomic, verified, the last two kept.

`round-00000042.safetensors` holds a tree of nested mappings: its tensors by their paths, the plain
values as JSON in the metadata. `round-00000042.sha256` is written last and makes it count. A torn
or altered one is noticed, and the one before it used.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from litmus.errors import BadInput, one_line
from litmus.files import parse_json, read_plain, write_bytes, write_tensors

if TYPE_CHECKING:
    from torch import Tensor

FORMAT = 7
SEPARATOR = "/"
KEPT = 2
SECONDS_TO_WAIT = 0.5


@dataclass(frozen=True)
class Checkpoint:
    path: Path
    tree: dict[str, Any]


class DamagedCheckpointError(Exception):
    """The message says how it was noticed."""


def write_checkpoint(directory: Path, number: int, tree: Mapping[str, Any]) -> None:
    """Write a checkpoint and remove all but the last two."""
    path = directory / name_checkpoint(number)
    values, tensors = split_tree(tree)
    metadata = {"format": str(FORMAT), "values": json.dumps(values, allow_nan=False)}
    data = write_tensors(path, tensors, metadata)
    write_bytes(path.with_suffix(".sha256"), hashlib.sha256(data).hexdigest().encode())
    for old in list_checkpoints(directory)[KEPT:]:
        old.with_suffix(".sha256").unlink(missing_ok=True)
        old.unlink(missing_ok=True)


def name_checkpoint(number: int) -> str:
    return f"round-{number:08d}.safetensors"


def forget_newer(checkpoint: Path) -> None:
    """Remove the checkpoints that could not be used: the rounds they are of are run again."""
    for path in list_checkpoints(checkpoint.parent):
        if path.name > checkpoint.name:
            path.with_suffix(".sha256").unlink(missing_ok=True)
            path.unlink(missing_ok=True)


def list_checkpoints(directory: Path) -> list[Path]:
    """Checkpoint files, newest first; one that left only its checksum behind is among them."""
    found = [*directory.glob("round-*.safetensors"), *directory.glob("round-*.sha256")]
    return sorted({path.with_suffix(".safetensors") for path in found}, reverse=True)


def read_checkpoint(path: Path) -> Checkpoint:
    """Read and verify one; raises DamagedCheckpointError, or BadInput for another version's."""
    data, metadata = _read_verified(path)
    if metadata.get("format") != str(FORMAT):
        raise BadInput(
            f"{path} was written by another version of litmus (checkpoint format "
            f"{metadata.get('format')}; this one reads {FORMAT})"
        )
    return Checkpoint(path, _read_tree(metadata, data))


def read_newest_values(directory: Path) -> dict[str, Any] | None:
    """The plain values of the newest checkpoint that is whole; its tensors are not looked at."""
    for path in list_checkpoints(directory):
        try:
            values = parse_json(_read_verified(path)[1]["values"])
        except (DamagedCheckpointError, KeyError, TypeError, ValueError):
            continue
        return values if isinstance(values, dict) else None
    return None


def _read_verified(path: Path) -> tuple[bytes, dict[str, str]]:
    """What a checkpoint file holds, and its metadata."""
    try:
        data = read_plain(path)
        expected = read_plain(path.with_suffix(".sha256"))
    except OSError as error:
        raise DamagedCheckpointError(f"{error.strerror}: {error.filename}") from error
    if hashlib.sha256(data).hexdigest().encode() != expected.strip():
        raise DamagedCheckpointError("its checksum does not match")
    return data, _read_metadata(data)


def _read_tree(metadata: dict[str, str], data: bytes) -> dict[str, Any]:
    """The checksum matches: what is wrong now was written that way."""
    import safetensors
    from safetensors.torch import load

    try:
        return join_tree(parse_json(metadata["values"]), load(data))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise DamagedCheckpointError(f"it holds no state: {one_line(error)}") from error
    except safetensors.SafetensorError as error:
        raise DamagedCheckpointError(one_line(error)) from error


def read_newest_first(
    directory: Path, *, may_be_written: bool = False
) -> Iterator[Checkpoint | tuple[Path, str]]:
    """Each checkpoint, or the path and what is wrong with it. `may_be_written`: the newest one, by
    a run that is at work."""
    for place, path in enumerate(list_checkpoints(directory)):
        if may_be_written and place == 0 and path.exists():
            _wait_for_checksum(path)
        try:
            yield read_checkpoint(path)
        except DamagedCheckpointError as error:
            yield path, str(error)


def _wait_for_checksum(path: Path) -> None:
    """It comes last, at once behind the checkpoint itself."""
    latest = time.monotonic() + SECONDS_TO_WAIT
    while not path.with_suffix(".sha256").exists() and time.monotonic() < latest:
        time.sleep(SECONDS_TO_WAIT / 50)


def split_tree(tree: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """The plain values, still nested, and the tensors by their paths."""
    from torch import Tensor

    values: dict[str, Any] = {}
    tensors: dict[str, Tensor] = {}
    for name, value in tree.items():
        if SEPARATOR in name:
            raise ValueError(f"a name in a checkpoint cannot hold '{SEPARATOR}': {name}")
        if isinstance(value, Tensor):
            tensors[name] = value
        elif isinstance(value, Mapping):
            values[name], below = split_tree(value)
            tensors |= {f"{name}{SEPARATOR}{path}": tensor for path, tensor in below.items()}
        else:
            values[name] = value
    return values, tensors


def join_tree(values: dict[str, Any], tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """What `split_tree` split."""
    for path, tensor in tensors.items():
        *parents, name = path.split(SEPARATOR)
        place = values
        for parent in parents:
            place = place[parent]
        place[name] = tensor
    return values


def _read_metadata(data: bytes) -> dict[str, str]:
    length = int.from_bytes(data[:8], "little")
    try:
        metadata = parse_json(data[8 : 8 + length])["__metadata__"]
    except (LookupError, TypeError, ValueError) as error:
        raise DamagedCheckpointError(f"it holds no state: {one_line(error)}") from error
    if not isinstance(metadata, dict) or not all(isinstance(v, str) for v in metadata.values()):
        raise DamagedCheckpointError("it holds no state")
    return metadata
