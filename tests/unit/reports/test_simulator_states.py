from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from litmus.reports.component_names import name_action_components, name_state_components
from litmus.reports.simulator_states import ImpossibleState, find_mapping
from litmus.tasks.gymnasium_registry import make_environment

SIX = ("Swimmer", "Hopper", "Walker2d", "HalfCheetah", "Ant", "InvertedDoublePendulum")
TASKS = [f"{name}-v{version}" for name in SIX for version in (4, 5)]


@pytest.mark.parametrize("task", TASKS)
def test_a_simulator_set_to_an_observed_state_observes_it_again(task: str) -> None:
    mapping = find_mapping(task)
    assert mapping is not None
    environment: Any = make_environment(task).unwrapped
    environment.reset(seed=1)
    environment.action_space.seed(1)
    for _ in range(4):
        observed = environment.step(environment.action_space.sample())[0]
    found = mapping(observed)
    assert found.qpos.shape == environment.data.qpos.shape
    assert found.qvel.shape == environment.data.qvel.shape
    environment.set_state(found.qpos, found.qvel)
    again = environment._get_obs()
    held = {"Ant": 27, "InvertedDoublePendulum": 8}.get(task[:-3], observed.size)
    np.testing.assert_allclose(again[:held], observed[:held], atol=1e-9)
    environment.close()


@pytest.mark.parametrize("task", ["Hopper-v5", "Walker2d-v5", "HalfCheetah-v5"])
def test_the_position_that_the_observation_leaves_out_is_zero(task: str) -> None:
    mapping = find_mapping(task)
    assert mapping is not None
    assert mapping(np.ones(17)).qpos[0] == 0.0


def test_an_orientation_is_normalised_and_one_without_length_is_refused() -> None:
    mapping = find_mapping("Ant-v5")
    assert mapping is not None
    state = np.zeros(105)
    state[1:5] = 2.0, 0.0, 0.0, 0.0
    np.testing.assert_allclose(mapping(state).qpos[3:7], [1, 0, 0, 0])
    state[1:5] = 0.0
    with pytest.raises(ImpossibleState, match="quaternion"):
        mapping(state)


def test_an_angle_is_found_from_a_sine_and_cosine_that_are_not_on_the_circle() -> None:
    mapping = find_mapping("InvertedDoublePendulum-v5")
    assert mapping is not None
    state = np.array([0.3, 0.5, 0.0, 0.5, -2.0, 1.0, 2.0, 3.0, 0.0])
    found = mapping(state)
    np.testing.assert_allclose(found.qpos, [0.3, np.pi / 4, np.pi])
    np.testing.assert_allclose(found.qvel, [1, 2, 3])
    state[1] = state[3] = 0.0
    with pytest.raises(ImpossibleState, match="both zero"):
        mapping(state)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e9])
@pytest.mark.parametrize("task", ["Swimmer-v5", "InvertedDoublePendulum-v4"])
def test_a_state_that_no_simulator_holds_is_refused(task: str, bad: float) -> None:
    mapping = find_mapping(task)
    assert mapping is not None
    state = np.ones(11)
    state[2] = bad
    with pytest.raises(ImpossibleState):
        mapping(state)


def test_other_tasks_have_no_mapping() -> None:
    assert find_mapping("CartPole-v1") is None


@pytest.mark.parametrize("task", [*TASKS, "CartPole-v1", "Pendulum-v1", "Acrobot-v1"])
def test_every_component_of_a_known_task_has_a_name_of_its_own(task: str) -> None:
    environment = make_environment(task)
    size = int(np.prod(environment.observation_space.shape or ()))
    names = name_state_components(task, size)
    assert len(names) == len(set(names)) == size
    space: Any = environment.action_space
    count = int(space.n) if hasattr(space, "n") else int(np.prod(space.shape))
    kind = "categorical" if hasattr(space, "n") else "deterministic"
    actions = name_action_components(task, count, kind)
    assert len(actions) == len(set(actions)) == count
    assert not any(name.startswith("action ") for name in actions)
    environment.close()


def test_ant_motors_are_named_in_the_order_of_the_simulator() -> None:
    environment: Any = make_environment("Ant-v5").unwrapped
    legs = {"1": "front left", "2": "front right", "3": "back left", "4": "back right"}
    model = environment.model
    joints = [model.joint(int(model.actuator_trnid[i][0])).name for i in range(model.nu)]
    expected = [f"{legs[name[-1]]} {name[:-2]} torque" for name in joints]
    assert name_action_components("Ant-v5", 8, "deterministic") == expected
    environment.close()


def test_unknown_components_are_numbered() -> None:
    assert name_state_components("Mine-v0", 2) == ["component 0", "component 1"]
    assert name_action_components("Mine-v0", 4, "gaussian")[3] == "action 1, log σ"
