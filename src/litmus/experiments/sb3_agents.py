"""Agents of Stable-Baselines3 at several stages of training, judged by what never saw them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.statistics import rank_correlation
from litmus.evaluators.kernel import KernelEvaluator
from litmus.judging.episodes import EpisodeRunner
from litmus.judging.subjects import load_policy
from litmus.runs.measured import TaskChoice

STAGES: dict[str, dict[str, tuple[int, ...]]] = {
    "CartPole-v1": {"PPO": (2_000, 10_000, 40_000)},
    "Swimmer-v5": {"PPO": (10_000, 50_000, 150_000)},
    "Hopper-v5": {"PPO": (10_000, 50_000, 150_000), "SAC": (4_000, 12_000)},
}
"""After how many steps an agent of each algorithm is kept."""
EPISODES = 10


def judge_agents(judge: KernelEvaluator, task: str, folder: Path) -> dict[str, Any] | None:
    """What is said of each agent, beside what it earns; None where there are none to train."""
    if task not in STAGES or find_spec("stable_baselines3") is None:
        return None
    folder.mkdir(parents=True, exist_ok=True)
    agents: list[dict[str, Any]] = []
    with EpisodeRunner(TaskChoice(task), seed=2, workers=None) as runner:
        for name, path in train_agents(task, folder):
            policy = load_policy(path, task=task)
            said = judge.predict([policy])
            assert said.low is not None
            assert said.high is not None
            assert said.familiarity is not None
            returns = [float(one.return_) for one in runner.run(policy, range(EPISODES))]
            low, high, truth = float(said.low[0]), float(said.high[0]), float(np.mean(returns))
            agents.append(
                {
                    "agent": name,
                    "value": float(said.mean[0]),
                    "low": low,
                    "high": high,
                    "familiarity": float(said.familiarity[0]),
                    "measured": truth,
                    "returns": returns,
                    "is_inside": low <= truth <= high,
                }
            )
    familiar = np.array([one["familiarity"] for one in agents])
    errors = np.array([abs(one["value"] - one["measured"]) for one in agents])
    return {
        "agents": agents,
        "spearman_of_familiarity_and_error": rank_correlation(familiar, errors),
    }


def train_agents(task: str, folder: Path) -> Iterator[tuple[str, Path]]:
    """Name and file of each stage; those that are there already are not trained again."""
    import stable_baselines3
    import torch
    from stable_baselines3.common.logger import Logger

    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # layers this small only wait for each other
    try:
        for algorithm, stages in STAGES[task].items():
            agent: Any = None
            done = 0
            paths = [folder / f"{algorithm}-{steps}.zip" for steps in stages]
            for steps, path in zip(stages, paths, strict=True):
                if not all(one.exists() for one in paths):
                    kind = getattr(stable_baselines3, algorithm)
                    agent = agent or kind("MlpPolicy", task, seed=0, device="cpu")
                    agent.set_logger(Logger(None, []))  # its own leaves a folder of temporary files
                    agent.learn(steps - done, reset_num_timesteps=agent.num_timesteps == 0)
                    agent.save(path)
                    done = steps
                yield f"{algorithm} after {steps:,} steps", path
    finally:
        torch.set_num_threads(threads)
