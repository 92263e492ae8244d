"""A user's own task, architecture, evaluator and algorithm: by name, everywhere that ours are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from harness import GONE, Killed, assert_same_result, tiny, to_arguments, train_tiny

import litmus
from litmus.cli import main
from litmus.reports.report import build_report

OWN: dict[str, dict[str, Any]] = {
    "task": {"task": "toys:TargetTask"},
    "environment": {"task": "toys:Walk", "env_kwargs": {"length": 6}},
    "many at once": {"task": "toys:LabelsTask", "env_kwargs": {"factor": 0.5}},
    "architecture": {
        "task": "toys:PictureTask",
        "architecture": "toys:ConvArchitecture",
        "channels": 3,
        "hidden": GONE,
    },
    "evaluator": {
        "evaluator": "own_classes:LineEvaluator",
        "margin": 0.5,
        "evaluator_hidden": GONE,
        "probing_states": GONE,
    },
    "algorithm": {
        "algorithm": "own_classes:RandomSearch",
        "spread": 0.2,
        **dict.fromkeys(
            ("evaluator", "beginnings", "round_size", "evaluator_hidden", "probing_states"), GONE
        ),
    },
}


def train(out: Path, kind: str, **options: Any) -> litmus.Run:
    run: litmus.Run = train_tiny(out, **{"steps": 40, **OWN[kind], **options})
    return run


@pytest.mark.parametrize("kind", OWN)
def test_results_do_not_depend_on_workers(kind: str, tmp_path: Path) -> None:
    for workers in (0, 2):
        train(tmp_path / str(workers), kind, workers=workers)
    assert_same_result(tmp_path / "0", tmp_path / "2")


@pytest.fixture(scope="module")
def whole_runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, litmus.Run]:
    folder = tmp_path_factory.mktemp("whole")
    return {kind: train(folder / kind.replace(" ", "-"), kind) for kind in OWN}


@pytest.mark.parametrize("kind", OWN)
@pytest.mark.parametrize("write", [1, 2, 4, 9])
def test_a_killed_run_is_resumed_exactly(
    kind: str,
    write: int,
    whole_runs: dict[str, litmus.Run],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    whole = whole_runs[kind]
    options = {"checkpoint_seconds": 0}
    written = [0]
    original = litmus.runs.metrics.MetricsFile.write

    def kill(*arguments: Any, **values: Any) -> Any:
        written[0] += 1
        if written[0] == write:
            raise Killed
        return original(*arguments, **values)

    with monkeypatch.context() as patch:
        patch.setattr("litmus.runs.metrics.MetricsFile.write", kill)
        with pytest.raises(Killed):
            train(tmp_path / "run", kind, **options)
    resumed = litmus.resume(tmp_path / "run", quiet=True)
    assert resumed.status == "finished"
    assert_same_result(whole.path, tmp_path / "run")
    kept = [run.path / "history" / "rewards.bin" for run in (whole, resumed)]
    assert kept[0].exists() == kept[1].exists() == (kind == "algorithm")
    if kept[0].exists():
        assert kept[0].read_bytes() == kept[1].read_bytes()


@pytest.mark.parametrize("kind", OWN)
def test_it_can_be_measured_and_reported(kind: str, whole_runs: dict[str, litmus.Run]) -> None:
    run = whole_runs[kind]
    again = litmus.Run(run.path)  # everything from disk
    assert len(litmus.evaluate(again, episodes=3, workers=0).returns) == 3
    page = build_report([run.path]).to_html()
    assert run.config.task in page
    if kind != "algorithm":
        assert np.isfinite(again.evaluator.score(again.policy))


@pytest.mark.parametrize("kind", OWN)
def test_it_can_be_typed(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    options = {"task": "toys:ToyWalk-v0", "steps": 20, **OWN[kind]}
    algorithm = options.pop("algorithm", "pssvf")
    command = ["train", algorithm, *to_arguments(tiny("pssvf", **options))]
    assert main([*command, "--out", "run"]) == 0
    assert main(["evaluate", "run", "--episodes", "2", "--workers", "0"]) == 0
    with pytest.raises(SystemExit):
        main([*command, "--help"])
    own = {"architecture": "--channels", "evaluator": "--margin", "algorithm": "--spread"}
    assert own.get(kind, "--seed") in capsys.readouterr().out


def test_an_algorithm_without_evaluator_says_so(whole_runs: dict[str, litmus.Run]) -> None:
    run = whole_runs["algorithm"]
    assert not run.evaluator_path.exists()
    with pytest.raises(litmus.BadInput, match="learns no evaluator"):
        _ = run.evaluator
    best = [event["best"] for event in run.metrics if event["event"] == "round"]
    assert best == sorted(best)
    assert best[-1] > best[0]


def test_an_evaluator_learns_by_its_own_loss_and_gives_its_own_intervals(tmp_path: Path) -> None:
    run = train(tmp_path / "run", "evaluator", steps=400, evaluator_lr=0.05)
    estimate = run.evaluator.predict([run.policy, lambda states: torch.zeros(len(states), 2)])
    assert estimate.low is not None
    assert estimate.high is not None
    assert torch.equal(estimate.high - estimate.low, torch.ones(2))
    losses = [event["evaluator_loss"] for event in run.metrics if event["event"] == "round"]
    assert np.mean(losses[-10:]) < np.mean(losses[:10])
