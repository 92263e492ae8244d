"""Interrupt anywhere, resume exactly: an algorithm that learns from transitions, its replay in
files and the episode under way included."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import (
    DEADLINE,
    Hold,
    Killed,
    assert_one_line,
    assert_same_result,
    count_lines,
    flip,
    kill_at,
    tiny,
    to_arguments,
    train_tiny,
    wait_until,
)

import litmus
from litmus.algorithms.transition_log import TransitionLog
from litmus.cli import main
from litmus.runs.checkpoint import list_checkpoints

OPTIONS: dict[str, Any] = {
    "task": "toys:ToyWalk-v0",
    "env_kwargs": {"length": 7},  # blocks are of 6 steps: most checkpoints are within an episode
    "steps": 72,
    "checkpoint_seconds": 0,
}


def train(out: Path, **options: Any) -> Any:
    return train_tiny(out, "ddpg", **{**OPTIONS, **options})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The run that nothing ever happened to."""
    return Path(train(tmp_path_factory.mktemp("whole") / "run").path)


MOMENTS = [
    ("litmus.algorithms.transition_log.TransitionLog.append", 1),
    ("litmus.algorithms.transition_log.TransitionLog.append", 8),
    ("litmus.algorithms.transition_log.TransitionLog.sync", 7),
    ("litmus.algorithms.transition_log.TransitionLog.forget", 9),
    ("litmus.algorithms.transition_log.TransitionLog._open_next", 3),
    ("litmus.algorithms.ddpg.Ddpg._learn", 5),
    ("litmus.runs.checkpoint.write_tensors", 1),
    ("litmus.runs.checkpoint.write_tensors", 6),
    ("litmus.runs.checkpoint.write_bytes", 6),
    ("litmus.runs.metrics.MetricsFile.write", 1),
    ("litmus.runs.metrics.MetricsFile.write", 9),
    ("litmus.policies.policy.Policy.save", 1),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("target", "call"), MOMENTS)
def test_a_run_killed_around_any_write_can_be_resumed(
    target: str, call: int, when: str, tmp_path: Path, monkeypatch, whole: Path
) -> None:
    with monkeypatch.context() as patch:
        kill_at(patch, target, call, when)
        with pytest.raises(Killed):
            train(tmp_path / "run")
    litmus.resume(tmp_path / "run", quiet=True)
    assert_same_result(whole, tmp_path / "run")


@pytest.mark.parametrize(
    "options",
    [
        {"buffer_size": 4},  # an episode does not fit into it
        {"checkpoint_seconds": 1000},  # only the first one
        {"normalize_observations": True},
        {"task": "toys:ToyMatrixWalk-v0"},
        {"task": "toys:ToyOneSidedWalk-v0"},
        {"task": "toys:ToyDoubleWalk-v0"},
        {"task": "toys:ToyNanWalk-v0"},
        {"task": "toys:ToyNanWalk-v0", "buffer_size": 4},  # blocks are longer, and not all as long
        {"task": "toys:ToyAlwaysNanWalk-v0"},
        {"task": "Hopper-v5", "env_kwargs": {}, "max_episode_steps": 16},
        {"task": "Humanoid-v5", "env_kwargs": {}, "survival_bonus": "remove"},
        {"task": "toys:CountdownTask", "env_kwargs": {"start": 20.0}},
        {"selection_share": 0.3, "selection_episodes": 2, "steps": 240},
    ],
)
def test_whatever_the_task_it_is_resumed_exactly(
    options: dict[str, Any], tmp_path: Path, monkeypatch
) -> None:
    expected = train(tmp_path / "whole", **options)
    begin = partial(train, tmp_path / "run", **options)
    resume = partial(litmus.resume, tmp_path / "run", quiet=True)
    for go_on, moment in ((begin, 7), (resume, 5)):
        with monkeypatch.context() as patch:
            kill_at(patch, "litmus.runs.metrics.MetricsFile.write", moment, "after")
            with pytest.raises(Killed):
                go_on()
    resume()
    assert_same_result(expected.path, tmp_path / "run")


