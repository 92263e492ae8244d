"""Zero-shot and cloning: from one run, in repeats, into one file with every value."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from harness import assert_one_line, train_tiny

import litmus
from litmus.cli import main
from litmus.experiments import cloning, zero_shot
from litmus.experiments.cloning import Search, clone_once


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "walk"
    path: Path = train_tiny(out, steps=160, evaluate_every=160, probing_states=5).path
    return path


def test_a_clone_does_in_the_chosen_states_what_its_teacher_does(trained: Path) -> None:
    run = litmus.Run(trained)
    search = Search(run, {"lr": 1e-2, "steps": 400}, seed=0)
    together = search.clone([(0, 3), (1, 2)])
    for subset, clone in zip([[0, 3], [1, 2]], together, strict=True):
        states = search.states[subset]
        assert (clone(states) - run.policy(states)).abs().max() < 0.05
        (alone,) = search.clone([tuple(subset)])
        assert torch.allclose(alone.flat_params, clone.flat_params, atol=1e-3)


def test_states_are_chosen_by_other_episodes_than_are_reported(trained: Path) -> None:
    settings = {"states": 2, "indices": [], "steps": 2, "lr": 1e-3}
    found = clone_once(litmus.Run(trained), settings, 0)
    assert found["tried"] == len(found["finalists"]) == 10  # of 5 states, all pairs
    best = max(found["finalists"], key=lambda one: one["return"])
    assert found["indices"] == best["indices"]
    assert len(found["returns"]) == 10
    assert not {*cloning.CHOOSING, *cloning.DECIDING} & {*cloning.REPORTING}


def test_states_that_were_chosen_first_are_exchanged_for_better_ones(
    trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """State 0 is the best alone, but 1 and 2 are better together."""
    worth = {(0,): 3, (0, 3): 4, (1, 3): 5, (1, 2): 6}
    monkeypatch.setattr(cloning, "MOST_SUBSETS", 0)
    search = Search(litmus.Run(trained), {}, seed=0)
    monkeypatch.setattr(search, "clone", lambda subsets: subsets)
    monkeypatch.setattr(
        search, "measure", lambda subset, episodes: [worth.get(subset, 0)] * len(episodes)
    )
    assert search.choose(2) == (1, 2)


@pytest.mark.parametrize("name", ["linear", "mlp:3x4"])
def test_a_fresh_policy_climbs_both_judges(
    name: str, trained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {"policies": 30, "probing_states": 6, "visits": 2}
    monkeypatch.setattr(zero_shot, "FIT", tiny)
    run = litmus.Run(trained)
    for judge in (zero_shot.OWN, zero_shot.REFITTED):
        settings = {"architecture": name, "steps": 4, "lr": 1e-3, "judge": judge}
        found = zero_shot.climb_once(run, settings, 0)
        assert 1 <= len(found["curve"]["steps"]) == len(found["curve"]["measured"]) <= 4
        assert found["step"] <= 4


def test_the_command_writes_every_value_and_goes_on_where_it_was(trained: Path) -> None:
    words = ["experiment", "clone", "--run", str(trained), "--states", "2", "--steps", "2"]
    words += ["--seeds", "1", "--jobs", "1", "--results", "cloning.json"]
    assert main(words) == 0
    found = json.loads(Path("cloning.json").read_text())["toys:ToyWalk-v0"]["2-states"]
    assert found["returns"] == [found["mean"]] == [found["repeats"][0]["return"]]
    assert {"versions", "hardware", "commit"} <= found["provenance"].keys()
    kept = sorted(Path("experiments/clone").rglob("result.json"))
    before = [path.stat().st_mtime_ns for path in kept]
    assert main(words) == 0
    assert [path.stat().st_mtime_ns for path in kept] == before
    assert "checksum" not in json.loads(Path("experiments/clone/table.json").read_text())


def test_a_result_is_of_the_run_as_it_is_now_wherever_it_lies(
    trained: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experiment", "clone", "--states", "2", "--steps", "2", "--seeds", "1", "--jobs", "1"]
    shutil.copytree(trained, tmp_path / "run")
    assert main([*words, "--run", "run"]) == 0
    kept = Path("experiments/clone/runs/2-states/seed-0/result.json")
    before = kept.stat().st_mtime_ns
    assert main([*words, "--run", str(tmp_path / "run")]) == 0
    assert kept.stat().st_mtime_ns == before
    litmus.resume("run", steps=litmus.Run("run").config.steps + 80, quiet=True)
    capsys.readouterr()
    assert main([*words, "--run", "run"]) == 2
    assert_one_line(capsys.readouterr().err, "a result of other settings")


BAD = {
    "--run": ["clone"],
    "numbered from 0": ["clone", "--run", "RUN", "--states", "6"],
    "among them": ["clone", "--run", "RUN", "--indices", "1", "9"],
    "different numbers": ["clone", "--run", "RUN", "--indices", "1", "--states", "2"],
    "does not take --states": ["zero-shot", "--run", "RUN", "--states", "2"],
    "linear, mlp:64x64": ["zero-shot", "--run", "RUN", "--architecture", "mpl"],
    "does not take --run": ["weighting", "--run", "RUN"],
    "nowhere": ["zero-shot", "--run", "nowhere"],
    "does not take --evaluate-every": ["clone", "--run", "RUN", "--evaluate-every", "9"],
    "does not take --tasks": ["zero-shot", "--run", "RUN", "--tasks", "Swimmer-v5"],
}


@pytest.mark.parametrize("words", BAD)
def test_mistakes_are_one_line(
    words: str, trained: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [str(trained) if word == "RUN" else word for word in BAD[words]]
    assert main(["experiment", *line]) == 2
    assert_one_line(capsys.readouterr().err, words)
