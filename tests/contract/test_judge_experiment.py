"""The experiment on judging: what it tells of a task's runs, and of other people's agents."""

from __future__ import annotations

from pathlib import Path

import pytest
from harness import train_tiny

import litmus
from litmus.evaluators.kernel import KernelEvaluator
from litmus.experiments import judge as experiment
from litmus.experiments import sb3_agents
from litmus.experiments.jobs import TrainJob
from litmus.experiments.plan import Choices


def fit_quickly(runs: list[Path]) -> KernelEvaluator:
    return litmus.fit(runs, quiet=True, device="cpu", visits=2, probing_states=10, policies=60)


def test_a_task_is_described_by_card_improvements_and_a_search(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"IMPROVED": 1, "VERIFYING": 1, "RANKED": 4, "EPISODES": 1}.items():
        monkeypatch.setattr(experiment, name, value)
    monkeypatch.setattr(experiment, "BUDGET", 4)
    monkeypatch.setattr(experiment, "MEDIOCRE", (-1e9, 1e9))
    runs = [train_tiny(tmp_path / f"{seed}", steps=120, seed=seed).path for seed in range(2)]
    found = experiment.describe_task(fit_quickly(runs), runs)
    assert found["runs"] == [f"{tmp_path.name}/0", f"{tmp_path.name}/1"]
    assert found["card"]["policies"] == 60
    assert found["not_learned_from"] == [f"{tmp_path.name}/1"]
    assert {"before", "after", "gain", "predicted"} <= set(found["improve"][0])
    assert 1 <= found["rank"]["true_rank_of_the_one_found"] <= 4
    assert found["rank"]["episodes"] <= 4


def test_the_plain_command_is_what_the_results_say() -> None:
    plan = experiment.JUDGE.plan("judge", Choices())
    runs = [job for job in plan.jobs if isinstance(job, TrainJob)]
    steps = {(job.task, job.label): job.steps for job in runs}
    assert len(runs) == 3 * 3 * 8
    assert steps["Swimmer-v5", "pssvf"] == 1_000_000
    assert steps["CartPole-v1", "ars-linear"] == 200_000


def test_agents_of_other_people_are_judged_at_each_stage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("stable_baselines3")
    monkeypatch.setitem(sb3_agents.STAGES, "CartPole-v1", {"A2C": (5, 10)})
    monkeypatch.setattr(sb3_agents, "EPISODES", 2)
    run = train_tiny(tmp_path / "run", task="CartPole-v1", steps=1200, evaluate_every=1200)
    judge = fit_quickly([run.path])
    (job,) = sb3_agents.make_agents_jobs(["CartPole-v1", "Walker2d-v5"])
    assert sb3_agents.judge_agents(judge, "CartPole-v1", tmp_path / "sb3") is None
    assert job.look(tmp_path / "sb3").state == "missing"
    job.work(tmp_path / "sb3")
    assert job.look(tmp_path / "sb3").state == "finished"
    found = sb3_agents.judge_agents(judge, "CartPole-v1", tmp_path / "sb3")
    assert found is not None
    assert [one["agent"] for one in found["agents"]] == ["A2C after 5 steps", "A2C after 10 steps"]
    for one in found["agents"]:
        assert one["low"] < one["value"] < one["high"]
        assert one["is_inside"] == (one["low"] <= one["measured"] <= one["high"])
    again = sb3_agents.judge_agents(judge, "CartPole-v1", tmp_path / "sb3")
    assert again == found
    assert sb3_agents.judge_agents(judge, "Walker2d-v5", tmp_path) is None
