"""A size that nothing can hold is refused in one line, before anything is made or started."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from harness import assert_one_line, tiny, to_arguments

from litmus.algorithms import read_config
from litmus.cli import main
from litmus.errors import BadInput
from litmus.rollouts.machine import find_memory
from litmus.rollouts.pool import PoolCollector
from litmus.tasks import find_task
from litmus.training.memory import check_memory, estimate
from litmus.training.setup import design_policy

HUGE = [
    *(("--workers", size) for size in ("1e30", "1e9", "4000")),
    *(("--round-size", size) for size in ("1e12", "1e30", "1000000")),
    *(("--hidden", size) for size in ("1000000000", "1e30", "1000000 1000000")),
    *(("--probing-states", size) for size in ("1e15", "1000000")),
    *(("--evaluator-hidden", size) for size in ("1e15", "1000000 1000000")),
    *(("--buffer-size", size) for size in ("1e15", "1e9")),
    *(("--batch-size", size) for size in ("1e15", "1000000")),
    *(("--evaluator-updates", size) for size in ("1e15", "1000000")),
    *(("--remembered-policies", size) for size in ("1e15", "100000")),
    ("--policy-updates", "1e15"),
    ("--evaluate-episodes", "1e15"),
    ("--steps", "1e30"),
    ("--evaluate-every", "1e30"),
    ("--max-episode-steps", "1e30"),
    ("--noise", "1e300"),
    ("--policy-lr", "1e300"),
    ("--probing-high", "1e300"),
]


@pytest.mark.parametrize(("option", "size"), HUGE)
def test_a_size_that_nothing_can_hold_is_one_line_and_leaves_nothing(
    option: str, size: str, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr(PoolCollector, "_spawn", lambda *_: pytest.fail("a worker was started"))
    monkeypatch.setattr("litmus.training.memory.find_memory", lambda: 8 * 2**30)
    others = [] if option != "--evaluator-updates" else ["--round-size", "1000"]
    others += [] if option != "--batch-size" else ["--evaluator-updates", "1000"]
    others += [] if option != "--buffer-size" else ["--steps", "1e9"]
    others += [] if option == "--remembered-policies" else ["--preset", "network"]
    out = ["--task", "CartPole-v1", "--out", str(tmp_path / "run"), *others]
    assert main(["train", "pssvf", *out, option, *size.split()]) == 2
    assert_one_line(capsys.readouterr().err, option)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("option", "size"),
    [
        ("--buffer-size", "1e9"),
        ("--critic-hidden", "1000000 1000000"),
        ("--updates", "1000000"),
        ("--batch-size", "1000000"),
        ("--update-every", "1e15"),
        ("--discount", "1.5"),
        ("--polyak", "-1"),
    ],
)
def test_nor_does_ddpg_take_what_nothing_can_hold(
    option: str, size: str, tmp_path: Path, capsys, monkeypatch
) -> None:
    monkeypatch.setattr(PoolCollector, "_spawn", lambda *_: pytest.fail("a worker was started"))
    monkeypatch.setattr("litmus.training.memory.find_memory", lambda: 8 * 2**30)
    others = ["--steps", "1e9", "--out", str(tmp_path / "run")]
    others += ["--batch-size", "10000"] if option == "--updates" else []
    assert main(["train", "ddpg", "--task", "Pendulum-v1", *others, option, *size.split()]) == 2
    assert_one_line(capsys.readouterr().err, option)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("task", ["CartPole-v1", "toys:TargetTask"])
def test_a_task_without_single_continuous_actions_is_refused_by_ddpg(
    task: str, tmp_path: Path, capsys
) -> None:
    assert main(["train", "ddpg", "--task", task, "--out", str(tmp_path / "run")]) == 2
    assert_one_line(capsys.readouterr().err, "ddpg learns", task)
    assert not (tmp_path / "run").exists()


def test_nor_does_an_experiment_begin_with_one(tmp_path: Path, capsys) -> None:
    chosen = ["--tasks", "CartPole-v1", "--algorithms", "pssvf", "ddpg", "--seeds", "1"]
    out = ["--steps", "100", "--out", str(tmp_path / "out")]
    assert main(["experiment", "learning-curves", *chosen, *out]) == 2
    assert_one_line(capsys.readouterr().err, "ddpg learns", "CartPole-v1")
    assert not (tmp_path / "out" / "runs").exists()


@pytest.mark.parametrize(
    "arguments",
    [
        ["evaluate", "run", "--episodes", "1e15"],
        ["evaluate", "run", "--workers", "1e30"],
        ["evaluate", "run", "--seed", "1e30"],
        ["resume", "run", "--workers", "1e30", "--steps", "100"],
        ["resume", "run", "--steps", "1e30"],
        ["watch", "run", "--port", "1e30"],
        ["watch", "run", "--port", "65536"],
        ["watch", "run", "--port", "-1"],
    ],
)
@pytest.mark.usefixtures("run")
def test_nor_do_the_other_commands_try(arguments: list[str], capsys) -> None:
    assert main(arguments) == 2
    assert_one_line(capsys.readouterr().err, arguments[2])


@pytest.mark.parametrize(
    "options",
    [
        {"max_episode_steps": 10**12},
        {"max_episode_steps": -1},
        {"xml_file": "x" * 100_000},
    ],
)
def test_options_of_an_environment_that_nothing_can_hold(
    options: Any, tmp_path: Path, capsys
) -> None:
    """They are the environment's own: what it says of them is told, or it runs."""
    arguments = to_arguments(tiny("pssvf", task="Swimmer-v5", steps=40, env_kwargs=options))
    limit = ["--max-episode-steps", "20", "--out", str(tmp_path / "run")]
    code = main(["train", "pssvf", *limit, *arguments])
    assert (code == 0) == (tmp_path / "run").exists()
    if code:
        assert code == 2
        assert_one_line(capsys.readouterr().err)


def test_options_nested_without_end_are_one_line(tmp_path: Path, capsys) -> None:
    deep = '{"a": ' + "[" * 50_000 + "]" * 50_000 + "}"
    task = ["--task", "CartPole-v1", "--out", str(tmp_path / "run")]
    assert main(["train", "pssvf", *task, "--env-kwargs", deep]) == 2
    assert_one_line(capsys.readouterr().err, "--env-kwargs")


def make_config(**options: Any) -> Any:
    options = {**tiny("pssvf"), "task": "CartPole-v1", **options}
    return read_config("pssvf", options)


def test_the_estimate_names_what_takes_the_memory() -> None:
    config = make_config(buffer_size=10**8, hidden=(256, 256), steps=10**9)
    architecture = design_policy(config, find_task(config))
    need = estimate(config, architecture)
    assert "--buffer-size" in need.largest
    assert need.total == pytest.approx(4e8 * architecture.num_params, rel=0.01)
    with pytest.raises(BadInput, match=r"--buffer-size.*this machine has"):
        check_memory(config, architecture, torch.device("cpu"))


def test_a_buffer_counts_only_as_far_as_a_run_can_fill_it() -> None:
    short, long = make_config(steps=100), make_config(steps=10**6)
    architecture = design_policy(short, find_task(short))
    assert estimate(short, architecture).total < estimate(long, architecture).total


def test_ordinary_runs_fit() -> None:
    """The defaults, on the widest of the tasks, into an ordinary machine."""
    config = read_config("pssvf", {"task": "Humanoid-v5", "workers": 8})
    need = estimate(config, design_policy(config, find_task(config)))
    assert need.total < 12 * 2**30
    assert find_memory() > 2**28
