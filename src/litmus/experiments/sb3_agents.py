"""Agents of Stable-Baselines3 at several stages of training, judged by what never saw them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.statistics import rank_correlation
from litmus.evaluators.kernel import KernelEvaluator
from litmus.experiments.jobs import Standing, name_folder
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


@dataclass(frozen=True)
class AgentsJob:
    """Trains the agents of one task; where it is stopped it begins again."""

    task: str

    @property
    def name(self) -> str:
        return f"{self.task}, agents of Stable-Baselines3"

    @property
    def group(self) -> str:
        return self.name

    @property
    def folder(self) -> str:
        return f"sb3/{name_folder(self.task)}"

    @property
    def steps(self) -> int:
        return sum(stages[-1] for stages in STAGES[self.task].values())

    def look(self, folder: Path) -> Standing:
        stages = list_stages(self.task, folder)
        is_there = all(path.exists() for _, path in stages)
        return Standing("finished", self.steps) if is_there else Standing("missing")

    def check(self, folder: Path) -> None:
        """Its folder is its own."""

    def work(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        train_agents(self.task, folder)


def make_agents_jobs(tasks: Iterable[str]) -> list[AgentsJob]:
    """For the tasks that have such agents, where the package is installed."""
    is_here = find_spec("stable_baselines3") is not None
    return [AgentsJob(task) for task in tasks if task in STAGES and is_here]


def list_stages(task: str, folder: Path) -> list[tuple[str, Path]]:
    """Name and file of each agent."""
    return [
        (f"{algorithm} after {steps:,} steps", folder / f"{algorithm}-{steps}.zip")
        for algorithm, stages in STAGES.get(task, {}).items()
        for steps in stages
    ]


def judge_agents(judge: KernelEvaluator, task: str, folder: Path) -> dict[str, Any] | None:
    """What is said of each agent, beside what it earns; None where there are none."""
    there = [(name, path) for name, path in list_stages(task, folder) if path.exists()]
    if not there:
        return None
    agents: list[dict[str, Any]] = []
    with EpisodeRunner(TaskChoice(task), seed=2, workers=None) as runner:
        for name, path in there:
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


def train_agents(task: str, folder: Path) -> None:
    import stable_baselines3
    import torch
    from stable_baselines3.common.logger import Logger

    torch.set_num_threads(1)  # layers this small only wait for each other
    for algorithm, stages in STAGES[task].items():
        agent: Any = getattr(stable_baselines3, algorithm)("MlpPolicy", task, seed=0, device="cpu")
        agent.set_logger(Logger(None, []))  # its own leaves a folder of temporary files
        done = 0
        for steps in stages:
            agent.learn(steps - done, reset_num_timesteps=not done)
            agent.save(folder / f"{algorithm}-{steps}.zip")
            done = steps
