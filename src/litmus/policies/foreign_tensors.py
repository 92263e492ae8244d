"""Files of tensors that somebody else wrote, read without running anything in them.

Torch files go through `weights_only=True`. Sizes are checked before anything is unpacked: a small
file must not become a large one.
"""

from __future__ import annotations

import io
import math
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import safetensors
import torch
from safetensors.torch import load
from torch import Tensor

from litmus.errors import BadInput, one_line
from litmus.files import open_plain

MOST_BYTES = 2**29
"""Of a file, and of each piece in it: a policy of 512 MB is none that this is for."""
MOST_NUMBERS = 2**27
MOST_TENSORS = 10_000
MOST_ENTRIES = 10_000
WRAPPERS = ("state_dict", "model_state_dict", "policy_state_dict", "model", "policy", "actor")
"""Under which training scripts keep what they save."""


def read_bytes(path: Path) -> bytes:
    """What a plain file holds, if that is not too much."""
    try:
        with open_plain(path, "rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > MOST_BYTES:
        raise BadInput(f"{path} is larger than the {MOST_BYTES // 2**20} MB of a policy")
    return data


def is_zip(path: Path, data: bytes) -> bool:
    try:
        return zipfile.is_zipfile(io.BytesIO(data))
    except Exception as error:  # it is one, and damaged
        raise BadInput(f"{path} is a damaged zip archive: {one_line(error)}") from error


def open_zip(path: Path, data: bytes) -> zipfile.ZipFile:
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
        entries = archive.infolist()
    except Exception as error:  # of a damaged archive, zipfile raises whatever comes
        raise BadInput(f"{path} is not a zip archive: {one_line(error)}") from error
    if len(entries) > MOST_ENTRIES:
        raise BadInput(f"{path} holds {len(entries):,} files: more than any policy")
    return archive


def read_entry(path: Path, archive: zipfile.ZipFile, name: str) -> bytes:
    """One file of an archive, in memory; never more than `MOST_BYTES` of it."""
    try:
        if archive.getinfo(name).file_size > MOST_BYTES:
            raise BadInput(f"{path}: '{name}' in it is larger than a policy")
        with archive.open(name) as entry:
            data = entry.read(MOST_BYTES + 1)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(f"{path}: '{name}' in it cannot be read: {one_line(error)}") from error
    if len(data) > MOST_BYTES:
        raise BadInput(f"{path}: '{name}' in it is larger than a policy")
    return data


def read_torch(path: Path, data: bytes) -> dict[str, Tensor]:
    """The tensors of a torch file: a `state_dict`, or a dictionary with one in it."""
    if is_zip(path, data):
        _refuse_compressed(path, data)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = torch.load(io.BytesIO(data), map_location="cpu", weights_only=True)
    except Exception as error:  # torch's reader meets whatever bytes there are
        raise BadInput(
            f"{path} is not a file of tensors that can be read without running code in it: "
            f"{_first_sentence(error)}"
        ) from error
    return check_tensors(path, _unwrap(path, found))


def read_safetensors(path: Path, data: bytes) -> dict[str, Tensor]:
    try:
        found = load(data)
    except (safetensors.SafetensorError, ValueError, KeyError, RuntimeError, MemoryError) as error:
        raise BadInput(f"{path} is not a safetensors file: {one_line(error)}") from error
    return check_tensors(path, found)


def check_tensors(path: Path, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Those that are numbers, as float32; each finite."""
    if not tensors or len(tensors) > MOST_TENSORS:
        raise BadInput(f"{path} holds {len(tensors):,} tensors: no policy")
    if any(one.layout is not torch.strided or one.is_quantized for one in tensors.values()):
        raise BadInput(f"{path} holds sparse or quantised tensors: only plain ones can be read")
    if sum(math.prod(one.shape) for one in tensors.values()) > MOST_NUMBERS:
        raise BadInput(f"{path} holds more than {MOST_NUMBERS:,} numbers")
    checked = {}
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            continue
        plain = tensor.detach().to(torch.float32).contiguous()
        if not bool(plain.isfinite().all()):
            raise BadInput(f"{path}: '{name}' holds numbers that are not finite")
        checked[name] = plain
    return checked


def _refuse_compressed(path: Path, data: bytes) -> None:
    """Torch writes its pieces as they are; compressed ones could be a bomb."""
    entries = open_zip(path, data).infolist()
    stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
    if not stored or sum(entry.file_size for entry in entries) > 2 * MOST_BYTES:
        raise BadInput(f"{path} is packed as torch packs nothing: it is not read")


def _unwrap(path: Path, found: Any) -> dict[str, Tensor]:
    if _is_state_dict(found):
        return dict(found)
    if isinstance(found, Mapping):
        inner = [found[name] for name in WRAPPERS if _is_state_dict(found.get(name))]
        if len(inner) == 1:
            return dict(inner[0])
    raise BadInput(f"{path} does not hold a state_dict: a dictionary from names to tensors")


def _is_state_dict(found: Any) -> bool:
    return (
        isinstance(found, Mapping)
        and bool(found)
        and all(isinstance(name, str) for name in found)
        and all(isinstance(one, Tensor) for one in found.values())
    )


def _first_sentence(error: BaseException) -> str:
    return one_line(error).split(". ")[0][:200]
