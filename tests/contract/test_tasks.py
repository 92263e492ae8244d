"""Every kind of task that litmus says it trains on."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest
from harness import train_tiny

import litmus
from litmus.errors import BadInput
from litmus.policies.architecture import ARCHITECTURES
from litmus.tasks import TASKS, make_task_spec
from litmus.tasks.gymnasium_registry import list_environments

MUJOCO = ["Swimmer", "HalfCheetah", "Hopper", "Walker2d", "Ant", "InvertedDoublePendulum"]
CLASSIC = ["Pendulum-v1", "CartPole-v1", "MountainCarContinuous-v0", "Acrobot-v1"]
OWN = [f"toys:Toy{name}-v0" for name in ("Walk", "MatrixWalk", "UnboundedWalk", "ChoiceWalk")]
EVERY_TASK = [f"{name}-{version}" for name in MUJOCO for version in ("v5", "v4")] + CLASSIC + OWN


@pytest.mark.parametrize("task", EVERY_TASK)
def test_a_task_trains_for_one_round(task: str, tmp_path: Path) -> None:
    run = train_tiny(tmp_path / "run", task=task, steps=1, round_size=1, evaluate_every=0)
    assert run.status == "finished"
    assert [event["event"] for event in run.metrics] == ["round", "finished"]
    assert np.isfinite(run.metrics[0]["mean"])
    environment = gymnasium.make(task)
    observation, _ = environment.reset(seed=0)
    assert environment.action_space.contains(in_space(run.policy.act(observation), environment))


def in_space(action, environment):
    space = environment.action_space
    if isinstance(space, gymnasium.spaces.Discrete):
        return int(action) + int(space.start)
    return np.asarray(action, space.dtype).reshape(space.shape)


@pytest.mark.parametrize("distribution", ["deterministic", "gaussian"])
def test_every_kind_of_continuous_policy_trains(distribution: str, tmp_path: Path) -> None:
    run = train_tiny(tmp_path / "run", task="toys:ToyUnboundedWalk-v0", distribution=distribution)
    assert run.policy.architecture.head.distribution == distribution


def test_tasks_that_are_listed_exist() -> None:
    listed = list_environments()
    assert {*CLASSIC, *(f"{name}-{v}" for name in MUJOCO for v in ("v4", "v5"))} <= set(listed)
    assert all(name in gymnasium.registry for name in listed)


class Still:
    """A policy that does nothing."""

    def __init__(self, size: int) -> None:
        self.action = np.zeros(size, np.float32)

    def act(self, observation):
        return self.action


def run_by_hand(task: str, seed: int) -> tuple[float, float]:
    """Return, and the survival bonus in it as the environment itself tells or computes it."""
    environment = gymnasium.make(task, disable_env_checker=True)
    environment.reset(seed=seed)
    action = np.zeros(environment.action_space.shape, np.float32)
    return_ = bonus = 0.0
    done = False
    while not done:
        _, reward, terminated, truncated, info = environment.step(action)
        return_ += float(reward)
        inner = environment.unwrapped
        bonus += info.get("reward_survive", getattr(inner, "healthy_reward", 0.0))
        done = terminated or truncated
    return return_, bonus


@pytest.mark.parametrize("version", ["v5", "v4"])
@pytest.mark.parametrize("name", ["Hopper", "Walker2d", "Ant"])
def test_the_survival_bonus_leaves_the_training_return_only(name: str, version: str) -> None:
    task = make_task_spec(f"{name}-{version}").build()
    episode = task.run_episode(Still(task.actions.size), seed=3)
    return_, bonus = run_by_hand(f"{name}-{version}", seed=3)
    assert bonus > 0
    assert episode.return_ == pytest.approx(return_)
    assert episode.training_return == pytest.approx(return_ - bonus)
    task.close()


@pytest.mark.parametrize(
    "task",
    ["InvertedDoublePendulum-v5", "InvertedDoublePendulum-v4", "Swimmer-v5", "HalfCheetah-v5"],
)
def test_the_survival_bonus_stays_where_it_is_the_goal_or_there_is_none(task: str) -> None:
    built = make_task_spec(task).build()
    episode = built.run_episode(Still(built.actions.size), seed=3)
    assert episode.training_return == episode.return_
    built.close()


def test_the_survival_bonus_can_be_kept_and_removed_by_hand() -> None:
    for choice, expected in (("keep", 0.0), ("remove", 4 * 0.25), ("auto", 0.0)):
        task = make_task_spec("toys:ToyWalk-v0", choice).build()
        episode = task.run_episode(Still(2), seed=0)
        assert episode.return_ - episode.training_return == pytest.approx(expected)
    kept = make_task_spec("Hopper-v5", "keep").build()
    episode = kept.run_episode(Still(3), seed=3)
    assert episode.training_return == episode.return_


def test_the_moments_of_an_episode_are_those_of_the_observations_acted_on() -> None:
    seen = []

    class Watching(Still):
        def act(self, observation):
            seen.append(np.array(observation))
            return self.action

    task = make_task_spec("Pendulum-v1").build()
    episode = task.run_episode(Watching(1), seed=1)
    assert episode.steps == episode.moments.count == len(seen) == 200
    exact = np.array(seen, np.float64)  # the observations themselves are float32
    np.testing.assert_allclose(episode.moments.mean, exact.mean(axis=0), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(
        episode.moments.squared_deviations, 200 * exact.var(axis=0), rtol=1e-9, atol=1e-9
    )


def test_an_episode_longer_than_any_before_it_is_whole() -> None:
    """Longer than the thousand steps that room is first made for."""
    gymnasium.register("ToyLong-v0", "toys:Walk", kwargs={})
    try:
        task = make_task_spec("ToyLong-v0").build()
        task.environment.unwrapped.length = 2500
        assert task.run_episode(Still(2), seed=0).moments.count == 2500
    finally:
        del gymnasium.registry["ToyLong-v0"]


@pytest.mark.parametrize("workers", [0, 2])
def test_a_task_that_is_no_gymnasium_environment(workers: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(TASKS, "target", "toys:TargetTask")
    run = train_tiny(tmp_path / "run", task="target", steps=20, workers=workers)
    assert run.status == "finished"
    measured = litmus.evaluate(run, episodes=3, workers=workers)
    assert len(measured.returns) == 3
    assert max(measured.returns) <= 1.0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_network_that_is_no_mlp(workers: int, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setitem(TASKS, "picture", "toys:PictureTask")
    monkeypatch.setitem(ARCHITECTURES, "toy-conv", "toys:ConvArchitecture")
    options = {"task": "picture", "architecture": "toy-conv", "steps": 60}
    run = train_tiny(tmp_path / "run", workers=workers, **options)
    assert run.policy.architecture.name == "toy-conv"
    assert np.isfinite(run.evaluator.score(run.policy))


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("toys:ToyDictWalk-v0", "Dict observations"),
        ("toys:ToyMultiDiscreteWalk-v0", "MultiDiscrete"),
        ("toys:ToyNeedsPackageWalk-v0", "needs the package 'not_there_at_all'"),
        ("toys:ToyWalkk-v0", "did you mean 'ToyWalk-v0'"),
        ("not_there:Env-v0", "'not_there' is not installed"),
        ("Swimer-v5", "did you mean 'Swimmer-v5'"),
        ("Swimmer", "did you mean 'Swimmer-v"),
        ("", "unknown task"),
        (":", "unknown task"),
        ("toys:", "unknown task"),
    ],
)
def test_a_task_that_cannot_be_used_is_bad_input(task: str, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        make_task_spec(task).build()
    assert words in str(caught.value)
