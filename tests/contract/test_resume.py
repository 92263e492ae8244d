"""Interrupt anywhere, resume exactly."""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import (
    DEADLINE,
    GONE,
    PROCESS,
    STEADY,
    Hold,
    Killed,
    assert_one_line,
    assert_same_result,
    count_lines,
    flip,
    interrupt,
    kill_at,
    raise_,
    read_events,
    tiny,
    to_arguments,
    train_tiny,
    wait_until,
)

import litmus
from litmus.cli import main
from litmus.errors import BadInput, RunFailed
from litmus.rollouts.make import count_cores
from litmus.rollouts.pool import PoolCollector
from litmus.runs import checkpoint as checkpoint_module
from litmus.runs.checkpoint import list_checkpoints
from litmus.training.trainer import Trainer

Start = Callable[..., "subprocess.Popen[str]"]

SLOW: dict[str, Any] = {
    "task": "toys:ToySlowWalk-v0",
    "steps": 160,
    "buffer_size": 20,
    "policy_updates": 1,
    "evaluator_updates": 1,
    "evaluate_every": 24,
    "checkpoint_seconds": 0.08,
    "workers": 1,
}
"""About a second, with several rounds between checkpoints."""


def start_training(start: Start, hold: Hold, **options: Any) -> subprocess.Popen[str]:
    arguments = to_arguments(tiny("pssvf", **options))
    return start("train", "pssvf", "--out", "run", *arguments, env=hold.environment)


@pytest.fixture(scope="module")
def uninterrupted(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """The run with these options that nothing ever happened to; each is made once."""
    made: dict[str, Path] = {}

    def find(**options: Any) -> Path:
        # The slow walk is the walk with pauses: it has the same results.
        options = {**options, "task": options["task"].replace("Slow", ""), "workers": 0}
        key = repr(sorted(options.items()))
        if key not in made:
            made[key] = train_tiny(tmp_path_factory.mktemp("whole") / "run", **options).path
        return made[key]

    return find


@pytest.mark.parametrize(
    ("overlap", "round_size", "kills"), [(True, 1, 1), (True, 4, 2), (False, 1, 2), (False, 4, 1)]
)
def test_a_run_killed_at_any_moment_and_resumed_ends_as_if_nothing_had_happened(
    overlap: bool,
    round_size: int,
    kills: int,
    tmp_path: Path,
    hold: Hold,
    litmus_process: Start,
    uninterrupted: Callable[..., Path],
) -> None:
    """Where it is killed twice, the second time is while it is being resumed."""
    options = {**SLOW, "overlap": overlap, "round_size": round_size}
    metrics = tmp_path / "run" / "metrics.jsonl"
    # An episode is four steps; with the evaluations there are a few more lines than rounds.
    rounds = SLOW["steps"] // 4 // round_size
    moments = sorted(random.Random(f"{overlap} {round_size}").sample(range(1, rounds), kills))
    for moment in moments:
        hold.hold(metrics, moment)
        if moment == moments[0]:
            process = start_training(litmus_process, hold, **options)
        else:
            process = litmus_process("resume", "run", env=hold.environment)
        wait_until(lambda m=moment: count_lines(metrics) >= m, process)
        process.send_signal(signal.SIGKILL)
        process.wait(DEADLINE)
        assert litmus.Run(tmp_path / "run").status == "unfinished"
    litmus.resume(tmp_path / "run", workers=0, quiet=True)
    assert_same_result(uninterrupted(**options), tmp_path / "run")


KILLING_MOMENTS = [
    ("litmus.runs.checkpoint.write_tensors", 1),
    ("litmus.runs.checkpoint.write_bytes", 1),
    ("litmus.runs.checkpoint.write_tensors", 3),
    ("litmus.runs.checkpoint.write_bytes", 3),
    ("litmus.runs.journal.Journal.append", 4),
    ("litmus.runs.metrics.MetricsFile.write", 1),
    ("litmus.runs.metrics.MetricsFile.write", 7),
    ("litmus.training.trainer.append_snapshot", 1),
    ("litmus.training.trainer.append_snapshot", 3),
    ("litmus.policies.policy.Policy.save", 1),
    ("litmus.evaluators.base.Evaluator.save", 1),
    ("litmus.files.write_json", 1),
]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("target", "call"), KILLING_MOMENTS)
def test_a_run_killed_around_any_write_can_be_resumed(
    target: str,
    call: int,
    when: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    uninterrupted: Callable[..., Path],
) -> None:
    """The moments that a kill from outside would hardly ever meet."""
    options = {
        "task": "toys:ToyWalk-v0",
        "round_size": 1,
        "checkpoint_seconds": 0,
        "steps": 24,
    }
    with monkeypatch.context() as patch:
        kill_at(patch, target, call, when)
        with pytest.raises(Killed):
            train_tiny(tmp_path / "run", **options)
    litmus.resume(tmp_path / "run", quiet=True)
    assert_same_result(uninterrupted(**options), tmp_path / "run")


