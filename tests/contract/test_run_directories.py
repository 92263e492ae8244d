"""A run directory is one process's from its first byte; what never began is in nobody's way."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import (
    DEADLINE,
    Killed,
    assert_one_line,
    assert_same_result,
    raise_,
    tiny,
    to_arguments,
    train_tiny,
)

import litmus
import litmus.training.api
from litmus.cli import main
from litmus.errors import BadInput
from litmus.runs import directory
from litmus.runs.directory import create_run
from litmus.training.trainer import Trainer

Start = Callable[..., "subprocess.Popen[str]"]


def test_of_many_that_train_into_one_directory_one_does(tmp_path: Path) -> None:
    """And it trains its own configuration."""
    seeds, outcomes = range(12), {}
    barrier = threading.Barrier(len(seeds))

    def claim(seed: int) -> None:
        config = litmus.training.api.make_config("pssvf", tiny("pssvf", task="x", seed=seed))
        barrier.wait()
        try:
            with create_run(tmp_path / "run", config):
                outcomes[seed] = litmus.Run(tmp_path / "run").config.seed
                barrier_end.wait(DEADLINE)
        except BadInput as error:
            outcomes[seed] = str(error)
            barrier_end.wait(DEADLINE)

    barrier_end = threading.Barrier(len(seeds))
    threads = [threading.Thread(target=claim, args=(seed,)) for seed in seeds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(DEADLINE)
    winners = [seed for seed in seeds if isinstance(outcomes[seed], int)]
    assert len(winners) == 1
    assert outcomes[winners[0]] == winners[0]
    for seed in set(seeds) - set(winners):
        assert "another process is working on" in outcomes[seed]


def test_two_processes_that_train_into_one_directory_do_not_mix(
    tmp_path: Path, litmus_process: Start
) -> None:
    processes = {
        seed: litmus_process(
            *("train", "pssvf", "--out", "run"),
            *to_arguments(tiny("pssvf", task="toys:ToyWalk-v0", steps=40, seed=seed)),
        )
        for seed in (1, 2)
    }
    codes = {}
    for seed, process in processes.items():
        _, err = process.communicate(timeout=DEADLINE)
        codes[seed] = process.returncode
        assert process.returncode == 0 or "litmus: " in err.splitlines()[-1]
    assert sorted(codes.values()) == [0, 2]
    winner = next(seed for seed, code in codes.items() if code == 0)
    assert_same_result(train_tiny(tmp_path / "alone", seed=winner).path, tmp_path / "run")


def test_a_directory_that_another_one_removes_meanwhile_is_not_used(tmp_path: Path) -> None:
    run = directory.RunDirectory(tmp_path / "run")
    run.path.mkdir()
    flock = directory.fcntl.flock

    def remove_first(file: Any, how: int) -> None:
        (run.path / ".lock").unlink()
        (run.path / ".lock").touch()
        flock(file, how)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(directory.fcntl, "flock", remove_first)
        with pytest.raises(BadInput, match="another process"):
            directory.lock_run(run)


MOMENTS = ["litmus.runs.directory.write_json", "litmus.runs.directory.RunDirectory.make_folders"]


@pytest.mark.parametrize("moment", [*MOMENTS, "litmus.training.trainer.Trainer.__init__"])
def test_a_kill_before_a_run_began_leaves_a_directory_for_the_same_command(
    moment: str, tmp_path: Path, monkeypatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(moment, lambda *_, **__: raise_(Killed()))
        with pytest.raises(Killed):
            train_tiny(tmp_path / "run")
    assert (tmp_path / "run").exists()
    run = train_tiny(tmp_path / "run", seed=4)
    assert run.config.seed == 4
    assert_same_result(train_tiny(tmp_path / "whole", seed=4).path, run.path)


def test_half_a_configuration_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.json.tmp").write_text('{"algor')
    assert train_tiny(tmp_path / "run").status == "finished"


def test_an_interruption_in_the_first_round_leaves_the_way_free(
    tmp_path: Path, monkeypatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_iterate", lambda *_: raise_(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            train_tiny(tmp_path / "run")
    assert train_tiny(tmp_path / "run").status == "finished"


def test_a_failure_in_the_first_round_leaves_the_way_free(tmp_path: Path) -> None:
    with pytest.raises(litmus.RunFailed):
        train_tiny(tmp_path / "run", task="toys:ToyRaisingWalk-v0")
    assert train_tiny(tmp_path / "run").status == "finished"


def test_one_round_is_never_thrown_away(tmp_path: Path, monkeypatch, capsys) -> None:
    finish = Trainer._finish_evaluation
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_finish_evaluation", lambda *_: raise_(Killed()))
        with pytest.raises(Killed):
            train_tiny(tmp_path / "run")
    assert finish is Trainer._finish_evaluation
    options = to_arguments(tiny("pssvf", task="toys:ToyWalk-v0"))
    assert main(["train", "pssvf", "--out", str(tmp_path / "run"), *options]) == 2
    assert_one_line(capsys.readouterr().err, "exists already", "litmus resume")


@pytest.mark.parametrize("name", ["config.json", "notes.txt", "history/mine.txt"])
def test_what_someone_else_put_there_is_never_written_over(name: str, tmp_path: Path) -> None:
    path = tmp_path / "run" / name
    path.parent.mkdir(parents=True)
    path.write_text('{"task": "mine"}')
    with pytest.raises(BadInput, match="exists already"):
        train_tiny(tmp_path / "run")
    assert path.read_text() == '{"task": "mine"}'
    assert [one.name for one in (tmp_path / "run").iterdir()] == [name.partition("/")[0]]


@pytest.mark.parametrize("was_there", [False, True])
def test_a_directory_is_removed_only_by_the_call_that_made_it(
    was_there: bool, tmp_path: Path, monkeypatch
) -> None:
    if was_there:
        (tmp_path / "run").mkdir()
    monkeypatch.setattr(Trainer, "_prepare", lambda *_: raise_(MemoryError("no more")))
    with pytest.raises(BadInput, match="memory"):
        train_tiny(tmp_path / "run")
    assert (tmp_path / "run").exists() == was_there
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    assert train_tiny(tmp_path / "run").status == "finished"


@pytest.mark.parametrize("kind", ["directory", "fifo", "device", "link to a device"])
def test_a_report_is_written_to_a_plain_file_or_not_at_all(
    kind: str, finished_run: Path, tmp_path: Path, capsys, monkeypatch
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr("litmus.reports.report.build_report", lambda *_: pytest.fail("too late"))
    if kind == "directory":
        out.mkdir()
    elif kind == "fifo":
        os.mkfifo(out)
    elif kind == "device":
        out = Path("/dev/null")
    else:
        out.symlink_to("/dev/null")
    before = out.lstat()
    assert main(["report", str(finished_run), "--out", str(out)]) == 2
    assert_one_line(capsys.readouterr().err, "Not a plain file")
    assert (out.lstat().st_ino, out.lstat().st_mode) == (before.st_ino, before.st_mode)
    assert not out.with_name(out.name + ".tmp").exists()
