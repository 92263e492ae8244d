"""Classes of a user's own that are unusual work, and those that are wrong are told so at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from harness import GONE, assert_same_result, train_tiny

import litmus
from litmus.algorithms import find_options
from litmus.cli import build_parser
from litmus.errors import BadInput, RunFailed
from litmus.training.api import make_config

SEARCH = dict.fromkeys(("evaluator", "round_size", "evaluator_hidden", "probing_states"), GONE)


def train(out: Path, **options: Any) -> litmus.Run:
    run: litmus.Run = train_tiny(out, **options)
    return run


def train_own(out: Path, name: str, **options: Any) -> litmus.Run:
    return train(out, algorithm=f"odd_classes:{name}", **SEARCH, **options)


def test_a_preset_leaves_the_defaults_of_own_classes_alone() -> None:
    config = make_config("odd_classes:OwnSearch", {"task": "Swimmer-v5"}, "paper")
    assert (config.steps, config.to_dict()["noise"]) == (12, 0.7)
    assert config.evaluate_episodes == 10  # what is shared comes from the preset
    own = {"task": "Swimmer-v5", "architecture": "odd_classes:OwnDefaults"}
    assert make_config("pssvf", own, "paper").architecture_options["hidden"] == (5,)
    inherited = {"task": "Swimmer-v5", "architecture": "odd_classes:ScaledMlp"}
    assert make_config("pssvf", inherited, "paper").architecture_options["hidden"] == (256, 256)


def test_every_value_of_a_preset_is_an_option_of_some_algorithm() -> None:
    from litmus.algorithms import ALGORITHMS
    from litmus.evaluators import EVALUATORS
    from litmus.presets import PRESETS

    known = {
        name
        for algorithm in ALGORITHMS
        for evaluator in EVALUATORS
        for name in find_options(algorithm, {"evaluator": evaluator})
    }
    for preset in PRESETS.values():
        for algorithm in ALGORITHMS:
            assert preset.values(algorithm, "Swimmer-v5").keys() <= known


def test_options_of_a_subclass_reach_workers_and_survive(tmp_path: Path) -> None:
    for workers in (0, 1):
        out = tmp_path / str(workers)
        run = train(out, architecture="odd_classes:ScaledMlp", scale=5.0, workers=workers)
        assert litmus.Run(out).policy.architecture.scale == 5.0
    assert_same_result(tmp_path / "0", tmp_path / "1")
    plain = train(tmp_path / "plain", architecture="odd_classes:ScaledMlp")
    assert plain.policy_path.read_bytes() != run.policy_path.read_bytes()


def test_a_nested_class_can_be_named(tmp_path: Path) -> None:
    run = train(tmp_path / "run", architecture="odd_classes:Outer.Inner", workers=1)
    assert litmus.evaluate(litmus.Run(run.path), episodes=1, workers=0).returns


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("HalfOverridden", "a faster form of it do different things"),
        ("make_local", "cannot be found again by its name"),
        ("NoDataclass", "must be a dataclass"),
        ("Required", "depth must be given: Required needs it"),
        ("Listed", "'sizes' cannot be an option"),
        ("NumberedChoices", "'level' cannot be an option"),
        ("Outed", "Outed and the command both have an option 'out'"),
        ("Unreadable", "cannot be read: name 'OnlyForTypes' is not defined"),
    ],
)
def test_an_architecture_that_would_go_wrong_is_refused_before_anything_is_written(
    name: str, words: str, tmp_path: Path
) -> None:
    hidden = GONE if name in ("make_local", "NoDataclass") else (4,)
    with pytest.raises(BadInput, match=words) as caught:
        train(tmp_path / "run", architecture=f"odd_classes:{name}", hidden=hidden)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "run").exists()


def test_tuples_of_numbers_can_be_typed() -> None:
    words = ["train", "pssvf", "--task", "x", "--architecture", "odd_classes:Fractions"]
    words += ["--shares", "0.25", "1e-3"]
    assert build_parser(words).parse_args(words).shares == [0.25, 0.001]


def test_our_evaluator_with_another_loss_and_frozen_states(tmp_path: Path) -> None:
    run = train(tmp_path / "run", evaluator="odd_classes:AbsoluteEvaluator", steps=80)
    ours = train(tmp_path / "ours", steps=80)
    assert run.evaluator.probing_states.shape == ours.evaluator.probing_states.shape
    _, moved = run.read_probing_snapshots()
    assert (moved == moved[0]).all()
    losses = [
        [event["evaluator_loss"] for event in one.metrics if event["event"] == "round"]
        for one in (run, ours)
    ]
    assert losses[0][0] != losses[1][0]


def test_what_an_algorithm_tells_and_keeps_is_kept_exactly(tmp_path: Path) -> None:
    whole = train_own(tmp_path / "whole", "Numbers", steps=40)
    train_own(tmp_path / "run", "Numbers", steps=20)
    resumed = litmus.resume(tmp_path / "run", steps=40, quiet=True)
    rates = [
        [event["rate"] for event in run.metrics if event["event"] == "round"]
        for run in (whole, resumed)
    ]
    assert rates[0] == rates[1] == [0.5**n for n in range(1, 11)]
    assert {event["small"] for event in whole.metrics if event["event"] == "round"} == {0.5}


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("FromOne", "calls this round 1, and it is 0"),
        ("TakenNames", r"are taken: \['steps'\]"),
        ("Endless", "state cannot be kept: Out of range float"),
    ],
)
def test_an_algorithm_that_would_spoil_its_run_is_stopped(
    name: str, words: str, tmp_path: Path
) -> None:
    with pytest.raises(RunFailed, match=words):
        train_own(tmp_path / "run", name)


def test_a_module_is_judged_as_it_is_used_and_not_changed_by_it(tmp_path: Path) -> None:
    evaluator = train(tmp_path / "run").evaluator
    module = torch.nn.Sequential(
        torch.nn.Linear(3, 8), torch.nn.BatchNorm1d(8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 2)
    )
    module[2].eval()
    before = {name: tensor.clone() for name, tensor in module.state_dict().items()}
    assert evaluator.score(module) == evaluator.score(module)
    assert [one.training for one in module] == [True, True, False, True]
    for name, tensor in module.state_dict().items():
        assert torch.equal(tensor, before[name]), name


def test_an_evaluator_in_another_dtype_judges_too(tmp_path: Path) -> None:
    run = train(tmp_path / "run")
    expected = run.evaluator.score(run.policy)
    assert run.evaluator.double().score(run.policy) == pytest.approx(expected, rel=1e-4)