MEASURING: dict[str, Any] = {
    "task": "toys:ToyWalk-v0",
    "round_size": 1,
    "round_steps": 12,
    "max_round_size": 2,
    "round_turns": 2,
    "policy_step": 40.0,
    "policy_step_decay": 3.0,
    "policy_average": 2.0,
    "recency_unit": "round",
    "standardize_returns": True,
    "selection_share": 0.5,
    "selection_episodes": 2,
    "checkpoint_seconds": 0,
    "steps": 300,
}


OF_STEPS = ("round_turns", "recency_unit", "standardize_returns")


def kill_and_resume(
    path: Path, moment: int, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    """Kill a run after so many lines of its metrics, and let it go on."""
    with monkeypatch.context() as patch:
        kill_at(patch, "litmus.runs.metrics.MetricsFile.write", moment, "after")
        with pytest.raises(Killed):
            train_tiny(path, **options)
    litmus.resume(path, quiet=True)


def rounds_before_learning(run: litmus.Run) -> list[dict[str, Any]]:
    rounds = [event for event in run.metrics if event["event"] == "round"]
    return [event for event in rounds if "evaluator_loss" not in event]


@pytest.mark.parametrize("learns", ["in steps", "by solving"])
@pytest.mark.parametrize("overlap", [False, True])
@pytest.mark.parametrize("beginnings", [1, 3])
@pytest.mark.parametrize("moment", [1, 4, 9, 14])
def test_a_run_that_measures_its_policies_is_resumed_exactly(
    learns: str,
    overlap: bool,
    beginnings: int,
    moment: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    uninterrupted: Callable[..., Path],
) -> None:
    """With measurements after every other round, and learning that goes back at every loss."""
    monkeypatch.setattr("litmus.training.selection.ITERATIONS_BETWEEN", 2)
    monkeypatch.setattr("litmus.training.selection.FALLS", 1)
    options = {**MEASURING, "overlap": overlap, "beginnings": beginnings}
    if learns == "by solving":
        options = {**options, **PROCESS, **dict.fromkeys(OF_STEPS, GONE)}
    whole = litmus.Run(uninterrupted(**options))
    measured = [event for event in whole.metrics if event["event"] == "measurement"]
    assert len(measured) > 3
    assert len(rounds_before_learning(whole)) == (7 if beginnings > 1 else 0)
    kill_and_resume(tmp_path / "run", moment, monkeypatch, options)
    assert_same_result(whole.path, tmp_path / "run")
    last = "last_policy.safetensors"
    assert (whole.path / last).read_bytes() == (tmp_path / "run" / last).read_bytes()


@pytest.mark.parametrize("moment", [4, 10, 30, 50])
def test_a_run_that_cuts_episodes_short_is_resumed_exactly(
    moment: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    uninterrupted: Callable[..., Path],
) -> None:
    options = {
        **{name: value for name, value in MEASURING.items() if name not in OF_STEPS},
        **PROCESS,
        **STEADY,
        "steps": 150_000,
        "cut_steadiness": 0.5,
        "beginnings": 3,
        "selection_share": 0.1,
    }
    monkeypatch.setattr("litmus.algorithms.lengths.COMPARED", 2)
    whole = litmus.Run(uninterrupted(**options))
    cuts = [event.get("most_steps") for event in whole.metrics if event["event"] == "round"]
    assert {None, 128} <= set(cuts)
    assert {None, 128} <= {event.get("most_steps") for event in rounds_before_learning(whole)}
    measured = [one for one in whole.metrics if one["event"] == "measurement"]
    assert {one.get("most_steps") for one in measured} == {None, 128}
    kill_and_resume(tmp_path / "run", moment, monkeypatch, options)
    assert_same_result(whole.path, tmp_path / "run")


def test_a_run_killed_before_it_wrote_anything_can_be_resumed(
    tmp_path: Path, monkeypatch, finished_run: Path
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "__init__", lambda *args: raise_(Killed()))
        with pytest.raises(Killed):
            train_tiny(tmp_path / "run")
    litmus.resume(tmp_path / "run", quiet=True)
    assert_same_result(finished_run, tmp_path / "run")


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run stopped by Ctrl-C after three of its five rounds, with two checkpoints."""
    out = tmp_path_factory.mktemp("stopped") / "run"
    interrupt(lambda: train_tiny(out, checkpoint_seconds=0), rounds=2)
    assert len(list_checkpoints(out / "checkpoints")) == 2
    return out


@pytest.fixture
def stopped(stopped_run: Path, tmp_path: Path) -> Path:
    """A copy of it that the test may change."""
    return Path(shutil.copytree(stopped_run, tmp_path / "run"))


def flip_bit(path: Path) -> None:
    path.write_bytes(flip(path.read_bytes(), path.stat().st_size // 2))


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


@pytest.mark.parametrize("damage", [flip_bit, truncate, Path.unlink])
@pytest.mark.parametrize("part", [".safetensors", ".sha256"])
def test_a_damaged_newest_checkpoint_is_noticed_and_the_one_before_used(
    part: str, damage: Callable[[Path], None], stopped: Path, finished_run: Path, caplog
) -> None:
    newest = list_checkpoints(stopped / "checkpoints")[0]
    damage(newest.with_suffix(part))
    litmus.resume(stopped, quiet=True)
    assert "cannot be used" in caplog.text
    assert_same_result(finished_run, stopped)


def test_who_looks_while_a_checkpoint_is_written_waits_for_its_end(
    stopped: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The checksum comes last."""
    wanted = litmus.Run(stopped).policy.flat_params
    checksum = list_checkpoints(stopped / "checkpoints")[0].with_suffix(".sha256")
    text = checksum.read_text()
    checksum.unlink()
    monkeypatch.setattr(checkpoint_module.time, "sleep", lambda _: checksum.write_text(text))
    assert torch.equal(litmus.Run(stopped).policy.flat_params, wanted)
    assert not caplog.messages


def test_the_warning_names_the_damaged_checkpoint(stopped: Path, capsys, caplog) -> None:
    newest = list_checkpoints(stopped / "checkpoints")[0]
    flip_bit(newest)
    litmus.resume(stopped, quiet=True)
    (warning,) = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert newest.name in warning
    assert "checksum" in warning


def test_after_damage_the_next_checkpoints_are_whole_again(stopped: Path) -> None:
    """A damaged checkpoint must not hold the place of a whole one."""
    flip_bit(list_checkpoints(stopped / "checkpoints")[0])
    interrupt(lambda: litmus.resume(stopped, quiet=True), rounds=2)
    for path in list_checkpoints(stopped / "checkpoints"):
        checkpoint_module.read_checkpoint(path)


def test_when_no_checkpoint_is_whole_it_says_so(stopped: Path, capsys) -> None:
    for path in list_checkpoints(stopped / "checkpoints"):
        flip_bit(path)
    assert main(["resume", str(stopped)]) == 2
    assert_one_line(capsys.readouterr().err, "no checkpoint that can be used")
    assert main(["evaluate", str(stopped)]) == 2


def test_a_history_is_never_thrown_away_for_want_of_a_checkpoint(stopped: Path, capsys) -> None:
    measured = (stopped / "history" / "rounds.bin").read_bytes()
    (stopped / "metrics.jsonl").write_bytes(b"")
    for path in list_checkpoints(stopped / "checkpoints"):
        path.with_suffix(".sha256").unlink()
    assert main(["resume", str(stopped)]) == 2
    assert_one_line(capsys.readouterr().err.splitlines()[-1] + "\n", "no checkpoint")
    assert (stopped / "history" / "rounds.bin").read_bytes() == measured


def test_a_resumed_run_shares_out_as_many_cores_as_it_began_with(
    stopped: Path, finished_run: Path, monkeypatch
) -> None:
    """The number of threads decides the last bits of a sum."""
    monkeypatch.setattr("litmus.training.trainer.count_learning_cores", lambda: 64)
    chosen = []
    monkeypatch.setattr("torch.set_num_threads", chosen.append)
    litmus.resume(stopped, quiet=True)
    assert chosen
    assert max(chosen) <= count_cores()
    assert_same_result(stopped, finished_run)


def test_damaged_history_falls_back_to_the_checkpoint_before(
    stopped: Path, finished_run: Path
) -> None:
    """The last round's row is damaged; the checkpoint of the round before does without it."""
    rows = stopped / "history" / "rounds.bin"
    rows.write_bytes(flip(rows.read_bytes(), -3))
    litmus.resume(stopped, quiet=True)
    assert_same_result(finished_run, stopped)


def test_history_damaged_at_its_beginning_is_bad_input(stopped: Path, capsys) -> None:
    rows = stopped / "history" / "rounds.bin"
    rows.write_bytes(flip(rows.read_bytes(), 3))
    assert main(["resume", str(stopped)]) == 2
    assert_one_line(capsys.readouterr().err, "round 0", "damaged")


def test_a_run_that_needs_no_history_goes_on_without_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    options = {**PROCESS, **dict.fromkeys(OF_STEPS, GONE), "workers": 0}
    whole = train_tiny(tmp_path / "whole", **options).path
    interrupt(lambda: train_tiny(tmp_path / "run", checkpoint_seconds=0, **options), rounds=3)
    rows = tmp_path / "run/history/rounds.bin"
    rows.write_bytes(flip(rows.read_bytes(), 3))
    run = litmus.resume(tmp_path / "run", quiet=True)
    assert run.policy_path.read_bytes() == (whole / "policy.safetensors").read_bytes()
    assert "round 0" in caplog.text
    assert "goes on" in caplog.text


def test_metrics_shorter_than_the_checkpoint_says_are_bad_input(stopped: Path, capsys) -> None:
    (stopped / "metrics.jsonl").write_text("")
    assert main(["resume", str(stopped)]) == 2
    assert_one_line(capsys.readouterr().err, "metrics.jsonl")


def test_half_a_line_after_the_last_checkpoint_is_cut_off(
    stopped: Path, finished_run: Path
) -> None:
    with (stopped / "metrics.jsonl").open("a") as file:
        file.write('{"event": "rou')
    with (stopped / "history" / "rounds.jsonl").open("a") as file:
        file.write('{"round": 3, "fir')
    with (stopped / "history" / "rounds.bin").open("ab") as file:
        file.write(b"1234567")
    with (stopped / "history" / "probing.bin").open("ab") as file:
        file.write(b"12345")
    litmus.resume(stopped, quiet=True)
    assert_same_result(finished_run, stopped)


def test_a_checkpoint_of_another_version_is_bad_input(tmp_path: Path, monkeypatch, capsys) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_module, "FORMAT", 99)
        interrupt(lambda: train_tiny(tmp_path / "run"), rounds=2)
    assert main(["resume", str(tmp_path / "run")]) == 2
    assert_one_line(capsys.readouterr().err, "another version", "99")


