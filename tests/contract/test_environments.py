"""Environments that misbehave: what is the matter is said, and everything can be stopped."""

from __future__ import annotations

import functools
import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from harness import (
    DEADLINE,
    Hold,
    assert_one_line,
    assert_same_result,
    count_lines,
    is_alive,
    list_children,
    run_python,
    tiny,
    to_arguments,
    train_tiny,
    wait_until,
)

import litmus
from litmus.cli import main
from litmus.errors import BadInput, RunFailed
from litmus.rollouts import failure
from litmus.rollouts.make import make_collector
from litmus.runs.checkpoint import list_checkpoints
from litmus.tasks import make_task_spec
from litmus.tasks.control import ControlTask

Start = Callable[..., "subprocess.Popen[str]"]


def arguments(task: str, workers: int, **options: Any) -> list[str]:
    return to_arguments(tiny("pssvf", task=f"misbehaving:{task}", workers=workers, **options))


@pytest.mark.parametrize("workers", [0, 2])
def test_an_environment_that_raises_shows_its_own_traceback(workers: int, capfd) -> None:
    options = arguments("Breaks", workers, evaluate_every=0)
    assert main(["train", "pssvf", "--out", "run", *options]) == 1
    *above, last = capfd.readouterr().err.strip().splitlines()
    assert_one_line(last, "an episode failed (training episode ", "ZeroDivisionError")
    assert above.count("Traceback (most recent call last):") == 1
    shown = "\n".join(above)
    assert "in measure_the_arm" in shown
    assert "return 1 / (self.taken - self.taken)" in shown
    assert "litmus/rollouts" not in shown  # the code of litmus is not what is wrong


@pytest.mark.parametrize("workers", [0, 1])
def test_in_the_library_the_traceback_comes_with_the_error(workers: int, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="ZeroDivisionError") as caught:
        train_tiny(tmp_path / "run", task="misbehaving:Breaks", workers=workers)
    assert "in measure_the_arm" in caught.value.traceback
    assert workers == 0 or "in measure_the_arm" in "".join(caught.value.__notes__)


@pytest.mark.parametrize("workers", [0, 1])
def test_sys_exit_in_an_environment_is_said(workers: int, tmp_path: Path, capfd) -> None:
    out = ["--out", str(tmp_path / "run")]
    assert main(["train", "pssvf", *out, *arguments("Exits", workers)]) == 1
    assert_one_line(capfd.readouterr().err.splitlines()[-1], "it called sys.exit(3)")


@pytest.mark.parametrize("workers", [0, 1])
def test_what_a_worker_refuses_is_told_in_the_language_of_the_reader(
    workers: int, tmp_path: Path, capfd
) -> None:
    out = ["--out", str(tmp_path / "typed")]
    assert main(["train", "pssvf", *out, *arguments("Refuses", workers)]) == 2
    last = capfd.readouterr().err.splitlines()[-1]
    assert_one_line(last, "litmus: --env-kwargs must name the arm")
    with pytest.raises(BadInput, match=r"^env_kwargs must name the arm$"):
        train_tiny(tmp_path / "called", task="misbehaving:Refuses", workers=workers)


def test_sys_exit_while_an_environment_is_made_is_bad_input(tmp_path: Path, capsys) -> None:
    out = ["--out", str(tmp_path / "run")]
    assert main(["train", "pssvf", *out, *arguments("ExitsWhenMade", 0)]) == 2
    assert_one_line(capsys.readouterr().err, "sys.exit(no display)")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("workers", [0, 1])
def test_a_real_lack_of_memory_is_said(workers: int, tmp_path: Path) -> None:
    with pytest.raises(RunFailed, match="out of memory: Unable to allocate 3 TiB"):
        train_tiny(tmp_path / "run", task="misbehaving:RunsOutOfMemory", workers=workers)


def test_observations_that_no_memory_holds_are_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="no memory holds"):
        train_tiny(tmp_path / "run", task="misbehaving:Wide")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("error", [RuntimeError("a shape is wrong"), ValueError("no such thing")])
