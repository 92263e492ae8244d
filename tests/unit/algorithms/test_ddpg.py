"""DDPG: its updates are the formula's, in every form; its transitions are what happened."""

from __future__ import annotations

import copy
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from harness import tiny
from torch import nn

from litmus.algorithms import read_config
from litmus.algorithms.base import Resources
from litmus.algorithms.ddpg import Ddpg, draw_actions
from litmus.algorithms.ddpg_acceleration import make_fast_ddpg
from litmus.errors import BadInput, RunFailed
from litmus.native.library import find_library
from litmus.policies.actions import ActionHead
from litmus.policies.population import load_flat
from litmus.tasks import find_task
from litmus.tasks.base import ContinuousActions
from litmus.training.setup import design_policy

BLOCK = {"update_every": 20, "start_steps": 10, "update_after": 10, "updates": 3, "batch_size": 8}


def make(folder: Path, is_fast: bool = True, **options: Any) -> Ddpg:
    values = {"task": "toys:ToyWalk-v0", "activation": "relu", "hidden": (16, 8), **options}
    config = read_config("ddpg", tiny("ddpg", **{**BLOCK, **values}))
    spec = find_task(config)
    nobody: Any = None  # nothing is evaluated here
    resources = Resources(
        config, spec, design_policy(config, spec), nobody, torch.device("cpu"), 1, folder
    )
    return make_fast_ddpg(resources) if is_fast else Ddpg(resources)


class Reference:
    """The same rules with torch's own modules, optimisers and gradients."""

    def __init__(self, algorithm: Ddpg) -> None:
        self.config, learner = algorithm.config, algorithm.learner
        self.policy = algorithm.architecture.build()
        load_flat(self.policy, algorithm.theta.detach())
        layers: list[nn.Module] = []
        for inputs, outputs in learner.critic_shape.layer_sizes:
            layers += [nn.Linear(inputs, outputs), nn.ReLU()]
        self.critic = nn.Sequential(*layers[:-1])
        load_flat(self.critic, algorithm.critic.detach())
        self.targets = copy.deepcopy((self.policy, self.critic))
        self.policy_adam = torch.optim.Adam(self.policy.parameters(), self.config.policy_lr)
        self.critic_adam = torch.optim.Adam(self.critic.parameters(), self.config.critic_lr)
        self.center, self.half_range = torch.from_numpy(algorithm.architecture.head.units)
        self.shape = algorithm.architecture.state_shape

    def judge(self, critic: nn.Module, states: Any, actions: Any) -> Any:
        scaled = (actions - self.center) / self.half_range
        return critic(torch.cat([states.flatten(1), scaled], 1))[:, 0]

    def update(self, states, actions, next_states, rewards, terminated) -> tuple[float, float]:
        target_policy, target_critic = self.targets
        with torch.no_grad():
            promised = self.judge(target_critic, next_states, target_policy(next_states))
            wanted = torch.where(
                terminated.bool(), rewards, rewards + self.config.discount * promised
            )
        loss = nn.functional.mse_loss(self.judge(self.critic, states, actions), wanted)
        self.critic_adam.zero_grad()
        loss.backward()
        self.critic_adam.step()
        value = self.judge(self.critic, states, self.policy(states)).mean()
        self.policy_adam.zero_grad()
        (-value).backward()
        self.policy_adam.step()
        with torch.no_grad():
            for target, network in zip(self.targets, (self.policy, self.critic), strict=True):
                for old, new in zip(target.parameters(), network.parameters(), strict=True):
                    old.mul_(self.config.polyak).add_((1 - self.config.polyak) * new)
        return loss.item(), value.item()