def test_a_process_killed_in_the_middle_of_an_episode(
    tmp_path: Path, hold: Hold, litmus_process: Callable[..., Any], whole: Path
) -> None:
    metrics = tmp_path / "run" / "metrics.jsonl"
    hold.hold(metrics, 6)
    slow = tiny("ddpg", **{**OPTIONS, "task": "toys:ToySlowWalk-v0", "workers": 1})
    process = litmus_process(
        "train", "ddpg", "--out", "run", *to_arguments(slow), env=hold.environment
    )
    wait_until(lambda: count_lines(metrics) >= 6, process)
    process.send_signal(signal.SIGKILL)
    process.wait(DEADLINE)
    hold.release()
    litmus.resume(tmp_path / "run", workers=0, quiet=True)
    assert_same_result(whole, tmp_path / "run")


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("stopped") / "run"
    with pytest.MonkeyPatch.context() as patch:
        kill_at(patch, "litmus.runs.metrics.MetricsFile.write", 12, "after")
        with pytest.raises(Killed):
            train(out)
    return out


@pytest.fixture
def stopped(stopped_run: Path, tmp_path: Path) -> Path:
    """A copy of it that the test may change."""
    return Path(shutil.copytree(stopped_run, tmp_path / "run"))


def list_transitions(run: Path) -> list[Path]:
    return sorted((run / "history").glob("transitions-*.bin"))


def test_what_was_torn_after_the_last_checkpoint_is_cut_off(stopped: Path, whole: Path) -> None:
    with list_transitions(stopped)[-1].open("ab") as file:
        file.write(b"1234567")
    litmus.resume(stopped, quiet=True)
    assert_same_result(whole, stopped)


def test_a_damaged_newest_checkpoint_falls_back_to_the_one_before(
    stopped: Path, whole: Path
) -> None:
    newest = list_checkpoints(stopped / "checkpoints")[0]
    newest.write_bytes(flip(newest.read_bytes(), 40))
    litmus.resume(stopped, quiet=True)
    assert_same_result(whole, stopped)


def flip_bit(path: Path) -> None:
    path.write_bytes(flip(path.read_bytes(), 5))


def empty(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [flip_bit, empty, Path.unlink])
@pytest.mark.parametrize("which", [-2, -4])  # the last is newer than the checkpoint
def test_damaged_transitions_are_named(
    which: int, damage: Callable[[Path], None], stopped: Path, capsys
) -> None:
    damage(list_transitions(stopped)[which])
    assert main(["resume", str(stopped)]) == 2
    assert_one_line(capsys.readouterr().err, "transitions")


def test_transitions_are_never_thrown_away_for_want_of_a_checkpoint(stopped: Path, capsys) -> None:
    kept = [path.read_bytes() for path in list_transitions(stopped)]
    (stopped / "metrics.jsonl").write_bytes(b"")
    for path in list_checkpoints(stopped / "checkpoints"):
        path.with_suffix(".sha256").unlink()
    assert main(["resume", str(stopped)]) == 2
    assert [path.read_bytes() for path in list_transitions(stopped)] == kept


def test_a_checkpoint_holds_no_transitions_and_old_ones_leave_the_disk(tmp_path: Path) -> None:
    sizes = {}
    for buffer_size in (12, 48):
        run = train(tmp_path / str(buffer_size), buffer_size=buffer_size, steps=240)
        newest = list_checkpoints(run.path / "checkpoints")[0]
        sizes[buffer_size] = newest.stat().st_size
        row = 4 * (2 * 3 + 2 + 2) + 4
        on_disk = sum(path.stat().st_size for path in list_transitions(run.path)) / row
        # Two checkpoints' needs, and what shares a file with them.
        assert buffer_size <= on_disk <= buffer_size + buffer_size / 4 + 4 * 6
    assert abs(sizes[12] - sizes[48]) < 200


def test_no_transition_is_written_twice(tmp_path: Path, monkeypatch) -> None:
    appended: list[tuple[int, int]] = []
    append = TransitionLog.append

    def count(log: TransitionLog, first: int, rows: np.ndarray) -> None:
        appended.append((first, len(rows)))
        append(log, first, rows)

    monkeypatch.setattr(TransitionLog, "append", count)
    train(tmp_path / "run")
    assert appended == [(first, 6) for first in range(0, 72, 6)]


def test_a_task_that_does_not_repeat_itself_goes_on_and_says_so(
    stopped: Path, monkeypatch, caplog
) -> None:
    import toys

    reset = toys.Walk.reset
    monkeypatch.setattr(
        toys.Walk, "reset", lambda walk, seed=None, options=None: reset(walk, seed=seed + 1)
    )
    run = litmus.resume(stopped, quiet=True)
    assert "does not repeat itself" in caplog.text
    assert run.status == "finished"
