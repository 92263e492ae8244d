"""Every kind of task that litmus says it trains on."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from harness import train_tiny

import litmus
from litmus.cli import main
from litmus.errors import BadInput
from litmus.experiments.random_policy import RandomPolicy
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.make import make_collector
from litmus.seeding import Stream
from litmus.tasks import make_task_spec
from litmus.tasks.base import ContinuousActions, Episode
from litmus.tasks.gymnasium_registry import list_environments

MUJOCO = ["Swimmer", "HalfCheetah", "Hopper", "Walker2d", "Ant", "InvertedDoublePendulum"]
CLASSIC = ["Pendulum-v1", "CartPole-v1", "MountainCarContinuous-v0", "Acrobot-v1"]
OWN = [
    f"toys:Toy{name}-v0"
    for name in (
        *("Walk", "MatrixWalk", "UnboundedWalk", "ChoiceWalk", "OneSidedWalk", "DoubleWalk"),
    )
]
UNREGISTERED = ["toys:ScaledWalk", "toys:make_scaled_walk", "toys:TargetTask", "toys:CountdownTask"]
EVERY_TASK = [f"{name}-{version}" for name in MUJOCO for version in ("v5", "v4")] + CLASSIC + OWN


@pytest.mark.parametrize("task", EVERY_TASK)
def test_a_task_trains_for_one_round(task: str, tmp_path: Path) -> None:
    run = train_tiny(tmp_path / "run", task=task, steps=1, round_size=1, evaluate_every=0)
    assert run.status == "finished"
    assert [event["event"] for event in run.metrics] == ["round", "finished"]
    assert np.isfinite(run.metrics[0]["mean"])
    environment = gymnasium.make(task)
    observation, _ = environment.reset(seed=0)
    space = environment.action_space
    for greedy in (False, True):
        assert space.contains(run.policy.act(observation, greedy=greedy))


@pytest.mark.parametrize("distribution", ["deterministic", "gaussian"])
def test_every_kind_of_continuous_policy_trains(distribution: str, tmp_path: Path) -> None:
    run = train_tiny(tmp_path / "run", task="toys:ToyUnboundedWalk-v0", distribution=distribution)
    assert run.policy.architecture.head.distribution == distribution


def test_tasks_that_are_listed_exist() -> None:
    listed = list_environments()
    assert {*CLASSIC, *(f"{name}-{v}" for name in MUJOCO for v in ("v4", "v5"))} <= set(listed)
    assert all(name in gymnasium.registry for name in listed)


def test_the_list_says_what_must_be_installed_first(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: None if name == "Box2D" else find(name)
    )
    assert main(["list", "tasks"]) == 0
    needs = dict(line.partition(" ")[::2] for line in capsys.readouterr().out.splitlines())
    box2d = {name for name, need in needs.items() if "needs" in need}
    assert box2d == {
        *("BipedalWalker-v3", "BipedalWalkerHardcore-v3", "CarRacing-v3"),
        *("LunarLander-v3", "LunarLanderContinuous-v3"),
    }
    for name in box2d:
        assert needs[name].strip() == "needs Box2D: pip install 'litmus-rl[box2d]'"


def test_a_task_that_needs_box2d_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("gymnasium.envs.box2d")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "Box2D", None)
    with pytest.raises(BadInput) as error:
        make_task_spec("LunarLander-v3").build()
    message = "task 'LunarLander-v3' needs Box2D: pip install 'litmus-rl[box2d]'"
    assert str(error.value) == message


@pytest.mark.parametrize(
    ("task", "options"),
    [
        ("LunarLander-v3", {}),
        ("LunarLander-v3", {"continuous": True}),
        ("LunarLanderContinuous-v3", {}),
        ("BipedalWalker-v3", {}),
    ],
)
def test_box2d_gives_the_same_episode_after_any_other(task: str, options: dict[str, Any]) -> None:
    """Its world is made anew for each: nothing of the last one is left."""
    pytest.importorskip("Box2D")
    built = make_task_spec(task, env_kwargs=options, max_episode_steps=100).build()

    def play(seed: int) -> Episode:
        policy = RandomPolicy(built.actions, np.random.default_rng(seed))
        return built.run_episode(policy, seed)

    first = play(3)
    play(4)
    again = play(3)
    assert (again.return_, again.steps) == (first.return_, first.steps)
    np.testing.assert_array_equal(again.moments.mean, first.moments.mean)
    built.close()


def test_box2d_trains(tmp_path: Path) -> None:
    pytest.importorskip("Box2D")
    run = train_tiny(tmp_path / "run", task="BipedalWalker-v3", max_episode_steps=20, workers=1)
    assert run.status == "finished"


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


@pytest.mark.parametrize(
    ("name", "falls"), [("Hopper", True), ("Walker2d", True), ("Humanoid", True), ("Ant", False)]
)
def test_the_survival_bonus_of_who_survives_idle_can_stay(name: str, falls: bool) -> None:
    task = make_task_spec(f"{name}-v5", "idle").build()
    episode = task.run_episode(Still(task.actions.size), seed=5)
    assert (episode.steps < 1000) == falls
    assert (episode.training_return < episode.return_) == falls
    task.close()


def test_doing_nothing_is_tried_in_the_task_as_it_is() -> None:
    short = make_task_spec("Hopper-v5", "idle", max_episode_steps=3).build()  # too short to fall
    assert not short.remove_survival_bonus
    ceiling = {"healthy_z_range": [0.2, 0.5]}  # lower than where an ant begins
    assert make_task_spec("Ant-v5", "idle", ceiling).build().remove_survival_bonus
    assert not make_task_spec("InvertedDoublePendulum-v5", "idle").build().remove_survival_bonus


def test_only_an_environment_has_a_survival_bonus_to_remove() -> None:
    assert make_task_spec("toys:ScaledWalk", "remove").build().remove_survival_bonus
    with pytest.raises(BadInput, match="no survival bonus"):
        make_task_spec("toys:TargetTask", "remove").build()


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
@pytest.mark.parametrize("task", UNREGISTERED)
def test_a_class_or_function_of_ones_own(task: str, workers: int, tmp_path: Path) -> None:
    run = train_tiny(tmp_path / "run", task=task, steps=20, workers=workers)
    assert run.status == "finished"
    measured = litmus.evaluate(run, episodes=3, workers=workers)
    assert len(measured.returns) == 3
    if task == "toys:TargetTask":
        assert max(measured.returns) <= 1.0


@pytest.mark.parametrize(
    ("task", "words"),
    [
        ("toys:ToyDictWalk-v0", "Dict observations"),
        ("toys:ToyMultiDiscreteWalk-v0", "MultiDiscrete"),
        ("toys:ToyNeedsPackageWalk-v0", "needs the package 'not_there_at_all'"),
        ("toys:ToyWalkk-v0", "did you mean 'ToyWalk-v0'"),
        ("toys:TargetTsk", "did you mean 'TargetTask'"),
        ("toys:DictWalk", "Dict observations"),
        ("toys:NeedsPackageWalk", "needs the package 'not_there_at_all'"),
        ("toys:TARGET", "neither a class nor a function"),
        ("toys:HalfTask", "neither a gymnasium.Env nor a task: it has no actions, run_episode"),
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


class TestOptions:
    def test_they_reach_the_environment(self) -> None:
        for name in ("toys:ScaledWalk", "toys:make_scaled_walk"):
            plain = make_task_spec(name).build().run_episode(Full(), seed=0)
            tripled = make_task_spec(name, env_kwargs={"scale": 3}).build()
            assert tripled.run_episode(Full(), seed=0).return_ == 3 * plain.return_
        shorter = make_task_spec("Pendulum-v1", env_kwargs={"max_episode_steps": 9}).build()
        assert shorter.run_episode(Still(1), seed=0).steps == 9
        task = make_task_spec("toys:LabelsTask", env_kwargs={"factor": 0.0}).build()
        assert task.factor == 0.0

    def test_a_time_limit_of_ones_own_holds(self) -> None:
        assert make_task_spec("toys:make_scaled_walk").build().run_episode(Full(), 0).steps == 7

    def test_workers_build_the_same_environment(self) -> None:
        options = {"healthy_z_range": (0.9, 1.5), "reset_noise_scale": 0.05}
        returns = []
        for workers in (0, 2):
            spec = make_task_spec("Hopper-v5", env_kwargs=options)
            task = spec.build()
            head = ActionHead.for_task("auto", task.actions)
            setting = Setting(spec, MlpArchitecture(task.state_shape, head, (4,)), seed=1)
            theta = np.zeros(setting.architecture.num_params, np.float32)
            normalizer = Normalizer.identity(task.state_shape)
            collector = make_collector(setting, workers, capacity=4)
            request = Request(theta, normalizer, 0.1, Stream.TRAINING, range(4))
            returns.append([episode.return_ for episode in collector.start(request).result()])
            collector.close()
        assert returns[0] == returns[1]

    @pytest.mark.parametrize(
        ("task", "options", "words"),
        [
            ("Hopper-v5", {"frameskip": 2}, "no option 'frameskip'; did you mean 'frame_skip'?"),
            ("Hopper-v4", {"wings": 2}, "'Hopper-v4' has no option 'wings'"),
            ("CartPole-v1", {"wings": 2}, "'CartPole-v1' has no option 'wings'"),
            ("toys:ScaledWalk", {"scal": 2}, "no option 'scal'; did you mean 'scale'?"),
            ("toys:LabelsTask", {"wings": 2}, "'toys:LabelsTask' has no option 'wings'"),
            ("toys:make_scaled_walk", {"wings": 2}, "no option 'wings'"),
            ("Hopper-v5", {"frame_skip": "two"}, "'Hopper-v5' cannot be made"),
            ("Hopper-v5", {"frame_skip": object()}, "JSON"),
            ("Hopper-v5", ["frame_skip"], "JSON"),
        ],
    )
    def test_wrong_ones_are_bad_input_in_one_line(self, task: str, options, words: str) -> None:
        with pytest.raises(BadInput) as caught:
            make_task_spec(task, env_kwargs=options).build()
        assert words in str(caught.value)
        assert "\n" not in str(caught.value)

    def test_lunar_lander_flies_with_continuous_actions(self) -> None:
        pytest.importorskip("Box2D")
        task = make_task_spec("LunarLander-v3", env_kwargs={"continuous": True}).build()
        assert task.actions == ContinuousActions((-1.0, -1.0), (1.0, 1.0))
        assert task.run_episode(Still(2), seed=0).steps > 10


class Full(Still):
    """A policy that gives all it has."""

    def __init__(self) -> None:
        self.action = np.ones(2, np.float32)