def test_nothing_else_is_called_a_lack_of_memory(error: Exception, tmp_path, monkeypatch) -> None:
    def refuse(*_: Any) -> Any:
        raise error

    monkeypatch.setattr("litmus.training.trainer.Trainer._prepare", refuse)
    with pytest.raises(type(error), match=str(error)):
        train_tiny(tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_torch_without_memory_is_said_so(tmp_path: Path, monkeypatch) -> None:
    def refuse(*_: Any) -> Any:
        raise RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr("litmus.training.trainer.Trainer._prepare", refuse)
    with pytest.raises(BadInput, match="does not fit into memory"):
        train_tiny(tmp_path / "run")


@pytest.mark.parametrize("workers", [0, 1])
def test_what_an_environment_prints_does_not_mix_into_results(workers: int) -> None:
    train = ["train", "pssvf", "--out", "run", *arguments("Prints", workers, steps=8)]
    evaluate = ["evaluate", "run", "--json", "--episodes", "2", "--workers", str(workers)]
    code = f"from litmus.cli import main; print(main({train!r}), main({evaluate!r}))"
    done = run_python("-c", code)
    trained, *_, measured, codes = done.stdout.splitlines()
    assert codes == "0 0", done.stderr
    assert trained.startswith("trained 8 steps")
    assert json.loads(measured)["episodes"] == 2
    for words in ("made with a print", "a step of Python", "a step of C"):
        assert words in done.stderr


@pytest.mark.parametrize("workers", [0, 1])
def test_a_limit_ends_episodes_that_never_end(workers: int, tmp_path: Path) -> None:
    options = {"task": "misbehaving:Endless", "workers": workers, "max_episode_steps": 7}
    run = train_tiny(tmp_path / "run", **options)
    assert run.metrics[-1]["steps"] == 7 * run.metrics[-1]["episodes_done"]
    assert litmus.evaluate(run, episodes=2, workers=0).steps == [7, 7]


@pytest.mark.parametrize("native", ["0", "1"])
def test_a_limit_is_kept_by_every_loop(native: str, switch_kernels, tmp_path: Path) -> None:
    switch_kernels(native)
    limited = make_task_spec("HalfCheetah-v5", max_episode_steps=30).build()
    assert isinstance(limited, ControlTask)
    policy = train_tiny(
        tmp_path / "run", task="HalfCheetah-v5", steps=60, max_episode_steps=30, evaluate_every=0
    ).policy

    class Acting:
        act = staticmethod(policy.act)

    lean = limited.run_episode(Acting(), 3)
    assert lean.steps == 30
    assert lean.return_ == limited.run_gymnasium_episode(Acting(), 3).return_
    *_, last = limited.step_through(policy.act, 3)
    assert last.truncated
    assert not last.terminated
    limited.close()


def test_a_limit_needs_steps_to_count(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="ended by max_episode_steps"):
        train_tiny(tmp_path / "run", task="toys:TargetTask", max_episode_steps=3)


@pytest.mark.parametrize("workers", [0, 1])
def test_an_episode_that_runs_for_long_is_named(
    workers: int, tmp_path: Path, hold: Hold, monkeypatch
) -> None:
    """The display is told; without one, the log is."""
    monkeypatch.setattr(failure, "LONG_SECONDS", 0.01)
    for collector in ("serial", "pool"):
        monkeypatch.setattr(f"litmus.rollouts.{collector}.SECONDS_BETWEEN_LOOKS", 0.01)
    for name, value in hold.environment.items():
        monkeypatch.setenv(name, value)
    run = train_tiny(tmp_path / "run", task="toys:ToySlowWalk-v0", steps=8)
    hold.hold()
    seen: list[str] = []

    def release(message: str, *_: object) -> None:
        seen.append(message)
        hold.release()

    make = functools.partial(make_collector, tell=release)
    monkeypatch.setattr("litmus.training.measuring.make_collector", make)
    assert litmus.evaluate(run, episodes=1, workers=workers).steps == [4]
    where = "" if workers == 0 else " in worker 0"
    assert seen[0].startswith(f"waiting for episode 0{where}, which has been running for ")
    assert "--max-episode-steps" in seen[0]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_a_run_that_hangs_can_be_stopped_and_resumed(
    signals: tuple[signal.Signals, ...],
    workers: int,
    tmp_path: Path,
    hold: Hold,
    litmus_process: Start,
    finished_run: Path,
) -> None:
    metrics, said = tmp_path / "run" / "metrics.jsonl", tmp_path / "said"
    hold.hold(metrics, 4)
    options = {"task": "toys:ToySlowWalk-v0", "steps": 40, "checkpoint_seconds": 0}
    with said.open("w") as file:
        process = litmus_process(
            *("train", "pssvf", "--out", "run"),
            *to_arguments(tiny("pssvf", **options, workers=workers)),
            module="hurried",
            env=hold.environment,
            stderr=file,
        )
    wait_until(lambda: count_lines(metrics) >= 4, process)
    for number in signals:
        process.send_signal(number)
        wait_until(lambda: "stopping after this round" in said.read_text(), process)
    assert process.wait(DEADLINE) == 130
    assert "litmus resume run" in said.read_text()
    assert "Traceback" not in said.read_text()
    hold.release()
    assert list_checkpoints(tmp_path / "run" / "checkpoints")
    assert litmus.resume(tmp_path / "run", workers=0, quiet=True).status == "finished"
    assert_same_result(finished_run, tmp_path / "run")


def test_sigterm_ends_a_round_of_endless_updates(tmp_path: Path, litmus_process: Start) -> None:
    process = litmus_process(
        *("train", "pssvf", "--task", "toys:ToyWalk-v0", "--out", "run", "--round-size", 2),
        *("--hidden", 8, "--probing-states", 3, "--workers", 0, "--policy-updates", 1_000_000),
        module="hurried",
    )
    wait_until((tmp_path / "run/checkpoints/round-00000000.sha256").exists, process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert "litmus resume run" in err


@pytest.mark.parametrize("signals", [(signal.SIGTERM,), (signal.SIGINT, signal.SIGINT)])
def test_a_step_in_c_that_never_comes_back_is_ended(
    signals: tuple[signal.Signals, ...], tmp_path: Path, litmus_process: Start
) -> None:
    """Here Python has no say any more: years of simulated time in one step."""
    options = {"task": "Swimmer-v5", "env_kwargs": {"frame_skip": 2_000_000_000}, "workers": 0}
    process = litmus_process(
        *("train", "pssvf", "--out", "run"),
        *to_arguments(tiny("pssvf", **options)),
        module="hurried",
    )
    wait_until((tmp_path / "run/checkpoints/round-00000000.sha256").exists, process)
    for number in signals:
        time.sleep(0.5)
        process.send_signal(number)
    _, err = process.communicate(timeout=DEADLINE)
    assert process.returncode == 130
    assert "go on with: litmus resume run" in err


def test_a_hanging_worker_does_not_outlive_its_trainer(
    tmp_path: Path, litmus_process: Start
) -> None:
    process = litmus_process(
        *("train", "pssvf", "--out", "run"), *arguments("Hangs", 2, evaluate_every=0)
    )
    wait_until((tmp_path / "run/checkpoints/round-00000000.sha256").exists, process)
    children = list_children(process)
    process.kill()
    process.wait(DEADLINE)
    assert len(children) == 2
    wait_until(lambda: not any(map(is_alive, children)))
