"""What can happen to the files of a run: by accident, or by someone who knows the checksums."""

from __future__ import annotations

import hashlib
import json
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from litmus.files import CHECKSUM, TENSORS_CHECKSUM, checksum_line, write_json

ODD_VALUES: list[Any] = [
    *(None, True, False, 0, 1, -1, 3, 2**31, 10**30, -(10**30), 0.5, -1.5, 1e300),
    *("", "x", "é\u0000", "Swimmer-v5", "toys:ToyWalk-v0", "mlp"),
    *([], [1], [[]], ["x"], {}, {"x": 1}, [None] * 3, [10**9]),
]


def list_files(run: Path) -> list[Path]:
    return sorted(path for path in run.rglob("*") if path.is_file())


def mutate(run: Path, chance: random.Random) -> tuple[str, bool]:
    """Do one thing to a run; what it was, and whether its checksums were made to match."""
    kind = chance.choice(list(ACCIDENTS) * 2 + list(FORGERIES) * 3)
    files = list_files(run)
    if not files:
        return "nothing left", False
    path = chance.choice(files)
    if kind in FORGERIES:
        return f"{kind} {FORGERIES[kind](run, chance)}", True
    ACCIDENTS[kind](path, chance)
    return f"{kind} {path.relative_to(run)}", False


def _edit(
    change: Callable[[bytearray, random.Random], Any],
) -> Callable[[Path, random.Random], None]:
    def apply(path: Path, chance: random.Random) -> None:
        data = bytearray(path.read_bytes())
        changed = change(data, chance) if data else None
        path.write_bytes(data if changed is None else changed)

    return apply


def _flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.choice((1, 1, 1, 2, 5))):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    end = min(len(data), start + chance.choice((1, 4, 16, 64, 512)))
    data[start:end] = bytes(end - start) if chance.random() < 0.5 else chance.randbytes(end - start)


