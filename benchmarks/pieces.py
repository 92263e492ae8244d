"""The parts of litmus that are timed, set up as training sets them up."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

import litmus
from litmus.algorithms import read_config
from litmus.algorithms.acceleration import make_fast_pssvf
from litmus.algorithms.base import Resources
from litmus.config import PssvfConfig
from litmus.native.updates import CompiledUpdates
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import flatten
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.make import count_cores
from litmus.rollouts.pool import PoolCollector
from litmus.seeding import Stream
from litmus.tasks import make_task_spec
from litmus.tasks.control import ControlTask


def make_task(name: str) -> ControlTask:
    task = make_task_spec(name).build()
    assert isinstance(task, ControlTask)
    return task


def make_architecture(task: ControlTask, hidden: tuple[int, ...] = (256, 256)) -> MlpArchitecture:
    head = ActionHead.for_task("auto", task.actions)
    return MlpArchitecture(task.state_shape, head, hidden)


def make_flat_params(architecture: MlpArchitecture, seed: int = 0) -> np.ndarray:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return flatten(architecture.build()).numpy()


class Stepping:
    """Episodes through a pool of workers."""

    def __init__(self, task_name: str, workers: int, episodes: int) -> None:
        task = make_task(task_name)
        self.architecture = make_architecture(task)
        self.flat_params = make_flat_params(self.architecture)
        task.close()
        setting = Setting(make_task_spec(task_name), self.architecture, seed=0)
        self.pool = PoolCollector(setting, workers, capacity=episodes)
        self.episodes = episodes
        self.run()  # starts the workers

    def run(self) -> int:
        """Run the episodes and return the number of steps."""
        normalizer = Normalizer.identity(self.architecture.state_shape)
        request = Request(self.flat_params, normalizer, 0.05, Stream.TRAINING, range(self.episodes))
        return sum(episode.steps for episode in self.pool.start(request).result())

    def close(self) -> None:
        self.pool.close()


class Updates:
    """An algorithm with a filled buffer, to time its updates alone."""

    def __init__(
        self, probing_states: int = 200, hidden: tuple[int, ...] = (256, 256), policies: int = 64
    ) -> None:
        values = {"task": "Swimmer-v5", "probing_states": probing_states, "hidden": hidden}
        self.config = cast(PssvfConfig, read_config("pssvf", {**values, "device": "cpu"}))
        self.probing_states = probing_states
        task = make_task(self.config.task)
        self.architecture = make_architecture(task, hidden)
        task.close()
        nobody: Any = None  # never asked: nothing is simulated here
        self.algorithm = make_fast_pssvf(
            Resources(
                self.config,
                make_task_spec(self.config.task),
                self.architecture,
                collector=nobody,
                device=torch.device("cpu"),
                cores=count_cores(),
                folder=nobody,
            )
        )
        flat = make_flat_params(self.architecture)
        generator = np.random.default_rng(0)
        noise = generator.standard_normal((policies, len(flat)), dtype=np.float32)
        self.algorithm.buffer.add(
            flat + 0.05 * noise, generator.random(policies).tolist(), [0] * policies
        )
        # Sixteen different policies: the full work of a batch.
        self.slots = torch.arange(self.config.batch_size)
        assert isinstance(self.algorithm.updates, CompiledUpdates)
        self.updates = self.algorithm.updates
        self.updates.begin_round(steps=0)

    def update_evaluator(self) -> None:
        self.updates.fit(self.slots)

    def update_policy(self) -> None:
        self.updates.climb()


@dataclass(frozen=True)
class Trained:
    """A stretch of training: how long it took, and how much work it was."""

    seconds: float
    steps: int
    episodes: int


def train_for(task: str, episodes: int, **options: Any) -> Trained:
    """Time training from the end of the first round, when all workers are up, to the last."""
    with tempfile.TemporaryDirectory() as folder:
        run = litmus.train(
            "pssvf",
            task=task,
            steps=episodes * options.pop("steps_per_episode", 1000),
            evaluate_every=0,
            device="cpu",
            out=Path(folder) / "run",
            quiet=True,
            **options,
        )
        rounds = [event for event in run.metrics if event["event"] == "round"]
    first, last = rounds[0], rounds[-1]
    return Trained(
        last["wall_s"] - first["wall_s"],
        last["steps"] - first["steps"],
        last["episodes_done"] - first["episodes_done"],
    )
