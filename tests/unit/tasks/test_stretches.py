"""Many steps in one call must be the steps of `step_through`, bit for bit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from litmus.native.library import find_library
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.episode import ActingPolicy
from litmus.tasks.base import Exploration, RunsStretches, Stretch, Transition
from litmus.tasks.control import ControlTask, make_control_task
from litmus.tasks.mujoco import BODIES

LEAN = [
    f"{name}-v{version}"
    for name, body in BODIES.items()
    if body.loop is not None
    for version in body.loop.versions
]
LIMIT = 60
GIVEN = 9

pytestmark = pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")


def make_task(environment_id: str, **options: Any) -> ControlTask:
    task = make_control_task(environment_id, **{"max_episode_steps": LIMIT, **options})
    assert isinstance(task, RunsStretches)
    if task._lean_loop is not None and task._lean_loop.compiled is None:
        pytest.skip("numpy's sines are not those of C here")
    return task


def make_exploration(task: ControlTask, seed: int, distribution: str = "auto") -> Exploration:
    """Beyond the bounds every now and then, the limit of an episode included."""
    head = ActionHead.for_task(distribution, task.actions)
    architecture = MlpArchitecture(task.state_shape, head, hidden=(8,))
    generator = np.random.default_rng(seed)
    flat_params = generator.standard_normal(architecture.num_params, dtype=np.float32)
    normalizer = Normalizer.identity(task.state_shape)
    policy = ActingPolicy(architecture, flat_params, normalizer, generator)
    rows = 0.5 * generator.standard_normal((LIMIT + 5, len(head.low)), dtype=np.float32)
    rows[:GIVEN] = np.clip(rows[:GIVEN], head.low, head.high)
    return Exploration(policy, rows, GIVEN, head.low, head.high)


def step_through(task: ControlTask, exploration: Exploration, seed: int) -> Iterator[Transition]:
    numbers = itertools.count()
    return task.step_through(lambda seen: exploration.skip(next(numbers)).act(seen), seed)


def run_in_pieces(
    task: ControlTask, exploration: Exploration, seed: int, taken: int = 0
) -> list[Stretch]:
    """To the end of the episode, in pieces of all lengths."""
    lengths, stretches = np.random.default_rng(seed), []
    while not stretches or not stretches[-1].is_over:
        left = exploration.skip(taken)
        rows = left.rows[: lengths.integers(1, 30)]
        left = Exploration(left.policy, rows, left.given, left.low, left.high)
        stretch = task.run_stretch(left, seed, taken)
        assert stretch is not None
        assert 1 <= len(stretch) <= len(rows)
        stretches.append(stretch)
        taken += len(stretch)
    return stretches


def assert_same(stretches: list[Stretch], transitions: list[Transition]) -> None:
    expected = [Stretch.of(transition) for transition in transitions]
    for name in ("observations", "actions", "rewards", "next_observations", "survival_bonuses"):
        found, wanted = (
            np.concatenate([getattr(stretch, name) for stretch in some])
            for some in (stretches, expected)
        )
        np.testing.assert_array_equal(found, wanted)
    for ending in ("terminated", "truncated"):
        assert getattr(stretches[-1], ending) == getattr(expected[-1], ending)
        assert not any(getattr(stretch, ending) for stretch in stretches[:-1])


@pytest.mark.parametrize("remove_survival_bonus", [False, True])
@pytest.mark.parametrize("environment_id", LEAN)
def test_stretches_are_the_transitions_bit_for_bit(
    environment_id: str, remove_survival_bonus: bool
) -> None:
    task = make_task(environment_id, remove_survival_bonus=remove_survival_bonus)
    for seed in range(3):
        exploration = make_exploration(task, seed)
        transitions = list(step_through(task, exploration, seed))
        assert_same(run_in_pieces(task, exploration, seed), transitions)


@pytest.mark.parametrize("taken", [1, 5, 14])
@pytest.mark.parametrize("environment_id", ["Swimmer-v5", "Hopper-v4", "Ant-v5", "Humanoid-v5"])
def test_a_stretch_goes_on_where_single_steps_stopped(environment_id: str, taken: int) -> None:
    task = make_task(environment_id)
    exploration = make_exploration(task, 0)
    transitions = list(step_through(task, exploration, 4))
    begun = step_through(task, exploration, 4)
    first = [Stretch.of(next(begun)) for _ in range(taken)]
    assert_same(first + run_in_pieces(task, exploration, 4, taken), transitions)


def test_an_end_in_the_last_step_that_the_limit_allows_is_both() -> None:
    task = make_task("Hopper-v5")
    exploration = make_exploration(task, 1)
    fallen = len(list(step_through(task, exploration, 1)))
    assert fallen < LIMIT
    limited = make_task("Hopper-v5", max_episode_steps=fallen)
    last = run_in_pieces(limited, exploration, 1)[-1]
    assert last.terminated
    assert last.truncated


def test_no_later_stretch_writes_into_one_that_was_handed_out() -> None:
    task = make_task("Swimmer-v5")
    exploration = make_exploration(task, 0)
    first = task.run_stretch(exploration, 0, 0)
    kept = [array.copy() for array in (first.observations, first.actions, first.rewards)]
    task.run_stretch(exploration, 1, 0)
    for before, now in zip(kept, (first.observations, first.actions, first.rewards), strict=True):
        np.testing.assert_array_equal(before, now)


class Uncompiled:
    """A policy that only Python can ask."""

    def __init__(self, policy: Any) -> None:
        self.act, self.action_parameters = policy.act, policy.action_parameters


class Doubled(ControlTask):
    """Pays twice as much."""

    def step_through(self, act: Any, seed: int) -> Iterator[Transition]:
        for transition in super().step_through(act, seed):
            yield transition._replace(reward=2 * transition.reward)


@pytest.mark.parametrize("why", ["policy", "stochastic", "steps of its own", "unknown body"])
def test_what_the_compiled_loop_cannot_run_is_left_to_single_steps(why: str) -> None:
    task = make_task("Pendulum-v1" if why == "unknown body" else "Swimmer-v5")
    exploration = make_exploration(task, 0, "gaussian" if why == "stochastic" else "auto")
    if why == "policy":
        policy: Any = Uncompiled(exploration.policy)
        exploration = Exploration(
            policy, exploration.rows, exploration.given, exploration.low, exploration.high
        )
    if why == "steps of its own":
        task = Doubled(task.environment, task.name)
    assert task.run_stretch(exploration, 0, 0) is None


def test_an_exploration_of_another_body_is_refused() -> None:
    task, other = make_task("Swimmer-v5"), make_task("HalfCheetah-v5")
    exploration, of_other = make_exploration(task, 0), make_exploration(other, 0)
    wrong = Exploration(exploration.policy, of_other.rows, 0, of_other.low, of_other.high)
    with pytest.raises(ValueError, match="2 actions"):
        task.run_stretch(wrong, 0, 0)


def test_an_exploration_keeps_within_the_bounds_and_skips() -> None:
    class Still:
        def act(self, observation: np.ndarray) -> np.ndarray:
            return np.array([0.5], dtype=np.float32)

    rows = np.array([[0.1], [0.2], [0.3], [5.0]], dtype=np.float32)
    low, high = np.array([-1.0], dtype=np.float32), np.array([1.0], dtype=np.float32)
    exploration = Exploration(Still(), rows, 2, low, high)
    acts = [float(exploration.skip(steps).act(np.zeros(1))[0]) for steps in range(4)]
    assert acts == pytest.approx([0.1, 0.2, 0.8, 1.0])


def test_the_beginning_of_a_stretch_does_not_end_the_episode() -> None:
    task = make_task("Swimmer-v5")
    whole = task.run_stretch(make_exploration(task, 0), 0, 0)
    assert whole.truncated
    assert whole.cut(len(whole)) is whole
    beginning = whole.cut(7)
    assert len(beginning) == 7
    assert not beginning.is_over
    np.testing.assert_array_equal(beginning.rewards, whole.rewards[:7])
