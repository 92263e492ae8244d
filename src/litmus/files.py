"""Files that are either old or new, never half written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from litmus.errors import BadInput

if TYPE_CHECKING:
    from torch import Tensor, nn

Module = TypeVar("Module", bound="nn.Module")


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically: under another name, to the disk, then renamed."""
    temporary = path.with_name(path.name + ".tmp")
    try:
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    text = json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    write_bytes(path, text.encode())


def read_json(path: Path) -> dict[str, Any]:
    """Read one JSON object; BadInput says what is wrong with the file."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise BadInput(f"{path} is not JSON: {error}") from error
    if not isinstance(data, dict):
        raise BadInput(f"{path} does not hold a JSON object")
    return data


def write_tensors(
    path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None
) -> bytes:
    """Write a safetensors file atomically and return what was written."""
    from safetensors.torch import save

    separate: dict[str, Tensor] = {}
    memory: set[int] = set()
    for name, tensor in tensors.items():
        plain = tensor.detach().cpu().contiguous()
        start = plain.untyped_storage().data_ptr()
        separate[name] = plain.clone() if start in memory else plain  # the format wants no sharing
        memory.add(start)
    data: bytes = save(separate, dict(metadata) if metadata else None)
    write_bytes(path, data)
    return data


def load_module(path: Path, what: str, version: int, build: Callable[[Any], Module]) -> Module:
    """Build a module from the JSON beside `path` and fill it with the tensors in `path`."""
    import safetensors
    from safetensors.torch import load_file

    description = read_json(path.with_suffix(".json"))
    if description.get("format") != version:
        raise BadInput(f"{path}: {what} of format {description.get('format')}, not {version}")
    try:
        module = build(description)
        module.load_state_dict(load_file(path))
    except (KeyError, TypeError, RuntimeError, OSError, json.JSONDecodeError) as error:
        raise BadInput(f"{path} is not {what} that fits its description: {error}") from error
    except safetensors.SafetensorError as error:
        raise BadInput(f"{path} is damaged: {error}") from error
    return module
