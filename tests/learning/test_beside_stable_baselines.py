"""ARS and DDPG end where those of Stable-Baselines3 end, at equal settings.

Runs differ from seed to seed by more than the libraries should differ, so means over seeds are
compared, and the tolerance is what these means vary by: three standard errors of their difference.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import litmus

pytestmark = pytest.mark.slow

SEEDS = range(6)
EPISODES = 20
STANDARD_ERRORS = 3.0


def assert_alike(ours: Sequence[float], theirs: Sequence[float], leeway: float) -> None:
    """Within what the means of so many seeds vary by; `leeway`: where all seeds are alike."""
    print(f"ours {np.round(ours, 1).tolist()}, theirs {np.round(theirs, 1).tolist()}")
    error = math.sqrt(sum(np.var(one, ddof=1) / len(one) for one in (ours, theirs)))
    assert abs(np.mean(ours) - np.mean(theirs)) <= STANDARD_ERRORS * error + leeway


def measure(act: Callable[[Any], Any], task: str) -> float:
    """The mean return in episodes that are the same for everyone."""
    environment, returns = gymnasium.make(task), []
    for seed in range(EPISODES):
        observation, _ = environment.reset(seed=10_000 + seed)
        return_, is_over = 0.0, False
        while not is_over:
            observation, reward, terminated, truncated, _ = environment.step(act(observation))
            return_, is_over = return_ + float(reward), terminated or truncated
        returns.append(return_)
    environment.close()
    return float(np.mean(returns))


def measure_theirs(model: Any, task: str) -> float:
    return measure(lambda observation: model.predict(observation, deterministic=True)[0], task)


def train_ours(folder: Path, algorithm: str, seed: int, task: str, **options: Any) -> float:
    common = {"evaluate_every": 0, "workers": 0, "device": "cpu", "quiet": True}
    out = folder / str(seed)
    run = litmus.train(algorithm, task=task, seed=seed, out=out, **options, **common)
    return measure(run.policy.act, task)


def test_ddpg_ends_where_theirs_ends(tmp_path: Path) -> None:
    sb3 = pytest.importorskip("stable_baselines3", reason="the extra [sb3] is not installed")
    from stable_baselines3.common.noise import NormalActionNoise

    task, steps, start = "Pendulum-v1", 10_000, 1_000
    ours = [
        train_ours(
            tmp_path,
            "ddpg",
            seed,
            task,
            preset="paper",
            steps=steps,
            hidden=(64, 64),
            critic_hidden=(64, 64),
            start_steps=start,
            update_after=start,
        )
        for seed in SEEDS
    ]
    theirs = []
    for seed in SEEDS:
        model = sb3.DDPG(
            "MlpPolicy",
            gymnasium.make(task),
            learning_rate=1e-3,
            buffer_size=100_000,
            learning_starts=start,
            batch_size=128,
            tau=0.005,
            gamma=0.99,
            train_freq=50,
            gradient_steps=50,
            action_noise=NormalActionNoise(np.zeros(1), np.full(1, 0.1)),
            policy_kwargs={"net_arch": [64, 64]},
            seed=seed,
            device="cpu",
        )
        theirs.append(measure_theirs(model.learn(steps), task))
    assert_alike(ours, theirs, leeway=10)
    # One late learner widens the tolerance above; it does not move the median.
    assert min(map(np.median, (ours, theirs))) > -200  # of -1200 before training
    assert np.median(ours) == pytest.approx(np.median(theirs), abs=20)


def test_ars_ends_where_theirs_ends(tmp_path: Path) -> None:
    contrib = pytest.importorskip("sb3_contrib", reason="the extra [sb3] is not installed")
    from torch import nn

    task, steps = "InvertedPendulum-v5", 40_000
    ours = [
        train_ours(
            tmp_path,
            "ars",
            seed,
            task,
            steps=steps,
            hidden=(16,),
            directions=8,
            top_directions=4,
            step_size=0.02,
            noise=0.05,
            normalize_observations=False,
        )
        for seed in SEEDS
    ]
    theirs = []
    for seed in SEEDS:
        model = contrib.ARS(
            "MlpPolicy",
            gymnasium.make(task),
            n_delta=8,
            n_top=4,
            learning_rate=0.02,
            delta_std=0.05,
            zero_policy=False,
            alive_bonus_offset=0,
            policy_kwargs={"net_arch": [16], "activation_fn": nn.Tanh},
            seed=seed,
            device="cpu",
        )
        theirs.append(measure_theirs(model.learn(steps), task))
    assert min(map(np.mean, (ours, theirs))) > 100  # of 10 before training
    assert_alike(ours, theirs, leeway=10)