def test_ctrl_c_checkpoints_prints_the_resume_command_and_exits_130(
    tmp_path: Path, hold: Hold, litmus_process: Start, uninterrupted: Callable[..., Path]
) -> None:
    metrics = tmp_path / "run" / "metrics.jsonl"
    hold.hold(metrics, 4)
    process = start_training(litmus_process, hold, **{**SLOW, "workers": 2})
    wait_until(lambda: count_lines(metrics) >= 4, process)
    process.send_signal(signal.SIGINT)
    hold.release()
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert "litmus resume run" in err
    assert "Traceback" not in err
    newest = list_checkpoints(tmp_path / "run" / "checkpoints")[0]
    assert checkpoint_module.read_checkpoint(newest).tree["counters"]["rounds"] >= 3
    litmus.resume(tmp_path / "run", workers=0, quiet=True)
    assert_same_result(uninterrupted(**SLOW), tmp_path / "run")


@pytest.mark.parametrize("moment", ["config.json", "checkpoints/round-00000000.sha256"])
def test_ctrl_c_in_a_terminal_while_it_starts_is_as_calm(
    moment: str, tmp_path: Path, hold: Hold, litmus_process: Start
) -> None:
    """A terminal sends Ctrl-C to the whole group: to workers that are only starting as well."""
    hold.hold()
    process = litmus_process(
        *("train", "pssvf", "--out", "run"),
        *to_arguments(tiny("pssvf", **{**SLOW, "workers": 2})),
        env=hold.environment,
        start_new_session=True,
    )
    wait_until((tmp_path / "run" / moment).exists, process)
    os.killpg(process.pid, signal.SIGINT)
    hold.release()
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert "litmus resume run" in err
    assert "Traceback" not in err
    litmus.resume(tmp_path / "run", workers=0, quiet=True)


