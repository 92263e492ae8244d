"""Every option of `litmus train` does something.

The options are read off the configuration classes: one that is added and changes nothing fails
here without anyone writing a test for it.
"""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import pytest
from harness import GONE, PROCESS, STEADY, tiny, train_tiny, without_times

from litmus.algorithms import ALGORITHMS, find_options, rounds
from litmus.config import OF_STEPS, TrainConfig
from litmus.errors import BadInput
from litmus.rollouts.pool import PoolCollector
from litmus.runs import checkpoint
from litmus.runs.run import Run

BASE = {"buffer_size": 6}  # smaller than the run, so that its size matters
BASES: dict[str, dict[str, Any]] = {"pssvf": BASE, "vanilla-pssvf": BASE, "ars": {}, "ddpg": {}}

OTHER_VALUES: dict[str, Any] = {
    "task": "toys:ToyUnboundedWalk-v0",
    "architecture": "toys:PlainArchitecture",
    "env_kwargs": {"length": 7},
    "final_noise": 0.1,
    "max_episode_steps": 3,
    "evaluator": "own_classes:LineEvaluator",
    "distribution": "gaussian",
    "survival_bonus": "remove",
    "steps": 60,
    "top_directions": 2,
    "evaluate_every": 0,
    "round_steps": 40,
    "max_round_size": 5,
    "policy_step": 3.0,
    "selection_episodes": 3,
    "selection_share": 0.5,
    "probing_bounds": (0.4, 0.6),
    "probing_average_until": 0.25,
    "update_after": 20,
    "discount": 0.5,
    "polyak": 0.5,
}
"""Where the nearest other value would not do."""

NEEDS_OTHERS_GONE = {
    "architecture": ("hidden",),
    "evaluator": ("evaluator_hidden", "probing_states"),
}
"""Options of the tiny run that another choice does not have."""

MEASURED = {"steps": 240, "selection_episodes": 2}
"""A run that is long enough to measure its policies."""

BESIDE: dict[str, dict[str, Any]] = {
    "beginnings": {"steps": 2000, "beginnings": 1},
    "evaluator_unit_actions": {"task": "toys:ToyMatrixWalk-v0"},  # its actions are from -2 to 2
    "max_round_size": {"round_steps": 100},
    "policy_step_decay": {"policy_step": 3.0},
    "probing_smoothing": {"task": "litmus.experiments.toys:ImageGrid"},
    "probing_average_until": {"probing_averaged": 0.5},
    "probing_temperature": {"task": "toys:ToyChoiceWalk-v0"},
    "recency_unit": {"recency": 1.1},
    "selection_episodes": {**MEASURED, "selection_share": 0.2},
    "selection_share": MEASURED,
}
"""What else an option needs to make a difference."""

NO_CHOICE = {("ddpg", "distribution")}
"""What has one value on each task."""

SEEN_ELSEWHERE = {
    *("workers", "collector", "ray_address", "device", "checkpoint_seconds", "tensorboard"),
    *("data", "history_rounds"),  # test_image_runs.py
}
"""Options that must not change what is learned; each has its own test below."""

OPTIONS = [
    (algorithm, name)
    for algorithm in sorted(ALGORITHMS)
    for name in find_options(algorithm, {})
    if name != "algorithm"
]


@pytest.fixture(scope="module")
def base_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Run]:
    return {
        name: train_tiny(tmp_path_factory.mktemp("base") / "run", name, **BASES[name])
        for name in ALGORITHMS
    }


@pytest.mark.parametrize(
    ("algorithm", "option"),
    [pair for pair in OPTIONS if pair[1] not in SEEN_ELSEWHERE and pair not in NO_CHOICE],
)
def test_an_option_changes_what_is_learned_or_measured(
    algorithm: str,
    option: str,
    base_runs: dict[str, Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rounds, "LEAST_STEPS", 0)  # these runs are short
    base = base_runs[algorithm]
    value = find_other_value(algorithm, base.config, option)
    assert value != base.config.to_dict()[option]
    options = {**BASES[algorithm], **BESIDE.get(option, {})}
    if option in BESIDE:
        base = train_tiny(tmp_path / "base", algorithm, **options)
    options[option] = value
    for name in NEEDS_OTHERS_GONE.get(option, ()):
        options[name] = GONE
    changed = train_tiny(tmp_path / "run", algorithm, **options)
    assert changed.config.to_dict()[option] == (list(value) if isinstance(value, tuple) else value)
    assert describe(changed) != describe(base)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("remembered_policies", 4),
        ("probing_states", 5),
        ("probing_low", -1.0),
        ("policy_step", 2.0),
        ("noise_change", 0.3),
        ("cut_steadiness", 0.0),
    ],
)
def test_an_option_of_an_evaluator_that_is_solved_for_changes_the_run(
    name: str, value: float, tmp_path: Path
) -> None:
    options = {**PROCESS, **(STEADY if name == "cut_steadiness" else {})}
    base = train_tiny(tmp_path / "base", **options)
    changed = train_tiny(tmp_path / "run", **{**options, name: value})
    assert describe(changed) != describe(base)