def _cut_out(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    del data[start : start + chance.choice((1, 2, 8, 100))]


def _change_lines(data: bytearray, chance: random.Random) -> bytes:
    lines = bytes(data).splitlines(keepends=True)
    one, other = chance.randrange(len(lines)), chance.randrange(len(lines))
    how = chance.choice(("double", "swap", "drop", "move", "shuffle"))
    if how == "double":
        lines.insert(other, lines[one])
    elif how == "swap":
        lines[one], lines[other] = lines[other], lines[one]
    elif how == "drop":
        del lines[one]
    elif how == "move":
        lines.insert(other, lines.pop(one))
    else:
        chance.shuffle(lines)
    return b"".join(lines)


def _swap_files(path: Path, chance: random.Random) -> None:
    other = chance.choice([one for one in path.parent.iterdir() if one.is_file()])
    first, second = path.read_bytes(), other.read_bytes()
    path.write_bytes(second)
    other.write_bytes(first)


def _exchange(path: Path, chance: random.Random) -> None:
    others = [one for one in path.parent.iterdir() if one.is_file() and one != path]
    path.unlink()
    how = chance.choice(("directory", "fifo", "device", "dangling", "itself", "another"))
    if how == "directory":
        path.mkdir()
    elif how == "fifo":
        os.mkfifo(path)
    elif how == "device":
        path.symlink_to("/dev/zero")
    elif how == "dangling":
        path.symlink_to("nowhere")
    elif how == "itself" or not others:
        path.symlink_to(path.name)
    else:
        path.symlink_to(chance.choice(others).name)


def _remove_folder(path: Path, chance: random.Random) -> None:
    folder = path.parent
    if folder.name not in ("checkpoints", "history"):
        path.unlink()
        return
    shutil.rmtree(folder)
    if chance.random() < 0.5:
        folder.write_bytes(b"not a folder")


def _edit_json_carelessly(path: Path, chance: random.Random) -> None:
    try:
        data = json.loads(path.read_text())
    except (ValueError, RecursionError):
        path.write_bytes(b"")
        return
    if isinstance(data, dict):
        change_something(data, chance)
    path.write_text(json.dumps(data))


ACCIDENTS: dict[str, Callable[[Path, random.Random], None]] = {
    "flip": _edit(_flip),
    "overwrite": _edit(_overwrite),
    "cut out": _edit(_cut_out),
    "truncate": _edit(lambda data, chance: bytes(data[: chance.randrange(len(data))])),
    "append": _edit(lambda data, chance: bytes(data) + chance.randbytes(chance.choice((1, 7, 99)))),
    "append to itself": _edit(lambda data, chance: bytes(data) * 2),
    "lines": _edit(_change_lines),
    "empty": lambda path, chance: path.write_bytes(b"") and None,
    "delete": lambda path, chance: path.unlink(),
    "swap": _swap_files,
    "exchange": _exchange,
    "forbid": lambda path, chance: path.chmod(0),
    "remove folder": _remove_folder,
    "deep": lambda path, chance: path.write_bytes(b"[" * 100_000) and None,
    "edit": _edit_json_carelessly,
}


def change_something(data: Any, chance: random.Random) -> None:
    """Somewhere in nested JSON: another value, another type, a key less, a key more."""
    while True:
        keys = list(data) if isinstance(data, dict) else list(range(len(data)))
        if not keys:
            return
        key = chance.choice(keys)
        below = data[key]
        if isinstance(below, dict | list) and below and chance.random() < 0.7:
            data = below
            continue
        how = chance.random()
        if how < 0.1:
            del data[key]
        elif how < 0.15 and isinstance(data, dict):
            data[f"{key}x"] = below
        elif how < 0.4 and isinstance(below, int | float):
            data[key] = chance.choice((below + 1, -below, below * 2, float(below), str(below)))
        else:
            data[key] = chance.choice(ODD_VALUES)
        return


def _forge_json(run: Path, chance: random.Random) -> str:
    names = [one for one in run.glob("*.json") if one.is_file()]
    if not names:
        return "nothing"
    path = chance.choice(sorted(names))
    try:
        data = json.loads(path.read_text())
        data.pop(CHECKSUM, None)
    except (ValueError, AttributeError, RecursionError):
        return "nothing"
    change_something(data, chance)
    write_json(path, data)
    return path.name


def _forge_line(run: Path, chance: random.Random) -> str:
    name, field = chance.choice(
        (("metrics.jsonl", "crc32"), ("history/rounds.jsonl", "line_crc32"))
    )
    path = run / name
    if not path.is_file():  # but a device or a FIFO by now
        return "nothing"
    try:
        lines = path.read_text().splitlines()
        number = chance.randrange(len(lines))
        line = json.loads(lines[number])
        line.pop(field, None)
    except (OSError, ValueError, AttributeError, RecursionError):
        return "nothing"
    change_something(line, chance)
    lines[number] = json.dumps({**line, field: checksum_line(line)})
    path.write_text("\n".join(lines) + "\n")
    return f"{name} {number}"


def _forge_checkpoint(run: Path, chance: random.Random) -> str:
    """Its values or its tensors, under a SHA-256 that matches."""
    from safetensors.torch import load, save

    paths = sorted(one for one in run.glob("checkpoints/*.safetensors") if one.is_file())
    if not paths:
        return "nothing"
    path = chance.choice(paths)
    try:
        data = path.read_bytes()
        header = json.loads(data[8 : 8 + int.from_bytes(data[:8], "little")])
        metadata, tensors = header["__metadata__"], load(data)
    except Exception:  # another mutation was here before
        return "nothing"
    if chance.random() < 0.6:
        values = json.loads(metadata["values"])
        change_something(values, chance)
        metadata["values"] = json.dumps(values)
    else:
        change_tensor(tensors, chance)
    forged = save(tensors, metadata)
    path.write_bytes(forged)
    if path.with_suffix(".sha256").is_file():
        path.with_suffix(".sha256").write_text(hashlib.sha256(forged).hexdigest())
    return path.name


def _forge_result(run: Path, chance: random.Random) -> str:
    from safetensors.torch import load, save

    path = run / f"{chance.choice(('policy', 'evaluator'))}.safetensors"
    if not path.is_file() or not path.with_suffix(".json").is_file():
        return "nothing"
    try:
        tensors = load(path.read_bytes())
        description = json.loads(path.with_suffix(".json").read_text())
        description.pop(CHECKSUM, None)
    except Exception:
        return "nothing"
    change_tensor(tensors, chance)
    forged = save(tensors)
    path.write_bytes(forged)
    description[TENSORS_CHECKSUM] = hashlib.sha256(forged).hexdigest()
    write_json(path.with_suffix(".json"), description)
    return path.name


def change_tensor(tensors: dict[str, Any], chance: random.Random) -> None:
    """Another shape, another type, another name, or gone."""
    import torch

    name = chance.choice(sorted(tensors))
    how = chance.choice(("shape", "type", "name", "gone", "empty", "nan"))
    tensor = tensors.pop(name)
    if how == "shape":
        tensors[name] = torch.zeros(chance.choice(((1,), (), (3, 3), (7, 2, 1), (1000,))))
    elif how == "type":
        tensors[name] = tensor.to(chance.choice((torch.float64, torch.int64, torch.bool)))
    elif how == "name":
        tensors[f"{name}x"] = tensor
    elif how == "empty":
        tensors[name] = torch.zeros(0)
    elif how == "nan":
        tensors[name] = torch.full_like(tensor.to(torch.float32), float("nan")).to(tensor.dtype)


FORGERIES: dict[str, Callable[[Path, random.Random], str]] = {
    "forge JSON": _forge_json,
    "forge line": _forge_line,
    "forge checkpoint": _forge_checkpoint,
    "forge result": _forge_result,
}
