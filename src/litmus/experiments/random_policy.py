"""What random actions earn in a task: the least that learning must beat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from litmus.errors import BadInput
from litmus.experiments.jobs import Standing
from litmus.fields import Values
from litmus.files import read_own_json, write_json
from litmus.seeding import Stream, make_generator
from litmus.tasks import make_task_spec
from litmus.tasks.base import Actions, DiscreteActions, FloatArray, StepsThrough, Task

RANDOM, UNTRAINED = "random", "untrained"
"""What stands in a table beside algorithms."""


@dataclass(frozen=True)
class RandomJob:
    """Measures random actions in one task: for each seed, the mean over some episodes."""

    task: str
    folder: str
    seeds: Sequence[int]
    episodes: int
    env_kwargs: Values
    max_episode_steps: int | None

    @property
    def name(self) -> str:
        return f"{self.task}, random actions"

    @property
    def group(self) -> str:
        return self.name

    @property
    def steps(self) -> int:
        return 0

    def look(self, folder: Path) -> Standing:
        if not (folder / "returns.json").is_file():
            return Standing("missing")
        is_done = all(returns is not None for returns in self.read_returns(folder).values())
        return Standing("finished" if is_done else "unfinished")

    def check(self, folder: Path) -> None:
        pass

    def read_returns(self, folder: Path) -> dict[int, float | None]:
        """The mean return of each seed; None for those that are not measured."""
        means = self._read_means(folder)
        return {seed: means.get(str(seed)) for seed in self.seeds}

    def _read_means(self, folder: Path) -> dict[str, float]:
        """Of all seeds that are there."""
        try:
            known = read_own_json(folder / "returns.json")
        except BadInput:
            return {}
        means: dict[str, float] = known.get("means", {})
        return means if known.get("measured") == self.describe() else {}

    def work(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        task = make_task_spec(self.task, "keep", self.env_kwargs, self.max_episode_steps).build()
        means = dict(self._read_means(folder))
        try:
            for seed in self.seeds:
                if str(seed) not in means:
                    means[str(seed)] = self._measure(task, seed)
        finally:
            task.close()
        write_json(folder / "returns.json", {"measured": self.describe(), "means": means})

    def describe(self) -> dict[str, Any]:
        """What all its seeds have in common."""
        return {
            "task": self.task,
            "episodes": self.episodes,
            "env_kwargs": dict(self.env_kwargs),
            "max_episode_steps": self.max_episode_steps,
        }

    def _measure(self, task: Task, seed: int) -> float:
        """Of the episodes that start where those of the run with this seed are evaluated."""
        returns = []
        for index in range(self.episodes):
            generator = make_generator(seed, Stream.EVALUATION, index)
            policy = RandomPolicy(task.actions, generator)
            environment_seed = int(generator.integers(2**31))
            if isinstance(task, StepsThrough):
                steps = task.step_through(policy.act, environment_seed)
                returns.append(float(sum(step.reward for step in steps)))
            else:
                returns.append(task.run_episode(policy, environment_seed).return_)
        finite = [return_ for return_ in returns if np.isfinite(return_)]
        if not finite:
            raise BadInput(f"random actions earn nothing that is a number in task '{self.task}'")
        return float(np.mean(finite))


@dataclass(frozen=True)
class RandomPolicy:
    """Draws every action: evenly within its bounds, and where one is missing around the other."""

    actions: Actions
    generator: np.random.Generator

    def act(self, observation: FloatArray) -> Any:
        if isinstance(self.actions, DiscreteActions):
            return self.actions.start + int(self.generator.integers(self.actions.count))
        shape = (self.actions.size,) if self.actions.shape is None else self.actions.shape
        return self._draw(1)[0].reshape(shape).astype(self.actions.dtype)

    def action_parameters(self, observations: FloatArray) -> FloatArray:  # [N, *state] -> [N, A]
        if isinstance(self.actions, DiscreteActions):
            return self.generator.dirichlet(np.ones(self.actions.count), len(observations))
        return self._draw(len(observations))

    def _draw(self, count: int) -> FloatArray:  # [count, A]
        assert not isinstance(self.actions, DiscreteActions)
        low, high = np.array(self.actions.low), np.array(self.actions.high)
        even = self.generator.uniform(size=(count, low.size))
        normal = self.generator.normal(size=(count, low.size))
        one_sided = np.where(np.isfinite(low), low + np.abs(normal), high - np.abs(normal))
        outside = np.where(np.isfinite(low) | np.isfinite(high), one_sided, normal)
        width = np.where(np.isfinite(low) & np.isfinite(high), high - low, 0.0)
        return np.where(width > 0, low + width * even, outside)
