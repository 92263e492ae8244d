"""Files that are either old or new, never half written, and checked when they are read again.

JSON that litmus writes carries a checksum of its own; a file of tensors has its SHA-256 in the JSON
beside it. Whatever is opened must be a plain file: a FIFO or a device in its place is never waited
for.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import stat
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NoReturn, TypeVar

from litmus.errors import BadInput, one_line

if TYPE_CHECKING:
    from torch import Tensor, nn

Module = TypeVar("Module", bound="nn.Module")

CHECKSUM = "checksum"
TENSORS_CHECKSUM = "tensors_sha256"

MODES = {
    "rb": os.O_RDONLY,
    "ab": os.O_WRONLY | os.O_CREAT | os.O_APPEND,
    "wb": os.O_WRONLY | os.O_CREAT | os.O_TRUNC,
}


def open_plain(path: Path, mode: Literal["rb", "ab", "wb"]) -> BinaryIO:
    """Open a file; anything else in its place is an OSError, at once."""
    try:
        refuse_other_than_file(path)
        descriptor = os.open(path, MODES[mode] | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    except ValueError as error:  # a name that no file can have
        raise OSError(errno.EINVAL, str(error), str(path)) from error
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # it was exchanged a moment ago
        os.close(descriptor)
        raise OSError(errno.EINVAL, "Not a plain file", str(path))
    return os.fdopen(descriptor, mode)


def refuse_other_than_file(path: Path) -> None:
    """OSError where something lies at `path` that is no plain file."""
    try:
        kind = path.stat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISREG(kind):
        raise OSError(errno.EINVAL, "Not a plain file", str(path))


def refuse_read_only(path: Path) -> None:
    """OSError where a file could not be written at `path`, as far as its permissions tell."""
    there = [one for one in (path.absolute(), *path.absolute().parents) if one.exists()]
    for one in there[: 2 if path.exists() else 1]:
        if not os.access(one, os.W_OK):
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(one))


def is_folder(path: Path) -> bool:
    """BadInput for a path that the system does not take at all, one that is too long, say."""
    try:
        return path.is_dir()
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"'{str(path)[:80]}' cannot be read: {reason}") from error


def read_plain(path: Path) -> bytes:
    with open_plain(path, "rb") as file:
        return file.read()


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically: under another name, to the disk, then renamed."""
    refuse_other_than_file(path)
    temporary = path.with_name(path.name + ".tmp")
    with open_plain(temporary, "wb") as file:
        try:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
            temporary.replace(path)
        except OSError:
            temporary.unlink(missing_ok=True)
            raise


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write one JSON object with its checksum in it."""
    sealed = {**data, CHECKSUM: digest_json(data)}
    write_bytes(path, to_text(sealed).encode())


def to_text(data: object, indent: int | None = 2) -> str:
    """Strict JSON."""
    return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def read_json(path: Path, hint: str = "") -> dict[str, Any]:
    """Read one JSON object, such as a user writes it; BadInput says what is wrong with the file,
    and `hint` what to do about it."""
    try:
        data = parse_json(read_plain(path))
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}{hint}") from error
    except ValueError as error:
        raise BadInput(f"{path} is not JSON: {error}{hint}") from error
    if not isinstance(data, dict):
        raise BadInput(f"{path} does not hold a JSON object{hint}")
    return data


def read_own_json(path: Path, hint: str = "") -> dict[str, Any]:
    """Read what `write_json` wrote; BadInput where it is not that any more."""
    return check_own_json(path, read_json(path, hint), hint)


def check_own_json(path: Path, data: dict[str, Any], hint: str = "") -> dict[str, Any]:
    """The object without its checksum, which must match."""
    found = data.pop(CHECKSUM, None)
    if found is None:
        raise BadInput(f"{path} carries no checksum: litmus did not write it like this{hint}")
    if found != digest_json(data):
        raise BadInput(
            f"{path} was changed since it was written: its checksum does not match{hint}"
        )
    return data


def parse_json(text: bytes | str) -> Any:
    """What strict JSON holds; whatever is wrong with it is a ValueError."""
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_finite)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is no number")


def _parse_finite(text: str) -> float:
    number = float(text)
    if number - number != 0:
        raise ValueError(f"{text} is not a finite number")
    return number


def digest_json(data: Mapping[str, Any]) -> str:
    """Of the content: order of keys, spaces and line breaks do not count."""
    return hashlib.sha256(_canonical(data)).hexdigest()


def checksum_line(data: Mapping[str, Any]) -> int:
    """CRC-32 of one line of a journal, without the field that holds it."""
    return zlib.crc32(_canonical(data))


def _canonical(data: Mapping[str, Any]) -> bytes:
    return json.dumps(data, sort_keys=True, allow_nan=False).encode()


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


def save_module(path: Path, module: nn.Module, description: Mapping[str, Any]) -> None:
    """Write `path` (safetensors) and the JSON beside it, which vouches for both."""
    data = write_tensors(path, dict(module.state_dict()))
    checksum = {TENSORS_CHECKSUM: hashlib.sha256(data).hexdigest()}
    write_json(path.with_suffix(".json"), {**description, **checksum})


def load_module(
    path: Path, what: str, version: int, build: Callable[[Any, Mapping[str, Tensor]], Module]
) -> Module:
    """Build a module from the JSON beside `path` and fill it with the tensors in `path`."""
    import safetensors
    from safetensors.torch import load

    if path.suffix == ".json":
        raise BadInput(
            f"{path} describes {what}: name {path.with_suffix('.safetensors')} beside it"
        )
    try:
        data = read_plain(path)
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    description = _read_description(path.with_suffix(".json"), path, what, version)
    if hashlib.sha256(data).hexdigest() != description.get(TENSORS_CHECKSUM):
        raise BadInput(f"{path} is damaged: its checksum does not match")
    try:
        return fill_module(build, description, load(data))
    except BadInput:
        raise
    except safetensors.SafetensorError as error:
        raise BadInput(f"{path} is damaged: {one_line(error)}") from error
    # Whatever a description can be wrong in: the sums match, so it was written that way.
    except (ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError) as error:
        raise BadInput(
            f"{path} is not {what} that fits its description: {one_line(error)}"
        ) from error
    except (AssertionError, TypeError, ValueError) as error:
        raise BadInput(
            f"{path} is not {what} that fits its description: {one_line(error)}"
        ) from error


def _read_description(json_path: Path, path: Path, what: str, version: int) -> dict[str, Any]:
    description = read_json(json_path)
    if description.get("format") != version:
        raise BadInput(f"{path}: {what} of format {description.get('format')}, not {version}")
    return check_own_json(json_path, description)


def fill_module(
    build: Callable[[Any, Mapping[str, Tensor]], Module],
    description: dict[str, Any],
    tensors: dict[str, Tensor],
) -> Module:
    """First without memory: a description of sizes that nothing holds must not be tried out."""
    import torch

    with torch.device("meta"):
        sizes = {
            name: tensor.shape for name, tensor in build(description, tensors).state_dict().items()
        }
    expected = {name: tensor.shape for name, tensor in tensors.items()}
    if sizes != expected:
        raise ValueError("names or shapes of its tensors are others")
    module = build(description, tensors)
    module.load_state_dict(tensors)
    return module


def describe_os_error(error: OSError) -> str:
    """What went wrong, and with which file."""
    where = f": {error.filename}" if error.filename else ""
    return f"{error.strerror or error}{where}"
