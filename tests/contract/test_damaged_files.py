"""Nothing wrong is read silently: damaged, exchanged and forged files of a run get one line."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from harness import assert_one_line, flip

import litmus
from litmus.cli import main
from litmus.errors import BadInput
from litmus.files import CHECKSUM, read_json, write_json
from litmus.runs.checkpoint import list_checkpoints, read_checkpoint, write_checkpoint
from litmus.runs.snapshots import append_snapshot, cut_snapshots, read_snapshots


@pytest.fixture
def unfinished(run: Path) -> Path:
    """The same run as if it had been stopped before its last words."""
    lines = (run / "metrics.jsonl").read_bytes().splitlines(keepends=True)
    (run / "metrics.jsonl").write_bytes(b"".join(lines[:-1]))
    return run


def make_directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def make_fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def make_device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


EXCHANGES = [make_directory, make_fifo, make_device]


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize("name", ["policy.safetensors", "policy.json", "metrics.jsonl"])
def test_what_is_no_file_is_never_waited_for(
    name: str, exchange: Callable[[Path], None], run: Path, capsys
) -> None:
    exchange(run / name)
    assert main(["evaluate", str(run), "--workers", "0", "--episodes", "1"]) == 2
    assert_one_line(capsys.readouterr().err, name)


@pytest.mark.parametrize("exchange", EXCHANGES)
@pytest.mark.parametrize(
    "name", ["config.json", "metrics.jsonl", "history/rounds.jsonl", "history/rounds.bin", ".lock"]
)
def test_nor_is_it_when_a_run_is_resumed(
    name: str, exchange: Callable[[Path], None], unfinished: Path, capsys
) -> None:
    exchange(unfinished / name)
    assert main(["resume", str(unfinished)]) == 2
    assert_one_line(capsys.readouterr().err.splitlines()[-1])


@pytest.mark.parametrize("exchange", [make_fifo, make_device])
@pytest.mark.parametrize("part", [".safetensors", ".sha256"])
def test_a_checkpoint_that_is_no_file_is_passed_over(
    part: str, exchange: Callable[[Path], None], unfinished: Path, caplog
) -> None:
    exchange(list_checkpoints(unfinished / "checkpoints")[0].with_suffix(part))
    assert litmus.resume(unfinished, quiet=True).status == "finished"
    assert "Not a plain file" in caplog.text


@pytest.mark.parametrize("name", ["policy", "evaluator"])
def test_every_flipped_bit_of_a_result_is_noticed(name: str, run: Path) -> None:
    load: Any = litmus.Policy.load if name == "policy" else litmus.load_evaluator
    path = run / f"{name}.safetensors"
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(flip(whole, position))
        with pytest.raises(BadInput, match="damaged"):
            load(path)
    path.write_bytes(whole)
    load(path)


FORGERIES: list[tuple[str, Callable[[dict[str, Any]], Any]]] = [
    ("policy.json", lambda data: data.pop("architecture")),
    ("policy.json", lambda data: data.update(architecture=3)),
    ("policy.json", lambda data: data["architecture"].update(state_shape=[10**12])),
    ("policy.json", lambda data: data["architecture"].update(state_shape="abc")),
    ("policy.json", lambda data: data["architecture"]["options"].update(hidden=[10**9])),
    ("policy.json", lambda data: data["architecture"]["options"].update(hidden=[None])),
    ("policy.json", lambda data: data["architecture"]["options"].update(hodden=[8])),
    ("policy.json", lambda data: data["architecture"].update(actions={"count": "x"})),
    ("policy.json", lambda data: data["architecture"].update(name=7)),
    ("evaluator.json", lambda data: data["options"].update(num_probing_states=10**12)),
    ("evaluator.json", lambda data: data["options"].update(hidden="x")),
    ("evaluator.json", lambda data: data.update(kind=None)),
    ("config.json", lambda data: data.update(noise="much")),
    ("config.json", lambda data: data.update(task=["a"])),
    ("config.json", lambda data: data.pop("algorithm")),
    ("config.json", lambda data: data.update(hidden={"0": 1})),
]


@pytest.mark.parametrize(("name", "forge"), FORGERIES)
def test_nonsense_under_a_matching_checksum_is_bad_input(
    name: str, forge: Callable[[dict[str, Any]], Any], run: Path
) -> None:
    data = read_json(run / name)
    del data[CHECKSUM]
    forge(data)
    write_json(run / name, data)
    with pytest.raises(BadInput):
        _ = litmus.Run(run).config, litmus.Run(run).policy, litmus.Run(run).evaluator


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a": NaN}', '{"a": 1e999}', '{"a": ' * 50_000])
def test_json_that_is_none_is_bad_input(text: str, run: Path, capsys) -> None:
    (run / "config.json").write_text(text)
    assert main(["evaluate", str(run)]) == 2
    assert_one_line(capsys.readouterr().err, "config.json is not JSON")
    assert main(["train", "pssvf", "--config", str(run / "config.json")]) == 2
    assert_one_line(capsys.readouterr().err, "config.json is not JSON")


@pytest.mark.parametrize("command", ["resume", "evaluate", "report"])
def test_an_edited_configuration_is_noticed(command: str, unfinished: Path, capsys) -> None:
    path = unfinished / "config.json"
    path.write_text(path.read_text().replace('"noise": 0', '"noise": 7'))
    code = main([command, str(unfinished)])
    if command == "report":
        assert code == 0
        assert "its checksum does not match" in (unfinished / "report.html").read_text()
    else:
        assert code == 2
        assert_one_line(capsys.readouterr().err, "config.json was changed", "litmus resume")


def test_an_edited_copy_of_a_configuration_begins_another_run(run: Path, tmp_path: Path) -> None:
    text = (run / "config.json").read_text().replace('"noise": 0', '"noise": 7')
    (tmp_path / "mine.json").write_text(text)
    other = litmus.train("pssvf", config=tmp_path / "mine.json", out=tmp_path / "o", quiet=True)
    assert other.config.to_dict()["noise"] > 7


def test_a_longer_run_has_a_configuration_that_is_whole(run: Path) -> None:
    assert litmus.resume(run, steps=60, quiet=True).config.steps == 60


STATES: list[Callable[[dict[str, Any]], Any]] = [
    lambda tree: tree["counters"].update(steps="40"),
    lambda tree: tree["counters"].update(steps=-5),
    lambda tree: tree["counters"].update(rounds=10**30),
    lambda tree: tree["counters"].update(latest_return="high"),
    lambda tree: tree["counters"].pop("rounds"),
    lambda tree: tree["counters"].update(more=1),
    lambda tree: tree.update(cores=10**9),
    lambda tree: tree.update(cores=None),
    lambda tree: tree.pop("policy"),
    lambda tree: tree["policy"].update(flat_params=torch.zeros(3)),
    lambda tree: tree["policy"].update(flat_params=torch.zeros(50, dtype=torch.float64)),
    lambda tree: tree["policy"]["normalizer"].update(mean=torch.zeros(1, dtype=torch.float64)),
    lambda tree: tree["policy"]["architecture"].update(name="mpl"),
]


@pytest.mark.parametrize("forge", STATES)
def test_a_checkpoint_of_nonsense_is_passed_over_with_a_warning(
    forge: Callable[[dict[str, Any]], Any], unfinished: Path, caplog
) -> None:
    newest = forge_newest(unfinished, forge)
    assert litmus.resume(unfinished, quiet=True).status == "finished"
    assert newest in caplog.text
    assert "does not hold the state of a run" in caplog.text


LOADED: list[Callable[[dict[str, Any]], Any]] = [
    lambda tree: tree["algorithm"].update(theta=torch.zeros(())),
    lambda tree: tree["algorithm"].update(theta=3.0),
    lambda tree: tree["algorithm"]["theta_optimizer"]["state"]["0"].update(exp_avg=torch.zeros(1)),
    lambda tree: tree["algorithm"]["theta_optimizer"]["state"]["0"].pop("exp_avg_sq"),
    lambda tree: tree["algorithm"]["evaluator_optimizer"]["state"].update({"99": {}}),
    lambda tree: tree["algorithm"].update(steps="many"),
    lambda tree: tree["algorithm"]["plan"].update(flat_params=torch.zeros(1)),
    lambda tree: tree["algorithm"].pop("plan"),
    lambda tree: tree.update(evaluator=None),
    lambda tree: tree["evaluator"]["tensors"].update(mean=torch.zeros(9)),
]


@pytest.mark.parametrize("forge", LOADED)
def test_a_state_that_does_not_fit_is_bad_input_before_anything_is_cut(
    forge: Callable[[dict[str, Any]], Any], unfinished: Path, capsys
) -> None:
    """Compiled kernels write through addresses: they must never get a tensor that is too small."""
    forge_newest(unfinished, forge)
    metrics = (unfinished / "metrics.jsonl").read_bytes()
    assert main(["resume", str(unfinished)]) == 2
    assert_one_line(capsys.readouterr().err, "does not fit its run")
    assert (unfinished / "metrics.jsonl").read_bytes() == metrics


def forge_newest(run: Path, forge: Callable[[dict[str, Any]], Any]) -> str:
    """Change what the newest checkpoint holds, with a checksum that matches."""
    newest = list_checkpoints(run / "checkpoints")[0]
    tree = read_checkpoint(newest).tree
    forge(tree)
    write_checkpoint(newest.parent, int(newest.stem.removeprefix("round-")), tree)
    return newest.name


def test_a_checkpoint_under_another_name_is_passed_over(unfinished: Path, caplog) -> None:
    newest, before = list_checkpoints(unfinished / "checkpoints")
    for part in (".safetensors", ".sha256"):
        shutil.copy(before.with_suffix(part), newest.with_suffix(part))
    assert litmus.resume(unfinished, quiet=True).status == "finished"
    assert "of another round than its name says" in caplog.text


def test_a_checkpoint_whose_checksum_covers_garbage_is_passed_over(
    unfinished: Path, caplog
) -> None:
    newest = list_checkpoints(unfinished / "checkpoints")[0]
    for garbage in (b"", b"\xff" * 8, b"\x02" + b"\0" * 7 + b"[]", newest.read_bytes()[:-3]):
        newest.write_bytes(garbage)
        newest.with_suffix(".sha256").write_text(hashlib.sha256(garbage).hexdigest())
        assert litmus.Run(unfinished).count_kept("rounds") >= 0
        caplog.clear()
        assert litmus.evaluate(unfinished, episodes=1, workers=0).steps == [4]
        assert "cannot be used" in caplog.text


def test_changed_metrics_are_named_and_the_run_still_works(run: Path, caplog) -> None:
    path = run / "metrics.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    lines[1] = lines[1].replace('"mean": ', '"mean": 1')
    path.write_text("".join(lines))
    assert len(litmus.Run(run).metrics) == len(lines) - 1
    assert "1 damaged line left out (line 2)" in caplog.text


def test_metrics_cut_at_a_line_are_named(unfinished: Path, caplog) -> None:
    path = unfinished / "metrics.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:3]))
    assert len(litmus.Run(unfinished).metrics) == 3
    assert "shorter than its checkpoint says" in caplog.text


def test_damaged_snapshots_are_named(run: Path) -> None:
    path = run / "history" / "probing.bin"
    whole = path.read_bytes()
    for position in range(len(whole)):
        path.write_bytes(flip(whole, position))
        with pytest.raises(BadInput, match="damaged"):
            read_snapshots(path, (3, 3))
    row = len(whole) // 6
    path.write_bytes(whole[row:] + whole[:row])
    with pytest.raises(BadInput, match="damaged"):
        litmus.Run(run).read_probing_snapshots()
    path.write_bytes(whole[: 2 * row])
    with pytest.raises(BadInput, match="2 of the 6"):
        litmus.Run(run).read_probing_snapshots()


def test_lost_snapshots_are_named_and_training_goes_on(tmp_path: Path, caplog) -> None:
    path = tmp_path / "probing.bin"
    for steps in range(4):
        append_snapshot(path, steps, np.full((2, 3), steps, np.float32))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    cut_snapshots(path, 4, (2, 3))
    assert "only 3 of its first 4 snapshots" in caplog.text
    assert path.stat().st_size == len(whole) * 3 // 4
    append_snapshot(path, 9, np.full((2, 3), 9, np.float32))
    assert read_snapshots(path, (2, 3))[0].tolist() == [0, 1, 2, 9]


def test_a_damaged_provenance_does_not_keep_a_run_from_going_on(unfinished: Path, caplog) -> None:
    path = unfinished / "provenance.json"
    data = json.loads(path.read_text())
    path.write_text(json.dumps({**data, "commit": "another"}))
    assert litmus.resume(unfinished, quiet=True).status == "finished"
    assert "provenance.json was changed" in caplog.text