def test_two_processes_never_work_on_one_run(
    tmp_path: Path, hold: Hold, litmus_process: Start, uninterrupted: Callable[..., Path], capsys
) -> None:
    hold.hold(tmp_path / "run" / "metrics.jsonl", 1)
    process = start_training(litmus_process, hold, **SLOW)
    wait_until(lambda: count_lines(tmp_path / "run" / "metrics.jsonl") >= 1, process)
    before = (tmp_path / "run" / "config.json").read_bytes()
    assert main(["resume", str(tmp_path / "run"), "--steps", "5000", "--workers", "0"]) == 2
    assert_one_line(capsys.readouterr().err, "another process is working on")
    assert (tmp_path / "run" / "config.json").read_bytes() == before
    hold.release()
    assert process.wait(DEADLINE) == 0
    assert_same_result(uninterrupted(**SLOW), tmp_path / "run")


def test_a_finished_run_is_not_resumed_by_mistake(run: Path, capsys) -> None:
    assert main(["resume", str(run)]) == 2
    assert_one_line(capsys.readouterr().err, "is finished", "--steps")


def test_a_finished_run_can_be_made_longer_and_no_shorter(tmp_path: Path) -> None:
    train_tiny(tmp_path / "run", steps=24)
    with pytest.raises(BadInput, match="longer"):
        litmus.resume(tmp_path / "run", steps=8)
    run = litmus.resume(tmp_path / "run", steps=40, quiet=True)
    assert run.config.steps == 40
    assert [event["event"] for event in run.metrics].count("finished") == 1
    assert run.metrics[-1]["steps"] == 40
    train_tiny(tmp_path / "whole", steps=40, evaluate_every=0)
    assert run.policy_path.read_bytes() == (tmp_path / "whole/policy.safetensors").read_bytes()


