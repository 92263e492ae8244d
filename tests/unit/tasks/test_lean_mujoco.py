"""The lean loop must be the environment, only faster."""

from __future__ import annotations

import copy

import gymnasium
import numpy as np
import pytest

from litmus.native.library import find_library
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.episode import ActingPolicy
from litmus.tasks.control import ControlTask, make_control_task
from litmus.tasks.lean_mujoco import find_facts

LEAN = [
    f"{name}-v{version}"
    for name in ("Swimmer", "Hopper", "Walker2d", "HalfCheetah")
    for version in (4, 5)
]


def make_policy(task: ControlTask, scale: float, seed: int) -> ActingPolicy:
    head = ActionHead.for_task("auto", task.actions)
    architecture = MlpArchitecture(task.state_shape, head, hidden=(8,))
    generator = np.random.default_rng(seed)
    flat_params = scale * generator.standard_normal(architecture.num_params, dtype=np.float32)
    normalizer = Normalizer.identity(task.state_shape)
    return ActingPolicy(architecture, flat_params.astype(np.float32), normalizer, generator)


@pytest.mark.parametrize("remove_survival_bonus", [False, True])
@pytest.mark.parametrize("environment_id", LEAN)
def test_an_episode_is_the_environments_own_bit_for_bit(
    environment_id: str, remove_survival_bonus: bool
) -> None:
    task = make_control_task(environment_id, remove_survival_bonus)
    for seed, scale in ((0, 0.02), (1, 1.0)):  # one that acts little, one that falls or thrashes
        policy = make_policy(task, scale, seed)
        lean, plain = task.run_episode(policy, seed), task.run_gymnasium_episode(policy, seed)
        assert (lean.return_, lean.training_return, lean.steps) == (
            plain.return_,
            plain.training_return,
            plain.steps,
        )
        np.testing.assert_array_equal(lean.moments.mean, plain.moments.mean)
        np.testing.assert_array_equal(
            lean.moments.squared_deviations, plain.moments.squared_deviations
        )


class Uncompiled:
    """A policy that only Python can ask."""

    def __init__(self, policy: ActingPolicy) -> None:
        self.act, self.action_parameters = policy.act, policy.action_parameters


@pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")
@pytest.mark.parametrize("environment_id", LEAN)
def test_the_compiled_loop_is_the_python_loop_bit_for_bit(environment_id: str) -> None:
    task = make_control_task(environment_id)
    for seed, scale in ((0, 0.02), (1, 1.0)):
        policy = make_policy(task, scale, seed)
        assert policy.compiled_form() is not None
        assert task._lean_loop.compiled is not None
        compiled = task.run_episode(policy, seed)
        interpreted = task.run_episode(Uncompiled(policy), seed)
        assert compiled.return_ == interpreted.return_
        assert compiled.steps == interpreted.steps
        np.testing.assert_array_equal(compiled.moments.mean, interpreted.moments.mean)


@pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")
def test_a_policy_that_draws_its_actions_is_left_to_python() -> None:
    task = make_control_task("Swimmer-v5")
    architecture = MlpArchitecture(task.state_shape, ActionHead("gaussian", task.actions), (8,))
    flat_params = np.zeros(architecture.num_params, np.float32)
    normalizer = Normalizer.identity(task.state_shape)
    policy = ActingPolicy(architecture, flat_params, normalizer, np.random.default_rng(0))
    assert policy.compiled_form() is None
    assert task.run_episode(policy, 0).steps == 1000


def test_a_policy_that_acts_in_its_own_way_is_asked_itself() -> None:
    class Idle(ActingPolicy):
        def act(self, observation):
            return np.zeros_like(super().act(observation))

    task = make_control_task("HalfCheetah-v5")
    policy = make_policy(task, 1.0, 0)
    policy.__class__ = Idle
    assert task.run_episode(policy, 0).return_ == task.run_gymnasium_episode(policy, 0).return_


def test_a_policy_for_another_body_is_refused() -> None:
    policy = make_policy(make_control_task("Swimmer-v5"), 0.1, 0)
    with pytest.raises(ValueError, match=r"observations|broadcast"):
        make_control_task("HalfCheetah-v5").run_episode(policy, 0)


def test_a_copy_of_a_task_has_a_body_of_its_own() -> None:
    task = make_control_task("Swimmer-v5")
    policy = make_policy(task, 0.5, 0)
    expected = task.run_episode(policy, 3).return_
    twin = copy.deepcopy(task)
    assert twin.run_episode(policy, 3).return_ == expected
    assert twin._lean_loop.bare is not task._lean_loop.bare
    assert twin._lean_loop.bare is twin.environment.unwrapped


@pytest.mark.parametrize("environment_id", LEAN)
def test_it_is_used_where_it_can_be(environment_id: str) -> None:
    assert make_control_task(environment_id)._lean_loop is not None


@pytest.mark.parametrize(
    "make",
    [
        lambda: gymnasium.make("Ant-v5"),
        lambda: gymnasium.make("Hopper-v5", terminate_when_unhealthy=False),
        lambda: gymnasium.make("Swimmer-v5", exclude_current_positions_from_observation=False),
        lambda: gymnasium.wrappers.TransformReward(gymnasium.make("Swimmer-v5"), lambda r: 2 * r),
        lambda: gymnasium.make("CartPole-v1"),
    ],
    ids=["another task", "never ends", "sees positions", "wrapped", "no MuJoCo"],
)
def test_it_keeps_out_of_what_it_does_not_know(make) -> None:
    assert find_facts(make()) is None
