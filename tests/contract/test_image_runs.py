"""Runs on sets of images: the same trainer, resume, evaluate and report as everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import assert_one_line, without_times
from tiny_images import OPTIONS, write_set

import litmus
from litmus.algorithms.acceleration import TorchUpdates
from litmus.cli import main
from litmus.presets import PRESETS
from litmus.runs.run import Run


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(write_set(tmp_path_factory.mktemp("images")))


@pytest.fixture(autouse=True)
def one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """With so little work, threads wait for each other."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def train(out: Path, data: str, **options: Any) -> Run:
    return litmus.train(
        "pssvf", out=out, quiet=True, data=data, **{"preset": "tuned", **OPTIONS, **options}
    )


@pytest.mark.parametrize("preset", ["tuned", "paper", "quick"])
def test_a_preset_trains_a_network_on_images(preset: str, data: str, tmp_path: Path) -> None:
    run = train(tmp_path / "run", data, preset=preset, steps=8)
    assert run.config.architecture == "cnn"
    assert run.status == "finished"
    assert 0 <= run.evaluations[-1]["mean"] <= 100
    assert run.evaluations[-1]["training_mean"] < 0


def test_the_presets_of_the_paper_and_ours_differ_where_the_docs_say() -> None:
    paper, tuned = (PRESETS[name].values("pssvf", "mnist") for name in ("paper", "tuned"))
    assert (paper["round_size"], paper["batch_size"], paper["buffer_size"]) == (1, 4, 1000)
    assert (paper["noise"], paper["policy_lr"], paper["evaluator_lr"]) == (0.05, 1e-6, 1e-3)
    assert (paper["policy_updates"], paper["evaluator_updates"]) == (1, 5)
    assert (paper["probing_low"], paper["probing_high"], paper["recency"]) == (-0.5, 0.5, 0.8)
    assert tuned["shared_start"]
    assert tuned["batches"] == "rounds"


class Stop(Exception):
    pass


@pytest.mark.parametrize(
    "images",
    [
        {},
        {"probing_settled": 0.5},
        {"probing_averaged": 0.75, "probing_average_until": 0.5, "probing_bounds": (0.0, 1.0)},
    ],
)
def test_a_run_that_forgets_old_rounds_is_resumed_exactly(
    images: dict[str, Any], data: str, tmp_path: Path
) -> None:
    options = {"steps": 80, "history_rounds": 2, "checkpoint_seconds": 0.0, "buffer_size": 8}
    options |= images
    whole = train(tmp_path / "whole", data, **options)

    def stop(notice: litmus.Notice) -> None:
        if notice.event["event"] == "round" and notice.event["round"] in (5, 12):
            raise Stop

    with pytest.raises(Stop):
        train(tmp_path / "run", data, callback=stop, **options)
    with pytest.raises(Stop):
        litmus.resume(tmp_path / "run", quiet=True, callback=stop)
    run = litmus.resume(tmp_path / "run", quiet=True)
    assert run.policy_path.read_bytes() == whole.policy_path.read_bytes()
    assert run.evaluator_path.read_bytes() == whole.evaluator_path.read_bytes()
    assert without_times(run.metrics) == without_times(whole.metrics)
    for one in (run, whole):
        kept = sorted(path.name for path in one.history_path.glob("rounds*.bin"))
        assert "rounds.bin" not in kept
        assert 1 <= len(kept) <= 4


@pytest.mark.parametrize("until", [0.25, 1.0])
def test_images_become_the_average_of_what_they_were_and_stay_so(
    until: float, data: str, tmp_path: Path
) -> None:
    options = {"probing_averaged": 0.5, "probing_average_until": until, "probing_lr": 0.1}
    run = train(tmp_path / "run", data, steps=80, **options)
    steps, images = run.read_probing_snapshots()
    early, late = images[(steps > 0) & (steps < 80 * min(until, 0.5))], images[steps >= 40]
    assert len(early) == (4 if until < 0.5 else 9)  # one after each round of 4
    assert len(late) > 1
    assert (late == late[-1]).all()
    np.testing.assert_allclose(late[-1], early.mean(0), rtol=0, atol=1e-5)
    assert np.abs(late[-1] - early[-1]).max() > 0.01


def test_images_that_have_settled_cost_no_gradient_and_change_nothing_else(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"steps": 80, "probing_settled": 0.5, "checkpoint_seconds": 0.0}
    settled = train(tmp_path / "settled", data, **options)
    steps, images = settled.read_probing_snapshots()
    late = images[steps >= 40]
    assert len(late) > 1
    assert (late == late[-1]).all()
    assert not (images == late[-1]).all()
    monkeypatch.setattr(TorchUpdates, "begin_round", lambda self, steps: None)
    with_gradients = train(tmp_path / "with", data, **options)
    assert settled.policy_path.read_bytes() == with_gradients.policy_path.read_bytes()
    assert settled.evaluator_path.read_bytes() == with_gradients.evaluator_path.read_bytes()