def test_what_is_no_run_cannot_be_resumed(tmp_path: Path, capsys) -> None:
    (tmp_path / "empty").mkdir()
    for path, words in ((tmp_path / "empty", "not a run"), (tmp_path / "none", "does not exist")):
        assert main(["resume", str(path)]) == 2
        assert_one_line(capsys.readouterr().err, words)


def test_a_nan_reward_drops_that_episode_and_the_run_goes_on(tmp_path: Path, capsys) -> None:
    arguments = to_arguments(tiny("pssvf", task="toys:ToyNanWalk-v0", steps=80))
    assert main(["train", "pssvf", "--out", str(tmp_path / "run"), *arguments]) == 0
    run = litmus.Run(tmp_path / "run")
    finished = run.metrics[-1]
    assert finished["event"] == "finished"
    history = [json.loads(s) for s in (run.history_path / "rounds.jsonl").read_text().splitlines()]
    returns = [return_ for line in history for return_ in line["returns"]]
    assert 0 < returns.count(None) < len(returns)
    assert finished["dropped"] == returns.count(None)
    assert "dropped" in capsys.readouterr().err
    assert all(map(_is_finite, run.policy.flat_params.tolist()))
    assert all(map(_is_finite, run.policy.normalizer.mean.tolist()))
    assert all(event["mean"] is None or _is_finite(event["mean"]) for event in run.metrics)


def _is_finite(number: float) -> bool:
    return number - number == 0


def test_a_task_that_only_ever_pays_nan_teaches_nothing_and_breaks_nothing(
    tmp_path: Path, capsys
) -> None:
    run = train_tiny(tmp_path / "run", task="toys:ToyAlwaysNanWalk-v0", checkpoint_seconds=0)
    assert run.metrics[-1]["dropped"] == run.metrics[-1]["episodes_done"] == 10
    assert main(["evaluate", str(run.path), "--episodes", "2", "--workers", "0", "--json"]) == 0
    assert json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["returns"] == [None] * 2


def test_dropped_episodes_survive_a_resume(tmp_path: Path) -> None:
    options = {"task": "toys:ToyNanWalk-v0", "steps": 80}
    train_tiny(tmp_path / "whole", **options)
    interrupt(lambda: train_tiny(tmp_path / "run", **options), rounds=5)
    litmus.resume(tmp_path / "run", quiet=True)
    assert_same_result(tmp_path / "whole", tmp_path / "run")


