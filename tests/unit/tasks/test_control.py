"""Episodes of an environment are made of its transitions."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from toys import ReusingWalk, Walk

from litmus.tasks import make_task_spec
from litmus.tasks.base import MARKS, CutsShort, DiscreteActions, StepsThrough
from litmus.tasks.control import ControlTask

TASKS = [
    "Pendulum-v1",
    "CartPole-v1",
    "Hopper-v5",
    "Hopper-v4",
    "Ant-v5",
    "toys:ToyMatrixWalk-v0",
    "toys:ToyChoiceWalk-v0",
]


class Swaying:
    """A policy whose actions depend on the observation."""

    def __init__(self, task: ControlTask) -> None:
        self.actions = task.actions

    def act(self, observation: Any) -> Any:
        value = np.sin(np.sum(observation, dtype=np.float64))
        if isinstance(self.actions, DiscreteActions):
            return self.actions.start + int(value > 0)
        return np.full(self.actions.shape or self.actions.size, value, np.float32)


@pytest.mark.parametrize("most_steps", [1, 64, 128])
@pytest.mark.parametrize("name", TASKS)
def test_an_episode_that_is_cut_is_the_beginning_of_the_whole_one(
    name: str, most_steps: int
) -> None:
    task = make_task_spec(name, "remove").build()
    assert isinstance(task, CutsShort)
    policy = Swaying(task)
    steps = list(itertools.islice(task.step_through(policy.act, seed=4), most_steps))
    part, whole = task.run_part(policy, 4, most_steps), task.run_episode(policy, 4)
    assert part.steps == len(steps)
    assert part.training_return == pytest.approx(
        sum(step.reward - step.survival_bonus for step in steps), abs=1e-9
    )
    assert part.moments is not None
    assert part.moments.count == len(steps)
    if most_steps in MARKS:
        assert whole.earlier is not None
        assert part.training_return == whole.earlier[MARKS.index(most_steps)]


def test_an_episode_tells_what_it_had_earned_and_then_what_it_earned() -> None:
    task = ControlTask(Walk(length=300), "walk")
    episode = task.run_episode(Swaying(task), seed=1)
    assert episode.earlier is not None
    rewards = [step.reward for step in task.step_through(Swaying(task).act, seed=1)]
    expected = [sum(rewards[:128]), sum(rewards[:256]), *[sum(rewards)] * (len(MARKS) - 2)]
    assert episode.earlier == pytest.approx(expected)


@pytest.mark.parametrize("name", TASKS)
def test_the_transitions_of_a_seed_are_the_episode_of_that_seed(name: str) -> None:
    task = make_task_spec(name).build()
    assert isinstance(task, StepsThrough)
    policy = Swaying(task)
    episode = task.run_episode(policy, seed=4)
    steps = list(task.step_through(policy.act, seed=4))
    rewards, bonuses = 0.0, 0.0
    for step in steps:
        rewards += step.reward
        bonuses += step.survival_bonus
    assert len(steps) == episode.steps == episode.moments.count
    assert (rewards, rewards - bonuses) == (episode.return_, episode.training_return)
    seen = np.array([step.observation for step in steps], np.float64).reshape(len(steps), -1)
    np.testing.assert_array_equal(seen.mean(axis=0), episode.moments.mean)


@pytest.mark.parametrize("name", TASKS)
def test_each_transition_begins_where_the_one_before_ended(name: str) -> None:
    task = make_task_spec(name).build()
    policy = Swaying(task)
    steps = list(task.step_through(policy.act, seed=1))
    for step, following in itertools.pairwise(steps):
        assert step.next_observation is following.observation
        assert not step.terminated
        assert not step.truncated
    assert steps[-1].terminated or steps[-1].truncated
    for step in steps:
        np.testing.assert_array_equal(step.action, policy.act(step.observation))


def test_a_time_limit_truncates_and_a_fall_terminates() -> None:
    ends = {}
    for name in ("Pendulum-v1", "CartPole-v1"):
        task = make_task_spec(name).build()
        *_, last = task.step_through(lambda _, task=task: still(task), seed=0)
        ends[name] = (last.terminated, last.truncated)
    assert ends == {"Pendulum-v1": (False, True), "CartPole-v1": (True, False)}


def still(task: ControlTask) -> Any:
    return 0 if isinstance(task.actions, DiscreteActions) else np.zeros(task.actions.size)


def test_the_survival_bonus_is_told_only_where_it_is_removed() -> None:
    for choice, expected in (("remove", 0.25), ("keep", 0.0)):
        task = make_task_spec("toys:ToyWalk-v0", choice).build()
        steps = list(task.step_through(Swaying(task).act, seed=0))
        assert [step.survival_bonus for step in steps] == 4 * [expected]


def test_observations_stay_what_they_were_where_the_environment_uses_its_array_again() -> None:
    task, other = ControlTask(ReusingWalk(), "reusing"), ControlTask(Walk(), "walk")
    policy = Swaying(task)
    reusing, plain = (list(one.step_through(policy.act, seed=2)) for one in (task, other))
    for mine, expected in zip(reusing, plain, strict=True):
        np.testing.assert_array_equal(mine.observation, expected.observation)
        np.testing.assert_array_equal(mine.next_observation, expected.next_observation)
    episodes = [one.run_episode(policy, seed=2) for one in (task, other)]
    np.testing.assert_array_equal(episodes[0].moments.mean, episodes[1].moments.mean)


def test_who_has_seen_enough_stops_asking() -> None:
    task = make_task_spec("Pendulum-v1").build()
    policy = Swaying(task)
    expected = task.run_episode(policy, seed=3).return_
    begun = task.step_through(policy.act, seed=8)
    assert len(list(itertools.islice(begun, 5))) == 5
    assert task.run_episode(policy, seed=3).return_ == expected