@pytest.mark.parametrize("name", OF_STEPS)
def test_an_option_that_would_change_nothing_is_refused(name: str, tmp_path: Path) -> None:
    usual = train_tiny(tmp_path / "usual", **PROCESS).config
    value = find_other_value("pssvf", usual, name)
    with pytest.raises(BadInput, match=f"{name}.* changes nothing"):
        train_tiny(tmp_path / "run", **PROCESS, **{name: value})
    assert not (tmp_path / "run").exists()


def describe(run: Run) -> tuple[bytes, bytes, list[dict[str, Any]]]:
    return (
        run.policy_path.read_bytes(),
        run.evaluator_path.read_bytes() if run.has_evaluator else b"",
        without_times(run.metrics),
    )


def find_other_value(algorithm: str, config: TrainConfig, option: str) -> Any:
    """A value of the right type, near the one that the base run has."""
    if option in OTHER_VALUES:
        return OTHER_VALUES[option]
    value, hint = config.to_dict()[option], find_options(algorithm, {})[option].hint
    if typing.get_origin(hint) is typing.Literal:
        return next(choice for choice in typing.get_args(hint) if choice not in (value, "auto"))
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 3
    if isinstance(value, float):
        return value * 2 or 0.5
    if isinstance(value, list):
        return (*value, 4)
    raise AssertionError(f"say in OTHER_VALUES which value to try for --{option}")


def test_the_same_options_give_the_same_run(base_runs: dict[str, Run], tmp_path: Path) -> None:
    """Without this, the test above could not fail."""
    for algorithm, base in base_runs.items():
        assert describe(
            train_tiny(tmp_path / algorithm, algorithm, **BASES[algorithm])
        ) == describe(base)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_no_option_is_left_out(algorithm: str) -> None:
    names = find_options(algorithm, {}).keys()
    assert SEEN_ELSEWHERE | tiny(algorithm).keys() | BASES[algorithm].keys() <= names


def test_no_value_is_said_for_an_option_that_is_gone() -> None:
    names = {name for algorithm in ALGORITHMS for name in find_options(algorithm, {})}
    assert OTHER_VALUES.keys() <= names


@pytest.mark.parametrize("workers", [0, 1, 3])
def test_workers_is_the_number_of_worker_processes(
    workers: int, base_runs: dict[str, Run], tmp_path: Path, monkeypatch
) -> None:
    spawned = []
    spawn = PoolCollector._spawn
    monkeypatch.setattr(
        PoolCollector, "_spawn", lambda pool, number: spawned.append(number) or spawn(pool, number)
    )
    run = train_tiny(tmp_path / "run", workers=workers, **BASE)
    assert spawned == list(range(workers))
    assert describe(run) == describe(base_runs["pssvf"])


def test_checkpoint_seconds_decides_how_many_checkpoints_are_written(
    base_runs: dict[str, Run], tmp_path: Path, monkeypatch
) -> None:
    written: list[int] = []
    write = checkpoint.write_checkpoint

    def count(directory: Path, number: int, tree: Any) -> None:
        written.append(number)
        write(directory, number, tree)

    monkeypatch.setattr("litmus.training.checkpoints.write_checkpoint", count)
    seldom = train_tiny(tmp_path / "seldom", checkpoint_seconds=1000, **BASE)
    assert written == [0, 5]  # the first and the last
    written.clear()
    often = train_tiny(tmp_path / "often", checkpoint_seconds=0, **BASE)
    assert written == [0, 1, 2, 3, 4, 5, 5]
    assert describe(seldom) == describe(often) == describe(base_runs["pssvf"])


def test_device_cpu_and_auto_are_the_same_where_there_is_no_gpu(
    base_runs: dict[str, Run], tmp_path: Path
) -> None:
    import torch

    if torch.cuda.is_available():
        pytest.skip("there is a GPU here: auto takes it")
    run = train_tiny(tmp_path / "run", **{**BASE, "device": "auto"})
    assert describe(run) == describe(base_runs["pssvf"])


def test_device_cuda_learns_on_the_gpu(base_runs: dict[str, Run], tmp_path: Path) -> None:
    import torch

    if not torch.cuda.is_available():
        pytest.skip("there is no CUDA GPU here")
    run = train_tiny(tmp_path / "run", **{**BASE, "device": "cuda"})
    first, base = run.metrics[0], base_runs["pssvf"].metrics[0]
    assert first["mean"] == base["mean"]
    assert first["evaluator_loss"] == pytest.approx(base["evaluator_loss"], rel=1e-3)


def test_tensorboard_writes_event_files(base_runs: dict[str, Run], tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="the extra [tensorboard] is not installed")
    run = train_tiny(tmp_path / "run", tensorboard=True, **BASE)
    assert any((run.path / "tensorboard").iterdir())
    assert describe(run) == describe(base_runs["pssvf"])
