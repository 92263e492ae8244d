"""The lean loop must be the environment, only faster."""

from __future__ import annotations

import copy
import inspect
from pathlib import Path

import gymnasium
import numpy as np
import pytest

from litmus.native.library import find_library
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.episode import ActingPolicy
from litmus.tasks.control import ControlTask, make_control_task
from litmus.tasks.lean_mujoco import make_lean_loop
from litmus.tasks.mujoco import BODIES

LEAN = [
    f"{name}-v{version}"
    for name, body in BODIES.items()
    if body.loop is not None
    for version in body.loop.versions
]


def make_policy(
    task: ControlTask, scale: float, seed: int, distribution: str = "auto"
) -> ActingPolicy:
    head = ActionHead.for_task(distribution, task.actions)
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
        np.testing.assert_array_equal(lean.earlier, plain.earlier)
        np.testing.assert_array_equal(lean.moments.mean, plain.moments.mean)
        np.testing.assert_array_equal(
            lean.moments.squared_deviations, plain.moments.squared_deviations
        )


OPTIONS = {
    "frame_skip": 2,
    "forward_reward_weight": 3.5,
    "ctrl_cost_weight": 0.7,
    "contact_cost_weight": 0.3,
    "contact_cost_range": [0.5, 2.0],
    "contact_force_range": [-0.5, 3.0],
    "main_body": "front_left_leg",
    "reward_near_weight": 0.3,
    "reward_dist_weight": 0.7,
    "reward_control_weight": 0.4,
    "reset_noise_scale": 0.05,
    "healthy_reward": 2.5,
    "healthy_z_range": [0.9, 1.26],
    "healthy_angle_range": [-0.05, 0.1],
    "healthy_state_range": [-3, 3],
    "include_cinert_in_observation": False,
    "include_cvel_in_observation": False,
    "include_qfrc_actuator_in_observation": False,
    "include_cfrc_ext_in_observation": False,
}
FOR_ALL = {"max_episode_steps": 37, "render_mode": "rgb_array"}
LEFT_TO_GYMNASIUM = {
    "exclude_current_positions_from_observation": False,
    "terminate_when_unhealthy": False,
}


def list_options(environment_id: str) -> list[tuple[str, str, object]]:
    entry = gymnasium.spec(environment_id).entry_point
    known = inspect.signature(gymnasium.envs.registration.load_env_creator(entry)).parameters
    own = {**OPTIONS, **LEFT_TO_GYMNASIUM}
    options = {name: value for name, value in own.items() if name in known} | FOR_ALL
    return [(environment_id, name, value) for name, value in options.items()]


def run_the_environment(environment_id: str, options: dict, policy, seed: int) -> tuple:
    """Return, steps and the last observation, without anything of litmus'."""
    environment = gymnasium.make(environment_id, **options)
    observation, _ = environment.reset(seed=seed)
    rewards, is_over = [], False
    while not is_over:
        seen = observation
        observation, reward, terminated, truncated, _ = environment.step(policy.act(observation))
        rewards.append(reward)
        is_over = terminated or truncated
    return float(np.cumsum(rewards)[-1]), len(rewards), seen.tolist()


@pytest.mark.parametrize("is_compiled", [True, False])
@pytest.mark.parametrize(
    ("environment_id", "option", "value"),
    [
        case
        for name in LEAN
        if name not in ("Swimmer-v4", "HalfCheetah-v4")
        for case in list_options(name)
    ],
)
def test_an_option_of_the_environment_is_respected(
    environment_id: str, option: str, value: object, is_compiled: bool
) -> None:
    options = {"max_episode_steps": 80, option: value}
    task = make_control_task(environment_id, env_kwargs=options)
    assert (task._lean_loop is None) == (option in LEFT_TO_GYMNASIUM)
    for seed, scale in ((0, 0.02), (1, 1.0)):
        policy = make_policy(task, scale, seed)
        episode = task.run_episode(policy if is_compiled else Uncompiled(policy), seed)
        expected = run_the_environment(environment_id, options, policy, seed)
        assert (episode.return_, episode.steps) == expected[:2]
        if task._lean_loop is not None:
            assert task._lean_loop.observations[episode.steps - 1].tolist() == expected[2]


