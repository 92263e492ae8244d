"""What an experiment may set beside litmus' algorithms: random actions, and others' software."""

from __future__ import annotations

from collections.abc import Sequence

from litmus.config import TrainConfig
from litmus.experiments.jobs import Job, name_folder
from litmus.experiments.random_policy import RANDOM, RandomJob
from litmus.experiments.sb3_ars import SB3_ARS, Sb3ArsJob

BASELINES = (SB3_ARS, RANDOM)


def make_baseline_jobs(name: str, config: TrainConfig, seeds: Sequence[int]) -> list[Job]:
    """For the task, the steps and the evaluations of a run."""
    task = name_folder(config.task)
    if name == RANDOM:
        return [
            RandomJob(
                config.task,
                f"{RANDOM}/{task}",
                list(seeds),
                config.evaluate_episodes,
                dict(config.env_kwargs),
                config.max_episode_steps,
            )
        ]
    return [
        Sb3ArsJob(
            config.task,
            f"{SB3_ARS}/{task}/seed-{seed}",
            seed,
            config.steps,
            config.evaluate_every,
            config.evaluate_episodes,
            dict(config.env_kwargs),
            config.max_episode_steps,
        )
        for seed in seeds
    ]