def test_a_run_goes_on_from_another_folder_and_with_images_that_were_moved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_set(tmp_path / "images" / "set")
    options = {"steps": 24, "checkpoint_seconds": 0.0}
    whole = train(tmp_path / "whole", str(folder), **options)

    def stop(notice: litmus.Notice) -> None:
        if notice.event["event"] == "round" and notice.event["round"] == 2:
            raise Stop

    monkeypatch.chdir(folder.parent)
    for out in ("run", "moved"):
        with pytest.raises(Stop):
            train(tmp_path / out, folder.name, callback=stop, **options)
    monkeypatch.chdir(tmp_path)
    run = litmus.resume(tmp_path / "run", quiet=True)
    assert run.policy_path.read_bytes() == whole.policy_path.read_bytes()
    folder.rename(tmp_path / "elsewhere")
    with pytest.raises(litmus.BadInput, match="there is no folder"):
        litmus.resume(tmp_path / "moved", quiet=True)
    moved = litmus.resume(tmp_path / "moved", data="elsewhere", quiet=True)
    assert moved.policy_path.read_bytes() == whole.policy_path.read_bytes()


def test_the_newest_checkpoint_may_be_lost_when_rounds_are_forgotten(
    data: str, tmp_path: Path
) -> None:
    options = {"steps": 60, "history_rounds": 1, "checkpoint_seconds": 0.0, "buffer_size": 8}
    whole = train(tmp_path / "whole", data, **options)

    def stop(notice: litmus.Notice) -> None:
        if notice.event["event"] == "round" and notice.event["round"] == 9:
            raise Stop

    with pytest.raises(Stop):
        train(tmp_path / "run", data, callback=stop, **options)
    newest = max((tmp_path / "run" / "checkpoints").glob("*.safetensors"))
    newest.write_bytes(b"damaged")
    run = litmus.resume(tmp_path / "run", quiet=True)
    assert run.policy_path.read_bytes() == whole.policy_path.read_bytes()


def test_a_task_in_memory_is_a_function_of_ones_own(tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "own_images.py").write_text(
        "from tiny_images import draw\n"
        "from litmus.tasks.classification import ClassificationTask\n"
        "def make(images_per_episode=12):\n"
        "    return ClassificationTask(*draw(60), images_per_episode=images_per_episode)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    own = {**OPTIONS, "task": "own_images:make", "architecture": "cnn", "steps": 8}
    run = litmus.train("pssvf", out=tmp_path / "run", quiet=True, workers=0, **own)
    assert run.status == "finished"


def test_commands_speak_of_images(data: str, tmp_path: Path, capsys: Any) -> None:
    words = ["train", "pssvf", "--task", "images", "--preset", "quick", "--out", "run"]
    small = ["--channels", "2", "--steps", "16", "--round-size", "4", "--buffer-size", "16"]
    assert main([*words, "--data", "nowhere"]) == 2
    assert_one_line(capsys.readouterr().err, "there is no folder")
    assert main([*words, *small, "--data", data, "--device", "cpu"]) == 0
    assert main(["evaluate", "run", "--episodes", "2"]) == 0
    capsys.readouterr()
    assert main(["evaluate", "run", "--data", "nowhere"]) == 2
    assert_one_line(capsys.readouterr().err, "there is no folder nowhere")
    policy = ["evaluate", "run/policy.safetensors", "--task", "images", "--episodes", "2"]
    assert main([*policy, "--data", data]) == 0
    assert main([*policy, "--env-kwargs", json.dumps({"data": data})]) == 2
    assert_one_line(capsys.readouterr().err, "has no option 'data'", "--data")
    assert main(["report", "run", "--figures", "figures"]) == 0
    page = Path("run/report.html").read_text()
    assert "How the probing states took shape" in page
    assert "cannot be shown" not in page
    assert "told right, in per cent" in page
    pictures = {path.name for path in Path("figures/probing-run").iterdir()}
    assert pictures == {"probing-images.png", "evolution.png", "choices.txt"}


def test_options_of_the_task_are_put_beside_those_of_the_run(data: str, tmp_path: Path) -> None:
    run = train(tmp_path / "run", data, steps=8, env_kwargs={"images_per_episode": 4})
    returns = litmus.evaluate(run, env_kwargs={"held_out": "test"}, workers=0).returns
    assert {one % 25 for one in returns} == {0}  # of four images


def test_learning_tells_the_corners_apart(data: str, tmp_path: Path) -> None:
    """Three classes: chance is 33%. The rules of `tuned`, with steps for a small problem."""
    run = train(
        tmp_path / "run",
        data,
        steps=2000,
        round_size=16,
        round_turns=1,
        batch_size=16,
        buffer_size=256,
        evaluator_updates=8,
        policy_updates=8,
        evaluator_lr=1e-3,
        noise=0.05,
        policy_step=3.0,
        policy_step_decay=0.0,
        probing_states=12,
        evaluator_hidden=(16,),
        env_kwargs={"images_per_episode": 60},
        evaluate_every=800,
        evaluate_episodes=8,
    )
    untrained, *_, last = (event["mean"] for event in run.evaluations)
    assert np.isfinite(untrained)
    assert last > 80