def test_an_episode_without_a_limit_is_left_to_gymnasium() -> None:
    options = {"max_episode_steps": -1}
    task = make_control_task("Hopper-v5", env_kwargs=options)
    assert task._lean_loop is None
    policy = make_policy(task, 1.0, 1)  # falls before long
    episode = task.run_episode(policy, 1)
    expected = run_the_environment("Hopper-v5", options, policy, 1)
    assert (episode.return_, episode.steps) == expected[:2]


@pytest.mark.parametrize("change", ["heavier", "another joint"])
def test_another_body_in_its_place(change: str, tmp_path: Path) -> None:
    """The loop reads everything from the model."""
    original = Path(gymnasium.__file__).parent / "envs/mujoco/assets/hopper.xml"
    text = original.read_text()
    if change == "heavier":
        changed = text.replace('<geom conaffinity="1"', '<geom density="1500" conaffinity="1"', 1)
    else:
        changed = text.replace("</worldbody>", HINGED_BALL + "</worldbody>")
    assert changed != text
    path = tmp_path / "mine.xml"
    path.write_text(changed)
    options = {"xml_file": str(path)}
    task = make_control_task("Hopper-v5", env_kwargs=options)
    assert task._lean_loop is not None
    policy = make_policy(task, 0.5, 0)
    episode = task.run_episode(policy, 0)
    assert (episode.return_, episode.steps) == run_the_environment("Hopper-v5", options, policy, 0)[
        :2
    ]


HINGED_BALL = """
<body name="ball" pos="3 0 3"><joint name="swing" type="hinge" axis="0 1 0" pos="0 0 1"
limited="false"/>
<geom name="ball" type="sphere" size="0.1"/></body>
"""


class Uncompiled:
    """A policy that only Python can ask."""

    def __init__(self, policy: ActingPolicy) -> None:
        self.act, self.action_parameters = policy.act, policy.action_parameters


@pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")
@pytest.mark.parametrize("distribution", ["deterministic", "gaussian"])
@pytest.mark.parametrize("environment_id", LEAN)
def test_the_compiled_loop_is_the_python_loop_bit_for_bit(
    environment_id: str, distribution: str
) -> None:
    """Twice with the same policy: it draws on from where it was."""
    task = make_control_task(environment_id, env_kwargs={"max_episode_steps": 100})
    if task._lean_loop.compiled is None:
        pytest.skip("numpy's sines are not those of C here")
    for seed, scale in ((0, 0.02), (1, 1.0)):
        one, other = (make_policy(task, scale, seed, distribution) for _ in range(2))
        assert one.compiled_form() is not None
        for _ in range(2):
            compiled = task.run_episode(one, seed)
            interpreted = task.run_episode(Uncompiled(other), seed)
            assert compiled.return_ == interpreted.return_
            assert compiled.steps == interpreted.steps
            np.testing.assert_array_equal(compiled.moments.mean, interpreted.moments.mean)


@pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")
@pytest.mark.parametrize("bend", [np.sin, np.cos])
def test_sines_that_are_not_numpys_are_not_used(bend, monkeypatch) -> None:
    """Some builds of numpy have their own, which differ in the last bit now and then."""
    from litmus.native import mujoco

    def otherwise(angles: np.ndarray) -> np.ndarray:
        return np.where(angles > 7.9, np.nextafter(bend(angles), 2.0), bend(angles))

    monkeypatch.setitem(mujoco.BENDS, otherwise, mujoco.BENDS[bend])
    assert not mujoco._agrees(otherwise)
    assert mujoco._agrees(None)


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
    with pytest.raises(ValueError, match="observation"):
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
        lambda: gymnasium.make("Ant-v4"),
        lambda: gymnasium.make("Hopper-v5", terminate_when_unhealthy=False),
        lambda: gymnasium.make("Swimmer-v5", exclude_current_positions_from_observation=False),
        lambda: gymnasium.wrappers.TransformReward(gymnasium.make("Swimmer-v5"), lambda r: 2 * r),
        lambda: gymnasium.make("CartPole-v1"),
    ],
    ids=["another version", "never ends", "sees positions", "wrapped", "no MuJoCo"],
)
def test_it_keeps_out_of_what_it_does_not_know(make) -> None:
    assert make_lean_loop(make()) is None
