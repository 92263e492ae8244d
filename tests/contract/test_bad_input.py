"""Bad input: one line that names the problem and the nearest valid choice, exit code 2."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from harness import assert_one_line, tiny, to_arguments, train_tiny

import litmus
from litmus.cli import main

TASK = ["--task", "toys:ToyWalk-v0"]

MISTAKES = [
    (["trian"], "unknown command 'trian'; did you mean 'train'?"),
    ([], "COMMAND"),
    (["train"], "ALGORITHM"),
    (["train", "psvf", *TASK], "unknown algorithm 'psvf'; did you mean 'pssvf'?"),
    (["train", "pssvf"], "no task given; name one, such as --task Swimmer-v5"),
    (["train", "pssvf", "--task", "Swimer-v5"], "unknown task 'Swimer-v5'; did you mean 'Swimmer-"),
    (["train", "pssvf", *TASK, "--preset", "papr"], "unknown preset 'papr'; did you mean 'paper'?"),
    (["train", "pssvf", *TASK, "--channels", "4"], "'--channels'; --architecture cnn has it"),
    (["train", "pssvf", *TASK, "--stepps", "5"], "unknown option '--stepps'; did you mean '--step"),
    (["train", "pssvf", *TASK, "--steps", "-5"], "--steps must be at least 1, not -5"),
    (["train", "pssvf", *TASK, "--steps", "some"], "--steps takes a number, not 'some'"),
    (["train", "pssvf", *TASK, "--beginnings", "2,3"], "--beginnings takes a number, not '2,3'"),
    (
        ["train", "pssvf", *TASK, "--architecture", "mpl"],
        "unknown architecture 'mpl'; did you mean",
    ),
    (
        ["train", "pssvf", *TASK, "--distribution", "categorical"],
        "use --distribution deterministic",
    ),
    (
        ["train", "pssvf", "--task", "CartPole-v1", "--distribution", "gaussian"],
        "use --distribution categorical",
    ),
    (["train", "pssvf", "--task", "toys:ToyDictWalk-v0"], "Dict observations"),
    (["train", "pssvf", "--task", "not_there:Env-v0"], "'not_there' is not installed"),
    (["train", "pssvf", "--task", "toys:ToyNeedsPackageWalk-v0"], "'not_there_at_all'"),
    (
        ["train", "vanilla-pssvf", *TASK, "--probing-states", "3"],
        "unknown option '--probing-states'",
    ),
    (["train", "pssvf", *TASK, "--config", "nothing.json"], "there is no file nothing.json"),
    (["train", "pssvf", "--config", "unknown_key.json"], "'sed' for pssvf; did you mean 'seed'?"),
    (["train", "pssvf", "--config", "other.json"], "is for vanilla-pssvf, not pssvf"),
    (["train", "pssvf", *TASK, "--out", "file"], "file exists already"),
    (["train", "pssvf", *TASK, "--out", "full"], "full exists already"),
    (["evaluate", "nowhere"], "nowhere does not exist"),
    (["evaluate", "full"], "full is not a run directory"),
    (["resume", "nowhere"], "nowhere does not exist"),
    (["resume", "full"], "full is not a run directory"),
    (["list", "taks"], "'taks'; did you mean 'tasks'?"),
    (["list"], "tasks"),
]


@pytest.mark.parametrize(
    ("arguments", "words"), MISTAKES, ids=lambda v: " ".join(v) if isinstance(v, list) else ""
)
def test_a_mistake_is_one_line_and_exit_code_2(
    arguments: list[str], words: str, tmp_path: Path, capsys
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    (tmp_path / "unknown_key.json").write_text('{"task": "toys:ToyWalk-v0", "sed": 3}')
    (tmp_path / "other.json").write_text('{"algorithm": "vanilla-pssvf", "task": "Hopper-v5"}')
    before = sorted(tmp_path.rglob("*"))
    assert main(arguments) == 2
    shown = capsys.readouterr()
    assert_one_line(shown.err, words)
    assert shown.out == ""
    assert sorted(tmp_path.rglob("*")) == before  # nothing was begun


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--episodes", "0"], "--episodes must be between 1 and"),
        (["--episodes", "x"], "--episodes takes a number"),
        (["--workers", "-1"], "--workers must be at least 0"),
        (["--seed", "-1"], "--seed must be between"),
        (["--jsn"], "did you mean '--json'?"),
    ],
)
def test_mistakes_of_evaluate(arguments: list[str], words: str, run: Path, capsys) -> None:
    assert main(["evaluate", str(run), *arguments]) == 2
    assert_one_line(capsys.readouterr().err, words)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "1"], "longer"),
        (["--steps", "400", "--workers", "-2"], "--workers must be at least 0"),
    ],
)
def test_mistakes_of_resume_leave_the_run_alone(
    arguments: list[str], words: str, run: Path, capsys
) -> None:
    before = (run / "config.json").read_bytes()
    assert main(["resume", str(run), *arguments]) == 2
    assert_one_line(capsys.readouterr().err, words)
    assert (run / "config.json").read_bytes() == before
    assert litmus.Run(run).status == "finished"


@pytest.mark.parametrize(
    ("file", "damage", "words"),
    [
        ("policy.safetensors", lambda data: data[:-5], "damaged"),
        ("policy.safetensors", lambda data: b"", "damaged"),
        ("policy.safetensors", lambda data: b"\x80\x04pickle", "damaged"),
        ("policy.json", lambda data: data[:-5], "not JSON"),
        ("policy.json", lambda data: b"{}", "format None"),
        ("policy.json", lambda data: data.replace(b'"format": 2', b'"format": 7'), "format 7"),
        ("policy.json", lambda data: data.replace(b"mlp", b"xyz"), "checksum"),
        ("policy.json", lambda data: data.replace(b"hidden", b"hodden"), "checksum"),
        ("config.json", lambda data: data.replace(b'"noise": ', b'"noise": 1'), "litmus resume"),
        ("config.json", lambda data: data.replace(b"pssvf", b"psvf"), "checksum"),
        ("config.json", lambda data: b"[]", "does not hold a JSON object"),
    ],
)
def test_a_damaged_run_is_told_in_one_line(
    file: str, damage, words: str, run: Path, capsys
) -> None:
    path = run / file
    path.write_bytes(damage(path.read_bytes()))
    assert main(["evaluate", str(run), "--workers", "0"]) == 2
    assert_one_line(capsys.readouterr().err, words)


def test_tensorboard_without_its_package_is_told_before_a_directory_is_made(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setitem(sys.modules, "torch.utils.tensorboard", None)
    assert main(["train", "pssvf", *TASK, "--tensorboard", "--out", "run"]) == 2
    assert_one_line(capsys.readouterr().err, "litmus-rl[tensorboard]")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("option", ["--buffer-size", "--probing-states"])
def test_a_size_that_nothing_can_hold_is_one_line_and_leaves_nothing(
    option: str, tmp_path: Path, capsys
) -> None:
    out = tmp_path / "run"
    size = ["--preset", "small", "--workers", "0", option, "1e15"]
    assert main(["train", "pssvf", "--task", "CartPole-v1", *size, "--out", str(out)]) == 2
    assert_one_line(capsys.readouterr().err, option, "at most")
    assert not out.exists()


def test_cuda_without_a_gpu_is_told_before_a_directory_is_made(
    tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    assert main(["train", "pssvf", *TASK, "--device", "cuda", "--out", "run"]) == 2
    assert_one_line(capsys.readouterr().err, "no CUDA GPU")
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"tsk": "Swimmer-v5", "task": "Swimmer-v5"}, "did you mean 'task'"),
        ({"task": "Swimmer-v5", "hidden": 8}, "hidden takes whole numbers, not '8'"),
        ({"task": "Swimmer-v5", "seed": "zero"}, "seed takes a whole number, not 'zero'"),
        ({"task": "Swimmer-v5", "steps": 0}, "steps must be at least 1, not 0"),
        ({"task": "Swimmer-v5", "steps": 1.5}, "steps takes a whole number, not '1.5'"),
        ({"task": "Swimmer-v5", "env_kwargs": 3}, "env_kwargs takes names with values"),
        ({"task": "Swimmer-v5", "probing_low": 2}, "probing_high must be at least probing_low, 2"),
        (
            {"task": "Swimmer-v5", "preset": "network", "probing_smoothing": 1},
            "probing_smoothing is for states that are images, and the task's states have shape [8]",
        ),
        (
            {"task": "Swimmer-v5", "preset": "network", "probing_temperature": 2},
            "probing_temperature is for tasks with discrete actions, and these are continuous",
        ),
        (
            {"task": "Swimmer-v5", "preset": "network", "probing_bounds": (1, 0)},
            "probing_bounds takes two numbers from -1e6 to 1e6, the smaller one first, not 1 0",
        ),
        (
            {"task": "Swimmer-v5", "distribution": "categorical"},
            "use distribution='deterministic' or distribution='gaussian'",
        ),
        ({}, "no task given; name one, such as task='Swimmer-v5'"),
    ],
)
def test_the_library_says_the_same_in_python(options: dict[str, object], words: str) -> None:
    with pytest.raises(litmus.BadInput) as caught:
        litmus.train("pssvf", **options)
    assert words in str(caught.value)
    assert "--" not in str(caught.value)


def test_a_run_that_exists_is_told_in_the_language_of_the_reader(tmp_path: Path, capsys) -> None:
    train_tiny(tmp_path / "a run")
    with pytest.raises(litmus.BadInput) as caught:
        train_tiny(tmp_path / "a run")
    python, shell = str(caught.value), caught.value.for_shell
    assert f"go on with: litmus.resume('{tmp_path}/a run'), or choose another out" in python
    assert f"go on with: litmus resume '{tmp_path}/a run', or choose another --out" in shell


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    """A library caller's seed often comes out of an array."""
    run = train_tiny(
        tmp_path / "run", seed=np.int64(3), noise=np.float32(0.5), hidden=[np.int32(4)], steps=1e1
    )
    assert (run.config.seed, run.config.noise) == (3, 0.5)
    assert run.config.steps == 10
    assert type(run.config.steps) is int
    assert run.config.architecture_options["hidden"] == (4,)


def test_a_failure_of_the_environment_ends_with_one_line_and_exit_code_1(capfd) -> None:
    options = to_arguments(tiny("pssvf", task="toys:ToyRaisingWalk-v0", workers=2))
    assert main(["train", "pssvf", "--out", "run", *options]) == 1
    last = capfd.readouterr().err.splitlines()[-1]
    assert_one_line(last, "RuntimeError: the arm fell off")  # its line break is gone
