"""Checkpoints: either whole or noticed."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
import torch
from harness import flip

from litmus.errors import BadInput
from litmus.runs import checkpoint as module
from litmus.runs.checkpoint import (
    Checkpoint,
    DamagedCheckpointError,
    forget_newer,
    list_checkpoints,
    read_checkpoint,
    read_newest_first,
    write_checkpoint,
)

TENSORS = {
    "theta": torch.linspace(-1, 1, 7),
    "mean": torch.tensor([1e-300, 2.0], dtype=torch.float64),
    "count": torch.tensor(2**40),
}


def test_what_is_written_is_read_back_exactly(tmp_path: Path) -> None:
    plain = {"steps": 12, "note": "θ", "nothing": None, "empty": {}, "list": [1, [2.5]]}
    write_checkpoint(tmp_path, 3, {**plain, "inner": {"deeper": {**TENSORS, "number": 3}}})
    (path,) = list_checkpoints(tmp_path)
    tree = read_checkpoint(path).tree
    inner = tree.pop("inner").pop("deeper")
    assert tree == plain
    assert inner.pop("number") == 3
    assert inner.keys() == TENSORS.keys()
    for name, tensor in TENSORS.items():
        assert inner[name].dtype == tensor.dtype
        assert torch.equal(inner[name], tensor)


def test_tensors_that_share_memory_are_written_apart(tmp_path: Path) -> None:
    one = torch.arange(6.0)
    write_checkpoint(tmp_path, 1, {"whole": one, "again": one, "part": one[2:4]})
    tree = read_checkpoint(*list_checkpoints(tmp_path)).tree
    assert [tree[name].tolist() for name in ("whole", "again", "part")] == [
        [0, 1, 2, 3, 4, 5],
        [0, 1, 2, 3, 4, 5],
        [2, 3],
    ]


def test_the_last_two_are_kept_and_no_scraps(tmp_path: Path) -> None:
    for number in (1, 2, 9, 10, 100):
        write_checkpoint(tmp_path, number, {**TENSORS, "rounds": number})
    found = [c.tree["rounds"] for c in read_newest_first(tmp_path) if isinstance(c, Checkpoint)]
    assert found == [100, 10]
    assert len(list(tmp_path.iterdir())) == 4


def test_every_flipped_bit_is_noticed(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 1, {**TENSORS, "rounds": 1})
    (path,) = list_checkpoints(tmp_path)
    for file in (path, path.with_suffix(".sha256")):
        whole = file.read_bytes()
        for position in range(0, len(whole), max(1, len(whole) // 50)):
            file.write_bytes(flip(whole, position))
            with pytest.raises(DamagedCheckpointError):
                read_checkpoint(path)
        file.write_bytes(whole)
    read_checkpoint(path)


def test_every_truncation_is_noticed(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 1, {**TENSORS, "rounds": 1})
    (path,) = list_checkpoints(tmp_path)
    for file in (path, path.with_suffix(".sha256")):
        whole = file.read_bytes()
        for length in range(0, len(whole), max(1, len(whole) // 30)):
            file.write_bytes(whole[:length])
            with pytest.raises(DamagedCheckpointError):
                read_checkpoint(path)
        file.unlink()
        with pytest.raises(DamagedCheckpointError):
            read_checkpoint(path)
        file.write_bytes(whole)
    read_checkpoint(path)


def test_the_one_before_a_damaged_one_is_found(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 1, {**TENSORS, "rounds": 1})
    write_checkpoint(tmp_path, 2, {**TENSORS, "rounds": 2})
    newest = list_checkpoints(tmp_path)[0]
    newest.write_bytes(newest.read_bytes()[:-1])
    (damaged_path, problem), usable = read_newest_first(tmp_path)
    assert damaged_path == newest
    assert "checksum" in problem
    assert usable.tree["rounds"] == 1


def test_another_format_is_bad_input_and_not_damage(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(module, "FORMAT", 99)
    write_checkpoint(tmp_path, 1, {**TENSORS, "rounds": 1})
    monkeypatch.undo()
    with pytest.raises(BadInput, match="another version"):
        read_checkpoint(list_checkpoints(tmp_path)[0])


def test_a_checkpoint_without_its_checksum_does_not_count(tmp_path: Path) -> None:
    """The checksum is written last: without it, writing was cut short."""
    write_checkpoint(tmp_path, 1, {**TENSORS, "rounds": 1})
    (path,) = list_checkpoints(tmp_path)
    assert path.with_suffix(".sha256").read_text() == hashlib.sha256(path.read_bytes()).hexdigest()
    path.with_suffix(".sha256").unlink()
    with pytest.raises(DamagedCheckpointError):
        read_checkpoint(path)


def test_newer_ones_that_could_not_be_used_are_forgotten(tmp_path: Path) -> None:
    write_checkpoint(tmp_path, 5, {**TENSORS, "rounds": 5})
    write_checkpoint(tmp_path, 8, {**TENSORS, "rounds": 8})
    newest, used = list_checkpoints(tmp_path)
    forget_newer(used)
    assert list_checkpoints(tmp_path) == [used]
    assert not newest.with_suffix(".sha256").exists()
    read_checkpoint(used)
