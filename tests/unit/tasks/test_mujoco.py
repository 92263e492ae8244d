"""What is known of a body must be what its environment does."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

from litmus.tasks.coordinates import ImpossibleState, find_coordinates
from litmus.tasks.gymnasium_registry import make_environment
from litmus.tasks.mujoco import BODIES
from litmus.tasks.names import (
    base_name,
    find_body,
    name_action_components,
    name_state_components,
)

SIX = ("Swimmer", "Hopper", "Walker2d", "HalfCheetah", "Ant", "InvertedDoublePendulum")
TASKS = [f"{name}-v{version}" for name in SIX for version in (4, 5)]


@pytest.mark.parametrize("task", [*TASKS, "InvertedPendulum-v5"])
def test_a_simulator_set_to_an_observed_state_observes_it_again(task: str) -> None:
    environment: Any = make_environment(task).unwrapped
    observed = step_a_little(environment)
    found = find_coordinates(BODIES[base_name(task)], observed)
    assert found.qpos.shape == environment.data.qpos.shape
    assert found.qvel.shape == environment.data.qvel.shape
    environment.set_state(found.qpos, found.qvel)
    again = environment._get_obs()
    held = {"Ant": 27, "InvertedDoublePendulum": 8}.get(base_name(task), observed.size)
    np.testing.assert_allclose(again[:held], observed[:held], atol=1e-9)
    environment.close()


@pytest.mark.parametrize("task", ["Swimmer-v5", "Hopper-v4", "HalfCheetah-v5", "Ant-v5"])
def test_positions_that_the_observation_was_asked_for_are_known_too(task: str) -> None:
    options = {"exclude_current_positions_from_observation": False}
    environment: Any = make_environment(task, env_kwargs=options).unwrapped
    observed = step_a_little(environment)
    found = find_coordinates(BODIES[base_name(task)], observed)
    np.testing.assert_allclose(found.qpos, environment.data.qpos, atol=1e-9)
    names = name_state_components(task, observed.size)
    assert names[0] == "x (m)"
    assert names[len(BODIES[base_name(task)].left_out)] in ("height (m)", "front angle (rad)")
    environment.close()


def step_a_little(environment: Any) -> np.ndarray:
    environment.reset(seed=1)
    environment.action_space.seed(1)
    for _ in range(4):
        observed = environment.step(environment.action_space.sample())[0]
    return observed


@pytest.mark.parametrize(("name", "size"), [("Hopper", 11), ("Walker2d", 17), ("HalfCheetah", 17)])
def test_the_position_that_the_observation_leaves_out_is_zero(name: str, size: int) -> None:
    assert find_coordinates(BODIES[name], np.ones(size)).qpos[0] == 0.0


def test_an_orientation_is_normalised_and_one_without_length_is_refused() -> None:
    state = np.zeros(105)
    state[1:5] = 2.0, 0.0, 0.0, 0.0
    np.testing.assert_allclose(find_coordinates(BODIES["Ant"], state).qpos[3:7], [1, 0, 0, 0])
    state[1:5] = 0.0
    with pytest.raises(ImpossibleState, match="quaternion"):
        find_coordinates(BODIES["Ant"], state)


def test_an_angle_is_found_from_a_sine_and_cosine_that_are_not_on_the_circle() -> None:
    body = BODIES["InvertedDoublePendulum"]
    state = np.array([0.3, 0.5, 0.0, 0.5, -2.0, 1.0, 2.0, 3.0, 0.0])
    found = find_coordinates(body, state)
    np.testing.assert_allclose(found.qpos, [0.3, np.pi / 4, np.pi])
    np.testing.assert_allclose(found.qvel, [1, 2, 3])
    state[1] = state[3] = 0.0
    with pytest.raises(ImpossibleState, match="both zero"):
        find_coordinates(body, state)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 1e9])
@pytest.mark.parametrize(("name", "size"), [("Swimmer", 8), ("InvertedDoublePendulum", 11)])
def test_a_state_that_no_simulator_holds_is_refused(name: str, size: int, bad: float) -> None:
    state = np.ones(size)
    state[2] = bad
    with pytest.raises(ImpossibleState, match="component"):
        find_coordinates(BODIES[name], state)


@pytest.mark.parametrize("size", [10, 13, 17])
def test_a_state_of_another_size_is_refused(size: int) -> None:
    with pytest.raises(ImpossibleState, match=f"has {size} components"):
        find_coordinates(BODIES["Hopper"], np.ones(size))


@pytest.mark.parametrize("task", ["CartPole-v1", "mine/Hopper-v0", "my_package:Hopper"])
def test_other_tasks_are_about_no_known_body(task: str) -> None:
    assert find_body(task) is None


@pytest.mark.parametrize("name", SIX)
def test_a_body_has_the_sizes_of_its_simulator(name: str) -> None:
    body, environment = BODIES[name], make_environment(f"{name}-v5").unwrapped
    model: Any = environment.model
    positions = 3 if body.has_sines else len(body.left_out) + len(body.positions)
    assert (positions, len(body.velocities), len(body.actions)) == (model.nq, model.nv, model.nu)
    environment.close()


def test_a_bonus_is_removed_only_where_the_environment_pays_one() -> None:
    removed = {name for name, body in BODIES.items() if body.survival_bonus_removed}
    assert removed == {"Hopper", "Walker2d", "Ant", "Humanoid"}
    for name in removed:
        environment: Any = make_environment(f"{name}-v5").unwrapped
        assert environment._healthy_reward > 0
        environment.close()


def test_the_records_and_the_presets_need_nothing_that_is_slow_to_import() -> None:
    """They are read by `litmus --help`, and where there is no MuJoCo."""
    code = (
        "import sys, litmus.presets, litmus.tasks.names, litmus.tasks.mujoco\n"
        "print({'numpy', 'torch', 'gymnasium', 'mujoco'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


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


@pytest.mark.parametrize("count", [10, 13, 40])
def test_a_state_of_a_size_that_the_body_does_not_have_is_numbered(count: int) -> None:
    """A name in the wrong place is worse than none."""
    assert name_state_components("Hopper-v5", count) == [f"component {i}" for i in range(count)]


def test_unknown_components_are_numbered() -> None:
    assert name_state_components("Mine-v0", 2) == ["component 0", "component 1"]
    assert name_action_components("Mine-v0", 4, "gaussian")[3] == "action 1, log σ"