def test_a_disk_that_fills_up_stops_the_run_and_leaves_it_resumable(
    tmp_path: Path, litmus_process: Start, uninterrupted: Callable[..., Path]
) -> None:
    """No file may grow beyond 10 kB: what is appended to hits it after some rounds."""
    options = {**SLOW, "task": "toys:ToyWalk-v0", "checkpoint_seconds": 0, "round_size": 1}
    options["selection_share"] = 0.0  # whose policies alone would fill a checkpoint
    process = litmus_process(
        *("train", "pssvf", "--out", "run"),
        *to_arguments(tiny("pssvf", **{**options, "workers": 0})),
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000)),
    )
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 1
    assert_one_line(err.strip().splitlines()[-1], "cannot write to run", "litmus resume run")
    assert "Traceback" not in err
    assert len(read_metrics_so_far(tmp_path / "run")) > 3
    litmus.resume(tmp_path / "run", workers=0, quiet=True)
    assert_same_result(uninterrupted(**options), tmp_path / "run")


def read_metrics_so_far(run: Path) -> list[dict[str, Any]]:
    return litmus.Run(run).metrics


def test_a_full_disk_is_told_before_anything_is_written(tmp_path: Path, monkeypatch) -> None:
    usage = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr("shutil.disk_usage", lambda path: usage)
    with pytest.raises(BadInput, match="free"):
        train_tiny(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_directory_that_cannot_be_written_to_is_told_before_training(
    tmp_path: Path, capsys
) -> None:
    (tmp_path / "file").touch()
    for out in (tmp_path / "file" / "run", Path("/proc/run"), tmp_path / ("x" * 300)):
        arguments = to_arguments(tiny("pssvf", task="toys:ToyWalk-v0"))
        assert main(["train", "pssvf", "--out", str(out), *arguments]) == 2
        assert_one_line(capsys.readouterr().err, str(out))


def test_a_run_that_became_unwritable_is_told_in_one_line(stopped: Path, monkeypatch) -> None:
    def refuse(*_: Any) -> Any:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("litmus.runs.directory.RunDirectory.add_provenance", refuse)
    with pytest.raises(BadInput, match="Read-only"):
        litmus.resume(stopped, quiet=True)


def test_an_existing_run_is_never_overwritten(run: Path, capsys) -> None:
    before = {p: p.read_bytes() for p in run.rglob("*") if p.is_file()}
    arguments = to_arguments(tiny("pssvf", task="toys:ToyWalk-v0"))
    assert main(["train", "pssvf", "--out", str(run), *arguments]) == 2
    assert_one_line(capsys.readouterr().err, "exists already", "litmus resume")
    assert {p: p.read_bytes() for p in run.rglob("*") if p.is_file()} == before


def test_an_empty_directory_may_become_a_run(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    assert train_tiny(tmp_path / "run").status == "finished"


def test_an_unfinished_run_has_a_policy_and_an_evaluator(stopped: Path) -> None:
    run = litmus.Run(stopped)
    assert run.status == "unfinished"
    assert _is_finite(run.evaluator.score(run.policy))
    assert len(litmus.evaluate(run, episodes=2, workers=0).returns) == 2


def test_provenance_tells_who_worked_on_a_run(stopped: Path) -> None:
    litmus.resume(stopped, quiet=True)
    provenance = litmus.Run(stopped).provenance
    assert provenance["versions"]["torch"]
    assert len(provenance["resumed"]) == 1
    assert read_events(stopped)[-1]["event"] == "finished"


def test_failing_to_start_leaves_no_worker_behind(stopped: Path, monkeypatch) -> None:
    closed = []
    close = PoolCollector.close
    monkeypatch.setattr(PoolCollector, "close", lambda pool: closed.append(pool) or close(pool))
    (stopped / "metrics.jsonl").write_text("")
    with pytest.raises(BadInput):
        litmus.resume(stopped, workers=1, quiet=True)
    assert len(closed) == 1


def test_an_error_while_training_leaves_the_run_to_others(tmp_path: Path) -> None:
    """The lock is let go of, and the run can be looked at."""
    with pytest.raises(RunFailed):
        train_tiny(tmp_path / "run", task="toys:ToyRaisingWalk-v0")
    with pytest.raises(RunFailed):
        litmus.resume(tmp_path / "run", quiet=True)


@pytest.mark.parametrize("kernels", [None, "AVX2"])
def test_a_run_that_goes_on_with_other_kernels_says_so(
    kernels: str | None, stopped: Path, monkeypatch, capsys
) -> None:
    """And goes on: only the last bits are at stake."""
    provenance = json.loads((stopped / "provenance.json").read_text())
    monkeypatch.setattr("litmus.training.trainer.find_kernels", lambda: kernels)
    assert main(["resume", str(stopped)]) == 0
    began = provenance["hardware"]["kernels"]
    is_other = (began is None) != (kernels is None)
    assert ("this run began" in capsys.readouterr().err) == is_other
