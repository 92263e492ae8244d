"""The paper's baselines: against the hardware, and DDPG beside Stable-Baselines3's."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, cast

import gymnasium
import numpy as np
import torch

from benchmarks.limits import count_ddpg_flops, measure_gemm_rate
from benchmarks.pieces import Played, make_task, time_training
from benchmarks.rows import Row, make_row, measure_raw_limit
from litmus.config import DdpgConfig
from litmus.policies.rows import MlpShape
from litmus.rollouts.make import count_cores

REPEATS = 3
HOPPER = Played("Hopper-v5")
WARM: dict[str, Any] = {"start_steps": 100, "update_after": 100}
"""So that every block but the first is learned from."""


def measure_baselines() -> Iterator[Row]:
    torch.set_num_threads(count_cores())
    yield measure_ars(Played("Swimmer-v5"), steps=96_000)
    yield measure_ddpg(HOPPER, steps=1_500)
    yield compare_ddpg(HOPPER, steps=1_500)


def measure_ars(played: Played, steps: int) -> Row:
    """It learns next to nothing, so simulation is the limit."""
    pairs = []
    for _ in range(REPEATS):
        trained = time_training("ars", played, steps)
        limit = measure_raw_limit(played) / count_cores()
        pairs.append((trained.seconds / trained.steps, limit))
    return make_row(f"training with ARS, {played.name}, per step", pairs)


def measure_ddpg(played: Played, steps: int) -> Row:
    """Against simulation on one core, and products on all."""
    task = make_task(played.task)
    architecture = played.make_architecture(task)
    task.close()
    pairs = []
    for _ in range(REPEATS):
        trained = time_training("ddpg", played, steps, **WARM)
        config = cast(DdpgConfig, trained.config)
        inputs, size = int(np.prod(architecture.state_shape)), architecture.head.size
        critic = MlpShape(tuple(pairwise((inputs + size, *config.critic_hidden, 1))), "relu")
        flops = count_ddpg_flops(architecture.shape, critic, config.batch_size)
        rate = measure_gemm_rate(architecture, policies=1, states=config.batch_size)
        learning = flops * config.updates / config.update_every / rate / count_cores()
        pairs.append((trained.seconds / trained.steps, measure_raw_limit(played) + learning))
    return make_row(f"training with DDPG, {played.name}, per step", pairs)


def compare_ddpg(played: Played, steps: int) -> Row:
    name = f"training with DDPG, {played.name}, per step, beside Stable-Baselines3's"
    if importlib.util.find_spec("stable_baselines3") is None:
        return {"name": name, "skipped": "stable-baselines3 is not installed"}
    pairs = []
    for _ in range(REPEATS):
        trained = time_training("ddpg", played, steps, **WARM)
        pairs.append((trained.seconds / trained.steps, time_other(played, steps)))
    return make_row(name, pairs)


def time_other(played: Played, steps: int) -> float:
    """Seconds of one step of Stable-Baselines3's DDPG with the paper's settings."""
    from stable_baselines3 import DDPG
    from stable_baselines3.common.noise import NormalActionNoise

    environment = gymnasium.make(played.task)
    size = np.prod(environment.action_space.shape or (1,)).astype(int)
    torch.set_num_threads(count_cores())
    model = DDPG(
        "MlpPolicy",
        environment,
        learning_rate=1e-3,
        buffer_size=100_000,
        learning_starts=WARM["start_steps"],
        batch_size=128,
        tau=0.005,
        gamma=0.99,
        train_freq=50,
        gradient_steps=50,
        action_noise=NormalActionNoise(np.zeros(size), np.full(size, 0.1)),
        policy_kwargs={"net_arch": [256, 256]},
        device="cpu",
    )
    model.learn(WARM["start_steps"] + 50)
    start = time.perf_counter()
    model.learn(steps, reset_num_timesteps=False)
    seconds = time.perf_counter() - start
    environment.close()
    return seconds / steps