@pytest.mark.parametrize("is_fast", [True, False])
@pytest.mark.parametrize("activation", ["relu", "tanh"])
@pytest.mark.parametrize("task", ["Walk", "MatrixWalk", "UnboundedWalk", "OneSidedWalk"])
def test_updates_are_the_formulas(
    task: str, activation: str, is_fast: bool, tmp_path: Path
) -> None:
    algorithm = make(
        tmp_path, is_fast, task=f"toys:Toy{task}-v0", activation=activation, polyak=0.9
    )
    rows, _ = algorithm._collect()
    algorithm.replay.add(rows)
    reference = Reference(algorithm)
    places = torch.randint(len(rows), (6, 8), generator=torch.Generator().manual_seed(0))
    found = algorithm.updates.update_all(places)
    for batch, (loss, value) in zip(places, found.tolist(), strict=True):
        one = algorithm.replay.sizes.split(algorithm.replay.rows[batch])
        states = (part.view(-1, *reference.shape) for part in (one.states, one.next_states))
        first, following = states
        expected = reference.update(first, one.actions, following, one.rewards, one.terminated)
        assert (loss, value) == pytest.approx(expected, rel=1e-3, abs=1e-5)
    pairs = (
        (algorithm.theta, reference.policy),
        (algorithm.critic, reference.critic),
        (algorithm.target_theta, reference.targets[0]),
        (algorithm.target_critic, reference.targets[1]),
    )
    for flat, network in pairs:
        expected_flat = nn.utils.parameters_to_vector(network.parameters())
        # Adam's first steps are of length lr, whatever the gradient's last bits.
        torch.testing.assert_close(flat.detach(), expected_flat.detach(), atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize("normalize", [False, True])
def test_the_compiled_updates_are_those_that_stand_in_the_file(
    normalize: bool, tmp_path: Path
) -> None:
    if find_library() is None:
        pytest.skip("there are no compiled kernels here")
    made = [
        make(tmp_path / str(is_fast), is_fast, normalize_observations=normalize)
        for is_fast in (True, False)
    ]
    assert type(made[0].updates) is not type(made[1].updates)
    losses = [[one.iterate().metrics["critic_loss"] for _ in range(4)] for one in made]
    assert losses[0] == pytest.approx(losses[1], rel=1e-3)


def test_compiled_updates_do_not_depend_on_the_number_of_threads(tmp_path: Path) -> None:
    from litmus.native.ddpg_updates import compile_updates

    if find_library() is None:
        pytest.skip("there are no compiled kernels here")
    results = []
    for threads in (1, 2, 5):
        algorithm = make(tmp_path / str(threads), hidden=(64, 64), critic_hidden=(64, 64))
        algorithm.updates = compile_updates(algorithm.learner, 8, threads)
        for _ in range(3):
            algorithm.iterate()
        results.append(algorithm.flat_params.tobytes())
    assert len(set(results)) == 1


def test_transitions_are_what_the_task_saw_and_paid(tmp_path: Path) -> None:
    """Of each episode but its last step, the next state is the next row's state."""
    algorithm = make(tmp_path, task="toys:ToyWalk-v0", env_kwargs={"length": 5}, start_steps=0)
    for _ in range(3):
        algorithm.iterate()
    rows = algorithm.replay.log.read(0, 60)
    states, actions, following, rewards, terminated = np.split(rows, [3, 5, 8, 9], axis=1)
    assert terminated[:, 0].tolist() == [0, 0, 0, 0, 1] * 12
    inner = terminated[:-1, 0] == 0
    np.testing.assert_array_equal(following[:-1][inner], states[1:][inner])
    np.testing.assert_allclose(rewards[:, 0], actions[:, 0] + 0.25, atol=1e-6)


BODIES = [
    *("Swimmer", "Hopper", "Walker2d", "HalfCheetah", "Ant", "Humanoid", "Reacher", "Pusher"),
    *("InvertedPendulum", "InvertedDoublePendulum"),
]


def make_pair(folder: Path, **options: Any) -> list[Ddpg]:
    """One that steps in stretches only, and one that takes single steps only."""
    if find_library() is None:
        pytest.skip("there are no compiled kernels here")
    options = {"update_every": 50, "start_steps": 70, "update_after": 10**6, **options}
    stretching, stepping = (make(folder / name, **options) for name in ("one", "other"))
    stepping.stepper._in_stretches = None
    if stretching.task._lean_loop.compiled is None:
        pytest.skip("numpy's sines are not those of C here")
    stretching.task.step_through = None
    return [stretching, stepping]


def collect(algorithm: Ddpg, blocks: int) -> tuple[bytes, list[Any], int]:
    rows, returns = [], []
    for _ in range(blocks):
        rows.append(algorithm._collect())
        algorithm.blocks += 1
    rows, returns = zip(*rows, strict=True)
    return np.concatenate(rows).tobytes(), list(returns), algorithm.dropped


@pytest.mark.parametrize("bonus", ["keep", "remove"])
@pytest.mark.parametrize("body", BODIES)
def test_a_block_of_stretches_is_the_block_of_single_steps(
    body: str, bonus: str, tmp_path: Path
) -> None:
    """Blocks end within episodes, episodes by falls and by the limit within blocks, and the change
    from random actions to the policy's comes within both."""
    options = {"task": f"{body}-v5", "max_episode_steps": 65, "survival_bonus": bonus}
    stretching, stepping = make_pair(tmp_path, noise=0.5, **options)
    found = collect(stretching, 4)
    assert found == collect(stepping, 4)
    assert sum(map(len, found[1])) > 2


def test_what_is_not_finite_ends_a_stretch(tmp_path: Path) -> None:
    """Rewards that float32 cannot hold come with speed."""
    options = {"task": "HalfCheetah-v5", "env_kwargs": {"forward_reward_weight": 4e38}}
    stretching, stepping = make_pair(tmp_path, **options)
    found = collect(stretching, 4)
    assert found == collect(stepping, 4)
    assert 0 < found[2] < 100  # and most are learned from


def test_what_learned_in_stretches_ends_where_single_steps_lead(tmp_path: Path) -> None:
    options = {"task": "Hopper-v5", "normalize_observations": True, "update_after": 60}
    results = []
    for algorithm in make_pair(tmp_path, **options):
        metrics = [algorithm.iterate().metrics for _ in range(4)]
        results.append((algorithm.flat_params.tobytes(), metrics))
    assert results[0] == results[1]


def test_runs_may_step_beside_each_other_in_threads(tmp_path: Path) -> None:
    seeds = range(4)
    options = {"task": "Hopper-v5", "start_steps": 0}

    def begin(where: str) -> list[Ddpg]:
        return [make_pair(tmp_path / where / str(seed), seed=seed, **options)[0] for seed in seeds]

    expected = [collect(algorithm, 4) for algorithm in begin("alone")]
    with ThreadPoolExecutor(len(seeds)) as pool:
        assert list(pool.map(lambda one: collect(one, 4), begin("together"))) == expected
    assert len({rows for rows, *_ in expected}) == len(seeds)


def test_an_episode_cut_off_by_its_limit_has_no_final_state(tmp_path: Path) -> None:
    algorithm = make(tmp_path, max_episode_steps=3)
    progress = algorithm.iterate()
    assert progress.episodes == 6
    assert not algorithm.replay.log.read(0, 20)[:, -1].any()


@pytest.mark.parametrize(("bonus", "paid"), [("keep", 0.0), ("remove", 0.25)])
def test_rewards_keep_the_survival_bonus_or_do_without(
    bonus: str, paid: float, tmp_path: Path
) -> None:
    algorithm = make(tmp_path, survival_bonus=bonus)
    algorithm.iterate()
    rows = algorithm.replay.log.read(0, 20)
    np.testing.assert_allclose(rows[:, 3] + 0.25 - paid, rows[:, -2], atol=1e-6)


def test_it_acts_at_random_first_and_then_near_its_policy(tmp_path: Path) -> None:
    algorithm = make(tmp_path, start_steps=20, update_after=10**6, noise=0.01)
    policy = algorithm.architecture.build()
    load_flat(policy, algorithm.theta.detach())
    algorithm.iterate()
    algorithm.iterate()
    rows = torch.from_numpy(algorithm.replay.log.read(0, 40))
    with torch.no_grad():
        distance = (policy(rows[:, :3]) - rows[:, 3:5]).abs()
    assert distance[:20].max() > 0.3
    assert 0 < distance[20:].max() < 0.06


@pytest.mark.parametrize("bounds", [(-1.0, 1.0), (-2.0, 5.0), (0.3, np.inf), (-np.inf, np.inf)])
def test_random_actions_are_anywhere_within_the_bounds(bounds: tuple[float, float]) -> None:
    low, high = bounds
    head = ActionHead("deterministic", ContinuousActions((low,), (high,)))
    generator = np.random.default_rng(0)
    evenly = generator.uniform(-1, 1, (500, 1)).astype(np.float32)
    drawn = draw_actions(head, evenly, generator.standard_normal((500, 1), dtype=np.float32))
    assert (drawn >= low).all()
    assert (drawn <= high).all()
    if np.isfinite([low, high]).all():
        assert drawn.mean() == pytest.approx((low + high) / 2, abs=0.1 * (high - low))
        assert drawn.std() == pytest.approx((high - low) / np.sqrt(12), rel=0.1)
    else:
        assert drawn.std() > 0.2


def test_what_is_not_finite_is_not_learned_from(tmp_path: Path, caplog) -> None:
    algorithm = make(tmp_path, task="toys:ToyNanWalk-v0")
    for _ in range(10):
        metrics = algorithm.iterate().metrics
    assert 0 < metrics["dropped"] < 100
    assert algorithm.replay.stored == 200 - metrics["dropped"]
    stored = algorithm.replay.stored
    assert np.isfinite(algorithm.replay.log.read(stored - 24, stored)).all()
    assert caplog.text.count("NaN") == 1


def test_a_task_that_does_not_come_back_is_told_of(tmp_path: Path, monkeypatch, caplog) -> None:
    monkeypatch.setattr("litmus.rollouts.serial.SECONDS_BETWEEN_LOOKS", 0.001)
    monkeypatch.setattr("litmus.rollouts.failure.LONG_SECONDS", 0.0)
    make(tmp_path, task="toys:ToySlowWalk-v0").iterate()
    assert "waiting for training episode 0" in caplog.text


def test_learning_that_diverges_ends_the_run(tmp_path: Path) -> None:
    algorithm = make(tmp_path, critic_lr=1e25, policy_lr=1e25, updates=60)
    with pytest.raises(RunFailed, match="diverged in block 0"):
        algorithm.iterate()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"task": "CartPole-v1"}, "categorical"),
        ({"distribution": "gaussian"}, "gaussian"),
        ({"task": "toys:TargetTask"}, "single steps"),
    ],
)
def test_a_task_or_policy_that_does_not_fit_is_bad_input(
    options: dict[str, Any], words: str, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=words):
        make(tmp_path, **options)
