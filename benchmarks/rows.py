"""The rows of the benchmark: each a time, its limit, and the ratio of the two."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, cast

import numpy as np
import torch

from benchmarks.limits import (
    count_flops,
    measure,
    measure_gemm_rate,
    measure_raw_step,
    measure_solving,
    record_episode,
)
from benchmarks.pieces import Played, Stepping, Updates, make_scoring, make_task, train_for
from litmus.config import PssvfConfig
from litmus.policies.mlp import MlpArchitecture
from litmus.rollouts.make import count_cores
from litmus.seeding import perturb

STEPPED = (
    Played("Swimmer-v5"),
    Played("Hopper-v5", episodes_per_core=128),
    Played("HalfCheetah-v5"),
    Played("Swimmer-v5", distribution="gaussian"),
    Played("Ant-v5", episodes_per_core=16),
    Played("InvertedDoublePendulum-v5", "small", balances=True),
    Played("CartPole-v1", "small", episodes_per_core=32, balances=True),
    Played("Pendulum-v1", "small", episodes_per_core=64),
)
TRAINED = (
    (Played("Swimmer-v5"), 96_000),
    (Played("Hopper-v5"), 6_000),
    (Played("HalfCheetah-v5"), 96_000),
    (Played("Swimmer-v5", distribution="gaussian"), 96_000),
    (Played("Ant-v5"), 32_000),
    (Played("InvertedDoublePendulum-v5", "default"), 4_000),
    (Played("CartPole-v1", "default"), 32_000),
    (Played("Pendulum-v1", "default"), 64_000),
)
"""With steps."""
REPEATS = 5
SCORED = 1000

Row = dict[str, Any]


def measure_rows() -> Iterator[Row]:
    torch.set_num_threads(count_cores())  # as training does
    for played in STEPPED:
        yield from measure_stepping(played)
    yield from measure_updates()
    yield from measure_updates("gaussian")
    yield measure_scoring()
    for played, steps in TRAINED:
        yield measure_training(played, steps)


def make_row(name: str, pairs: list[tuple[float, float]], **more: Any) -> Row:
    """From (seconds, limit) measured one after the other; the machine's moods hit both."""
    seconds, limit = (float(np.median(values)) for values in zip(*pairs, strict=True))
    ratio = limit / seconds
    return {"name": name, "seconds": seconds, "limit_seconds": limit, "ratio": ratio, **more}


def measure_stepping(played: Played) -> Iterator[Row]:
    """Seconds per environment step: one worker, all workers."""
    cores = count_cores()
    for workers in sorted({1, cores}):
        stepping = Stepping(played, workers, played.episodes_per_core * cores)
        pairs = []
        for _ in range(REPEATS):
            steps = 0

            def run(stepping: Stepping = stepping) -> None:
                nonlocal steps
                steps = stepping.run()

            seconds = measure(run, repeats=1) / steps
            pairs.append((seconds, measure_raw_limit(played) / workers))
        stepping.close()
        rate = 1 / float(np.median([seconds for seconds, _ in pairs]))
        who = "one worker" if workers == 1 else f"all {workers} workers"
        yield make_row(f"environment step, {played.name}, {who}", pairs, steps_per_second=rate)


def measure_raw_limit(played: Played) -> float:
    """Seconds of a raw step on one core, in the states that perturbed policies visit."""
    task = make_task(played.task)
    architecture = played.make_architecture(task)
    flat = played.make_flat_params(architecture)
    recordings = [
        record_episode(task, architecture, perturb(flat, 0.05, 0, index), seed=index)
        for index in range(3 * played.episodes_per_core // 4)
    ]
    seconds = measure_raw_step(task, recordings)
    task.close()
    return seconds


def measure_updates(distribution: Literal["auto", "gaussian"] = "auto") -> Iterator[Row]:
    """One evaluator update and one policy update with the paper's sizes."""
    updates, cores = Updates(distribution=distribution), count_cores()
    config, architecture = updates.config, updates.architecture
    per_policy, for_policy = count_config_flops(config, architecture)
    kind = "" if distribution == "auto" else f", {distribution}"
    for name, work, flops in (
        (
            f"one V update, 16 policies × 200 states × 256×256{kind}",
            updates.update_evaluator,
            per_policy * config.batch_size,
        ),
        (f"one policy update, 200 states × 256×256{kind}", updates.update_policy, for_policy),
    ):
        pairs = []
        for _ in range(REPEATS):
            rate = measure_gemm_rate(architecture, config.batch_size, updates.probing_states)
            pairs.append((measure(work, repeats=20), flops / rate / cores))
        yield make_row(name, pairs)


def measure_scoring() -> Row:
    """1,000 policies of 256×256 with an evaluator as `litmus fit` makes it, once loaded."""
    judge, policies = make_scoring(SCORED)
    architecture = policies[0].architecture
    states = len(judge.probing_states)
    flops = 2.0 * len(policies) * states * architecture.num_params
    pairs = []
    for _ in range(REPEATS):
        rate = measure_gemm_rate(architecture, 16, states)
        seconds = measure(lambda: judge.predict(policies), repeats=1)
        pairs.append((seconds, flops / rate / count_cores()))
    return make_row(f"{SCORED:,} policies of 256×256 scored, {states} probing states", pairs)


def count_config_flops(config: PssvfConfig, architecture: MlpArchitecture) -> tuple[float, float]:
    options = config.evaluator_options
    states = options["probing_states"]
    inputs = states * architecture.head.size
    return count_flops(architecture, inputs, options["evaluator_hidden"], states)


def limit_learning(config: PssvfConfig, architecture: MlpArchitecture) -> float:
    """Seconds per episode."""
    options = config.evaluator_options
    if config.is_solved_for:  # one decomposition after the other: on one core
        return measure_solving(options["remembered_policies"]) / config.round_size
    per_policy, for_policy = count_config_flops(config, architecture)
    rate = measure_gemm_rate(architecture, config.batch_size, options["probing_states"])
    per_turn = (
        config.evaluator_updates * config.batch_size * per_policy
        + config.policy_updates * for_policy
    )
    per_episode = per_turn * (config.round_turns or config.round_size) / config.round_size
    return per_episode / rate / count_cores()


def measure_training(played: Played, steps: int) -> Row:
    """Whole training with a preset, evaluation and selection off."""
    cores = count_cores()
    architecture = played.make_architecture(make_task(played.task))
    pairs = []
    for _ in range(3):
        trained = train_for(played, steps)
        config = cast(PssvfConfig, trained.config)
        simulating = trained.steps * measure_raw_limit(played) / trained.episodes
        learning = limit_learning(config, architecture)
        pairs.append((trained.seconds / trained.episodes, simulating / cores + learning))
    name = f"training, {played.name}, per episode"
    return make_row(name, pairs, steps_per_episode=trained.steps / trained.episodes)
