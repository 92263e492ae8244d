"""The rows of the benchmark: each a time, its limit, and the ratio of the two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from benchmarks.limits import (
    count_flops,
    measure,
    measure_gemm_rate,
    measure_raw_step,
    record_episode,
)
from benchmarks.pieces import (
    Stepping,
    Updates,
    make_architecture,
    make_flat_params,
    make_task,
    train_for,
)
from litmus.rollouts.make import count_cores
from litmus.seeding import perturb

TASKS = ("Swimmer-v5", "Hopper-v5", "HalfCheetah-v5")
REPEATS = 5

Row = dict[str, Any]


def measure_rows() -> Iterator[Row]:
    torch.set_num_threads(count_cores())  # as training does
    for task in TASKS:
        yield from measure_stepping(task)
    yield from measure_updates()
    yield measure_training("Swimmer-v5", episodes=96)
    yield measure_training("Hopper-v5", episodes=300, steps_per_episode=20)
    yield measure_training("HalfCheetah-v5", episodes=96)


def make_row(name: str, pairs: list[tuple[float, float]], **more: Any) -> Row:
    """From (seconds, limit) measured one after the other; the machine's moods hit both."""
    seconds, limit = (float(np.median(values)) for values in zip(*pairs, strict=True))
    ratio = limit / seconds
    return {"name": name, "seconds": seconds, "limit_seconds": limit, "ratio": ratio, **more}


def measure_stepping(task_name: str) -> Iterator[Row]:
    """Seconds per environment step: one worker, all workers."""
    cores = count_cores()
    episodes = 8 * cores if task_name != "Hopper-v5" else 128 * cores
    for workers in sorted({1, cores}):
        stepping = Stepping(task_name, workers, episodes)
        pairs = []
        for _ in range(REPEATS):
            steps = 0

            def run(stepping: Stepping = stepping) -> None:
                nonlocal steps
                steps = stepping.run()

            seconds = measure(run, repeats=1) / steps
            pairs.append((seconds, measure_raw_limit(task_name) / workers))
        stepping.close()
        rate = 1 / float(np.median([seconds for seconds, _ in pairs]))
        who = "one worker" if workers == 1 else f"all {workers} workers"
        yield make_row(f"environment step, {task_name}, {who}", pairs, steps_per_second=rate)


def measure_raw_limit(task_name: str, episodes: int = 6) -> float:
    """Seconds of a raw step on one core, in the states that perturbed fresh policies visit."""
    task = make_task(task_name)
    architecture = make_architecture(task)
    flat = make_flat_params(architecture)
    episodes = episodes if task_name != "Hopper-v5" else 16 * episodes
    recordings = [
        record_episode(task, architecture, perturb(flat, 0.05, 0, index), seed=index)
        for index in range(episodes)
    ]
    seconds = measure_raw_step(task, recordings)
    task.close()
    return seconds


def measure_updates() -> Iterator[Row]:
    """One evaluator update and one policy update with the paper's sizes."""
    updates, cores = Updates(), count_cores()
    config, architecture = updates.config, updates.architecture

    inputs = updates.probing_states * architecture.head.size
    per_policy, for_policy = count_flops(
        architecture, inputs, config.evaluator_options["evaluator_hidden"], updates.probing_states
    )
    for name, work, flops in (
        (
            "one V update, 16 policies × 200 states × 256×256",
            updates.update_evaluator,
            per_policy * config.batch_size,
        ),
        ("one policy update, 200 states × 256×256", updates.update_policy, for_policy),
    ):
        pairs = []
        for _ in range(REPEATS):
            rate = measure_gemm_rate(architecture, config.batch_size, updates.probing_states)
            pairs.append((measure(work, repeats=20), flops / rate / cores))
        yield make_row(name, pairs)


def measure_training(task_name: str, episodes: int, **options: Any) -> Row:
    """Whole training with the paper's networks and updates, round size 16, evaluation off."""
    updates, cores = Updates(), count_cores()
    config, architecture = updates.config, make_architecture(make_task(task_name))
    per_policy, for_policy = count_flops(
        architecture,
        updates.probing_states * architecture.head.size,
        config.evaluator_options["evaluator_hidden"],
        updates.probing_states,
    )
    pairs = []
    for _ in range(3):
        trained = train_for(task_name, episodes, **options)
        rate = measure_gemm_rate(architecture, config.batch_size, updates.probing_states)
        per_episode = (
            config.evaluator_updates * config.batch_size * per_policy
            + config.policy_updates * for_policy
        )
        simulating = trained.steps * measure_raw_limit(task_name)
        learning = trained.episodes * per_episode / rate
        pairs.append(
            (
                trained.seconds / trained.episodes,
                (simulating + learning) / cores / trained.episodes,
            )
        )
    name = f"training, {task_name}, per episode"
    return make_row(name, pairs, steps_per_episode=trained.steps / trained.episodes)
