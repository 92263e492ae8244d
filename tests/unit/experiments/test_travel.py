"""A folder that travels while it is written to: the copy can go on at any moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import assert_same_result, train_tiny

import litmus
from litmus.experiments import travel
from litmus.experiments.travel import Piece, Sender, forget_others, receive
from litmus.runs import checkpoint
from litmus.training import checkpoints


def read_all(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.name != ".lock"
    }


def copy(sender: Sender, there: Path) -> int:
    """Bring a copy up to date; how many bytes that took."""
    batches = list(sender.pack())
    for pieces in batches:
        receive(there, pieces)
    forget_others(there, ".", sender.listed)
    return sum(len(piece.data) for pieces in batches for piece in pieces)


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    here = tmp_path / "here"
    (here / "deep").mkdir(parents=True)
    (here / "log.txt").write_bytes(b"abc" * 5000)
    (here / "deep" / "a.bin").write_bytes(b"\0" * 10)
    return here, tmp_path / "there"


def test_only_what_changed_is_sent(folders: tuple[Path, Path]) -> None:
    here, there = folders
    sender = Sender(here)
    assert copy(sender, there) == 15_010
    assert read_all(there) == read_all(here)
    assert copy(sender, there) == 0
    with (here / "log.txt").open("ab") as file:
        file.write(b"more")
    assert copy(sender, there) == 4
    (here / "deep" / "a.bin").rename(here / "b.bin")
    assert copy(sender, there) == 10
    assert read_all(there) == read_all(here)


def test_a_file_that_was_cut_and_grew_again_is_sent_whole(folders: tuple[Path, Path]) -> None:
    here, there = folders
    sender = Sender(here)
    copy(sender, there)
    with (here / "log.txt").open("r+b") as file:
        file.truncate(9)
        file.seek(9)
        file.write(b"xyz" * 9000)
    copy(sender, there)
    assert read_all(there) == read_all(here)


def test_large_files_are_sent_in_pieces(
    folders: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(travel, "PIECE_BYTES", 1000)
    here, there = folders
    sender = Sender(here)
    assert all(len(piece.data) <= 1000 for pieces in sender.pack() for piece in pieces)
    copy(Sender(here), there)
    assert read_all(there) == read_all(here)


def test_locks_and_half_written_files_stay(folders: tuple[Path, Path]) -> None:
    here, there = folders
    (here / ".lock").touch()
    (here / "config.json.tmp").touch()
    copy(Sender(here), there)
    assert not (there / ".lock").exists()
    assert not (there / "config.json.tmp").exists()


def test_nothing_is_written_outside(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="outside"):
        receive(tmp_path / "there", [Piece("../stolen", 0, b"x")])
    assert not (tmp_path / "stolen").exists()


def test_only_the_folder_of_the_job_is_cleared(tmp_path: Path) -> None:
    for name in ("runs/a/old", "runs/a/new", "runs/b/other"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    forget_others(tmp_path, "runs/a", ["runs/a/new"])
    assert set(read_all(tmp_path)) == {"runs/a/new", "runs/b/other"}


def test_a_copy_taken_at_any_write_of_a_run_goes_on_to_the_same_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One sender all along; a copy of the copy is resumed after each checkpoint and each line."""
    options = {"preset": "small", "steps": 40, "checkpoint_seconds": 0}
    train_tiny(tmp_path / "whole", **options)
    sender, there, taken = Sender(tmp_path / "run"), tmp_path / "there", []

    def take(number: int) -> None:
        copy(sender, there)
        if number % 3 == 0:
            taken.append(tmp_path / f"copy-{number}")
            copy(Sender(there), taken[-1])

    write = checkpoint.write_checkpoint

    def write_and_take(directory: Path, number: int, tree: object) -> None:
        take(2 * number)
        write(directory, number, tree)  # type: ignore[arg-type]
        take(2 * number + 1)

    monkeypatch.setattr(checkpoints, "write_checkpoint", write_and_take)
    train_tiny(tmp_path / "run", **options)
    monkeypatch.undo()
    assert len(taken) > 3
    for path in dict.fromkeys(taken):
        if litmus.Run(path).status != "finished":
            litmus.resume(path, quiet=True)
        assert_same_result(path, tmp_path / "whole")
