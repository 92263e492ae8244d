"""Random actions: within bounds, the same every time, measured where runs are evaluated."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

from litmus.experiments.random_policy import RandomJob, RandomPolicy
from litmus.tasks import make_task_spec
from litmus.tasks.base import ContinuousActions

TASKS = (
    *("toys:ToyWalk-v0", "toys:ToyMatrixWalk-v0", "toys:ToyOneSidedWalk-v0"),
    *("toys:ToyDoubleWalk-v0", "toys:ToyChoiceWalk-v0", "toys:ToyUnboundedWalk-v0"),
)


def make_job(task: str = "toys:ToyWalk-v0", seeds: tuple[int, ...] = (3, 4)) -> RandomJob:
    return RandomJob(task, "random/walk", seeds, 3, {}, None)


@pytest.mark.parametrize("task", TASKS)
def test_random_actions_are_what_the_environment_takes(task: str) -> None:
    space = gymnasium.make(task).action_space
    policy = RandomPolicy(make_task_spec(task).build().actions, np.random.default_rng(0))
    assert all(space.contains(policy.act(np.zeros(3))) for _ in range(200))


def test_random_actions_fill_their_bounds_evenly() -> None:
    actions = ContinuousActions((-1.0, 0.0), (3.0, np.inf))
    drawn = RandomPolicy(actions, np.random.default_rng(0)).action_parameters(np.zeros((4000, 1)))
    np.testing.assert_allclose(drawn.mean(axis=0), [1.0, np.sqrt(2 / np.pi)], atol=0.1)
    assert drawn[:, 0].min() < -0.99 < 2.99 < drawn[:, 0].max() <= 3.0
    assert drawn[:, 1].min() >= 0.0


def test_a_job_measures_each_seed_once_and_alike(tmp_path: Path) -> None:
    job = make_job()
    assert job.look(tmp_path).state == "missing"
    job.work(tmp_path)
    assert job.look(tmp_path).state == "finished"
    found = job.read_returns(tmp_path)
    assert set(found) == {3, 4}
    more = make_job(seeds=(3, 4, 5))
    assert more.look(tmp_path).state == "unfinished"
    more.work(tmp_path)
    assert {seed: more.read_returns(tmp_path)[seed] for seed in (3, 4)} == found
    make_job(seeds=(6,)).work(tmp_path)
    assert more.look(tmp_path).state == "finished"  # none is forgotten
    job.work(tmp_path / "again")
    assert job.read_returns(tmp_path / "again") == found


def test_what_was_measured_otherwise_or_is_damaged_is_measured_again(tmp_path: Path) -> None:
    job = make_job()
    job.work(tmp_path)
    other = RandomJob(job.task, job.folder, job.seeds, 7, {}, None)
    assert other.look(tmp_path).state == "unfinished"
    path = tmp_path / "returns.json"
    path.write_text(path.read_text().replace("3", "4"))
    assert job.look(tmp_path).state == "unfinished"
    job.work(tmp_path)
    assert job.look(tmp_path).state == "finished"


def test_a_task_that_is_no_environment_is_measured_too(tmp_path: Path) -> None:
    job = make_job("toys:LabelsTask")
    job.work(tmp_path)
    assert all(mean is not None for mean in job.read_returns(tmp_path).values())
