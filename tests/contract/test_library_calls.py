"""The library calls: train, resume and evaluate, with everything that they take."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from harness import assert_same_result, read_events, tiny, train_tiny

import litmus
from litmus.algorithms import ALGORITHMS, find_options
from litmus.cli import main
from litmus.fields import Values
from litmus.training.keywords import (
    ArsKeywords,
    DdpgKeywords,
    PssvfKeywords,
    VanillaKeywords,
    Whole,
)

KEYWORDS = {
    "pssvf": PssvfKeywords,
    "vanilla-pssvf": VanillaKeywords,
    "ars": ArsKeywords,
    "ddpg": DdpgKeywords,
}


def test_every_algorithm_has_its_keywords() -> None:
    assert KEYWORDS.keys() == ALGORITHMS.keys()


@pytest.mark.parametrize(("algorithm", "keywords"), KEYWORDS.items())
def test_the_keywords_that_editors_see_are_the_options_that_there_are(
    algorithm: str, keywords: type
) -> None:
    options = find_options(algorithm, {})
    if algorithm == "pssvf":  # with either evaluator
        options |= find_options(algorithm, {"evaluator": "gaussian-process"})
    del options["algorithm"]
    shown = typing.get_type_hints(keywords)
    assert shown.keys() == options.keys()
    for name, one in options.items():
        assert shown[name] == loosen(one.hint), name


def loosen(hint: Any) -> Any:
    """What a caller may give where a configuration holds a value of this type."""
    plain: dict[Any, Any] = {int: Whole, Values: Mapping[str, Any]}
    plain |= {tuple[kind, ...]: Sequence[kind] for kind in (int, float)}  # type: ignore[valid-type]
    if type(None) in typing.get_args(hint):
        inner = typing.get_args(hint)[0]
        return plain.get(inner, inner) | None
    return plain.get(hint, hint)


def test_the_signature_names_every_option_with_its_default() -> None:
    parameters = inspect.signature(litmus.train).parameters
    assert {"algorithm", "out", "preset", "config", "resume_if_exists", "callback"} < set(
        parameters
    )
    for name, one in find_options("pssvf", {}).items():
        if name != "algorithm":
            assert parameters[name].kind is inspect.Parameter.KEYWORD_ONLY
            assert parameters[name].default == one.default, name


def test_a_policy_is_measured_alike_however_it_is_named(finished_run: Path) -> None:
    run = litmus.Run(finished_run)
    expected = litmus.evaluate(run, episodes=3, workers=0)
    assert len(expected.returns) == len(expected.training_returns) == len(expected.steps) == 3
    task = run.config.task
    for policy, options in (
        (str(run.path), {}),
        (run.path, {}),
        (run.policy, {"task": task}),
        (run.policy_path, {"task": task}),
        (str(run.policy_path), {"task": task, "episodes": 3.0, "workers": 1}),
    ):
        found = litmus.evaluate(policy, **{"episodes": 3, "workers": 0, **options})
        assert found == expected


def test_the_task_and_its_options_can_be_others(tmp_path: Path) -> None:
    run = train_tiny(tmp_path / "run", task="toys:ScaledWalk", env_kwargs={"length": 5})
    assert litmus.evaluate(run, episodes=1, workers=0).steps == [5]
    own = litmus.evaluate(run, episodes=1, workers=0, env_kwargs={"length": 7})
    assert own.steps == [7]
    other = litmus.evaluate(run, task="toys:Walk", episodes=1, workers=0)
    assert other.steps == [4]
    with pytest.raises(litmus.BadInput, match="has no option 'lenth'; did you mean 'length'"):
        litmus.evaluate(run.policy, task="toys:Walk", env_kwargs={"lenth": 3})


def test_the_training_return_is_what_the_evaluator_predicts(tmp_path: Path) -> None:
    run = train_tiny(tmp_path / "run", survival_bonus="remove")
    measured = litmus.evaluate(run, episodes=2, workers=0)
    bonus = [a - b for a, b in zip(measured.returns, measured.training_returns, strict=True)]
    assert bonus == pytest.approx([1.0, 1.0])  # four steps of 0.25


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "a policy does not know the task that it is for; name it, such as task='Swimmer-v5'"),
        ({"task": "Hopper-v5"}, "takes observations of shape (3,), and task 'Hopper-v5' has (11,)"),
        ({"task": "toys:ToyChoiceWalk-v0"}, "takes one of 3 choices from 5 on"),
        ({"task": "toys:ToyUnboundedWalk-v0"}, "from -1 to 1, and task"),
        ({"task": "toys:ToyWalk-v0", "episodes": 0}, "episodes must be between 1 and"),
        ({"task": "toys:ToyWalk-v0", "episodes": 1.5}, "episodes takes a whole number"),
        ({"task": "toys:ToyWalk-v0", "seed": -1}, "seed must be between 0 and 4294967295"),
        ({"task": "toys:ToyWalk-v0", "workers": -1}, "workers must be at least 0"),
    ],
)
def test_what_cannot_be_measured_is_told(options: Any, words: str, finished_run: Path) -> None:
    policy = litmus.Run(finished_run).policy
    with pytest.raises(litmus.BadInput) as caught:
        litmus.evaluate(policy, **options)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_policy_file_and_a_task_can_be_typed(finished_run: Path, capsys: Any) -> None:
    run = litmus.Run(finished_run)
    words = ["--episodes", "3", "--workers", "0", "--json"]
    assert main(["evaluate", str(run.policy_path), "--task", run.config.task, *words]) == 0
    by_file = json.loads(capsys.readouterr().out)
    assert main(["evaluate", str(run.path), *words]) == 0
    by_run = json.loads(capsys.readouterr().out)
    assert by_run["final_return"] == run.final_return
    assert by_file["final_return"] is None
    for name in ("returns", "training_returns", "steps", "task"):
        assert by_file[name] == by_run[name]
    options = ["--env-kwargs", '{"length": 6}']
    assert main(["evaluate", str(run.path), "--task", "toys:Walk", *options, *words]) == 0
    assert json.loads(capsys.readouterr().out)["steps"] == [6, 6, 6]


def test_a_run_that_exists_is_resumed_or_returned(tmp_path: Path, finished_run: Path) -> None:
    """The same call, again and again, as a machine that is taken away and given back makes it."""
    out = tmp_path / "run"
    for kept in (2, 5, 9):
        with pytest.raises(Gone):
            train_tiny(out, resume_if_exists=True, callback=leave_after(kept))
    finished = train_tiny(out, resume_if_exists=True, workers=1)  # changes no result
    assert finished.status == "finished"
    assert_same_result(finished_run, out)
    before = read_events(out)
    assert train_tiny(out, resume_if_exists=True).status == "finished"
    assert read_events(out) == before


class Gone(Exception):
    pass


def leave_after(events: int) -> Any:
    def leave(notice: litmus.Notice) -> None:
        if len(notice.run.metrics) >= events:
            raise Gone

    return leave


def test_a_run_with_another_configuration_is_left_alone(tmp_path: Path) -> None:
    train_tiny(tmp_path / "run", seed=1)
    before = read_events(tmp_path / "run")
    with pytest.raises(litmus.BadInput) as caught:
        train_tiny(tmp_path / "run", seed=2, steps=80, resume_if_exists=True)
    text = str(caught.value)
    assert "seed is 1 there and 2 here, steps is 40 there and 80 here" in text
    assert "choose another out" in text
    assert read_events(tmp_path / "run") == before


def test_resuming_what_exists_can_be_typed(tmp_path: Path, capsys: Any) -> None:
    words = ["train", "pssvf", "--task", "toys:ToyWalk-v0", "--steps", "8", "--preset", "small"]
    words += ["--workers", "0", "--out", str(tmp_path / "run")]
    for _ in range(2):
        assert main([*words, "--resume-if-exists"]) == 0
        assert "final return" in capsys.readouterr().out
    assert main(words) == 2
    assert main([*words, "--noise", "0.5", "--resume-if-exists"]) == 2
    assert "--noise is 0.1 there and 0.5 here" in capsys.readouterr().err


def test_a_callback_is_told_every_line_of_the_metrics(tmp_path: Path, finished_run: Path) -> None:
    notices: list[litmus.Notice] = []
    run = train_tiny(tmp_path / "run", callback=notices.append)
    assert [dict(notice.event) for notice in notices] == run.metrics
    kinds = {notice.event["event"] for notice in notices}
    assert kinds == {"round", "evaluation", "finished"}
    assert all(notice.run.path == run.path for notice in notices)
    with pytest.raises(AttributeError):
        notices[0].event = {}  # type: ignore[misc]
    assert_same_result(finished_run, run.path)


@pytest.mark.parametrize("kind", [ValueError, OSError, MemoryError, KeyboardInterrupt])
def test_what_a_callback_raises_ends_the_run_which_can_be_resumed(
    kind: type[BaseException], tmp_path: Path, finished_run: Path
) -> None:
    def stop(notice: litmus.Notice) -> None:
        if notice.event["event"] == "evaluation" and notice.event["steps"] > 8:
            raise kind("enough")

    with pytest.raises(kind, match=r"^enough$"):
        train_tiny(tmp_path / "run", callback=stop)
    run = litmus.Run(tmp_path / "run")
    assert run.status == "unfinished"
    told: list[str] = []
    litmus.resume(run.path, callback=lambda n: told.append(n.event["event"]), quiet=True)
    assert told[-1] == "finished"
    assert_same_result(finished_run, run.path)


def test_a_callback_that_raises_at_the_end_leaves_a_finished_run(tmp_path: Path) -> None:
    def stop(notice: litmus.Notice) -> None:
        if notice.event["event"] == "finished":
            raise ValueError("late")

    with pytest.raises(ValueError, match="late"):
        train_tiny(tmp_path / "run", callback=stop)
    assert litmus.Run(tmp_path / "run").status == "finished"


def test_a_callback_sees_the_policy_of_the_newest_checkpoint(tmp_path: Path) -> None:
    scores: list[float] = []

    def score(notice: litmus.Notice) -> None:
        scores.append(notice.run.evaluator.score(notice.run.policy))

    train_tiny(tmp_path / "run", callback=score, checkpoint_seconds=0)
    assert np.isfinite(scores).all()
    assert len(set(scores)) > 1


def test_paths_may_be_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run = litmus.train("pssvf", out="run", quiet=True, **tiny("pssvf", task="toys:Walk", steps=8))
    again = litmus.train("pssvf", config="run/config.json", out="again", quiet=True)
    assert again.path == Path("again")
    run.evaluator.save("evaluator.safetensors")
    assert litmus.load_evaluator("evaluator.safetensors").score(run.policy) == pytest.approx(
        litmus.Run("run").evaluator.score(run.policy)
    )
    assert litmus.resume("run", steps=16.0, quiet=True).config.steps == 16


def test_probing_observations_are_what_the_environment_would_show(tmp_path: Path) -> None:
    evaluator = train_tiny(tmp_path / "run").evaluator
    states = evaluator.probing_states
    observations = evaluator.probing_observations
    assert not observations.requires_grad
    assert observations.dtype == torch.float64
    torch.testing.assert_close((observations - evaluator.mean) / evaluator.std, states.double())
    flat = train_tiny(tmp_path / "flat", "vanilla-pssvf").evaluator
    assert flat.probing_observations is None
