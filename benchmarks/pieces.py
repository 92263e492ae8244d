"""The parts of litmus that are timed, set up as training sets them up."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

import numpy as np
import torch

import litmus
from litmus.algorithms import read_config
from litmus.algorithms.acceleration import make_fast_pssvf
from litmus.algorithms.base import Resources
from litmus.algorithms.turns import Turns
from litmus.config import PssvfConfig, TrainConfig
from litmus.evaluators.calibration import Calibration
from litmus.evaluators.kernel import KernelEvaluator
from litmus.judging.settings import FitSettings
from litmus.native.updates import CompiledUpdates
from litmus.policies.actions import ActionHead
from litmus.policies.grouped import GroupedPopulation
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import flatten
from litmus.presets import preset_values
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.make import count_cores
from litmus.rollouts.pool import PoolCollector
from litmus.seeding import Stream, perturb
from litmus.tasks import make_task_spec
from litmus.tasks.control import ControlTask


def make_task(name: str) -> ControlTask:
    task = make_task_spec(name).build()
    assert isinstance(task, ControlTask)
    return task


@dataclass(frozen=True)
class Played:
    """A task, and policies that play it: untrained, or one that balances.

    With the paper's networks and updates in overlapping rounds of sixteen episodes; or as another
    preset says.
    """

    task: str
    preset: Literal["paper", "default", "small"] = "paper"
    distribution: Literal["auto", "gaussian"] = "auto"
    episodes_per_core: int = 8
    """Of a measurement."""
    balances: bool = False
    """Policies that balance take most of a run's steps; untrained ones fall after ten or twenty."""

    @property
    def name(self) -> str:
        parts = [self.task]
        if self.distribution != "auto":
            parts.append(self.distribution)
        if self.preset != "paper":
            parts.append(f"{self.preset} preset")
        return ", ".join(parts)

    def make_architecture(self, task: ControlTask) -> MlpArchitecture:
        hidden = preset_values(self.preset, "pssvf", self.task)["hidden"]
        head = ActionHead.for_task(self.distribution, task.actions)
        return MlpArchitecture(task.state_shape, head, hidden)

    def make_flat_params(self, architecture: MlpArchitecture) -> np.ndarray:
        if self.balances:
            return make_linear_params(architecture, BALANCING[self.task])
        return make_flat_params(architecture)


def make_flat_params(architecture: MlpArchitecture, seed: int = 0) -> np.ndarray:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return flatten(architecture.build()).numpy()


BALANCING = {
    "CartPole-v1": (6.0, 18.0, 90.0, 60.0),
    "InvertedDoublePendulum-v5": (-0.21, -1.81, -5.57, 0.0, 0.0, -0.31, -0.9, -0.85, 0.0),
}
"""How strongly to push for each component of the observation (for the second, by linear-quadratic
control)."""


def make_linear_params(architecture: MlpArchitecture, gains: tuple[float, ...]) -> np.ndarray:
    """Of a policy that is almost linear: the first unit of each layer carries the sum."""
    layers = [np.zeros((outputs, inputs)) for inputs, outputs in architecture.shape.layer_sizes]
    layers[0][0] = gains
    for layer in layers[1:-1]:
        layer[0, 0] = 1.0
    layers[-1][-1, 0], layers[-1][:-1, 0] = 2.0, -2.0  # push, or choose to push the other way
    flat = [part for layer in layers for part in (layer.ravel(), np.zeros(len(layer)))]
    return np.concatenate(flat).astype(np.float32)


class Stepping:
    """Episodes through a pool of workers."""

    def __init__(self, played: Played, workers: int, episodes: int) -> None:
        task = make_task(played.task)
        self.architecture = played.make_architecture(task)
        self.flat_params = played.make_flat_params(self.architecture)
        task.close()
        setting = Setting(make_task_spec(played.task), self.architecture, seed=0)
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
        self,
        probing_states: int = 200,
        hidden: tuple[int, ...] = (256, 256),
        policies: int = 64,
        distribution: Literal["auto", "gaussian"] = "auto",
    ) -> None:
        values = {"task": "Swimmer-v5", "probing_states": probing_states, "hidden": hidden}
        self.config = cast(PssvfConfig, read_config("pssvf", {**values, "device": "cpu"}))
        self.probing_states = probing_states
        task = make_task(self.config.task)
        head = ActionHead.for_task(distribution, task.actions)
        self.architecture = MlpArchitecture(task.state_shape, head, hidden)
        task.close()
        nobody: Any = None  # never asked: nothing is simulated here
        algorithm = make_fast_pssvf(
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
        turns = algorithm.learning
        assert isinstance(turns, Turns)
        turns.buffer.add(flat + 0.05 * noise, generator.random(policies).tolist(), [0] * policies)
        # Sixteen different policies: the full work of a batch.
        self.slots = torch.arange(self.config.batch_size)
        assert isinstance(turns.updates, CompiledUpdates)
        self.updates = turns.updates
        self.updates.begin_round(steps=0)

    def update_evaluator(self) -> None:
        self.updates.fit(self.slots)

    def update_policy(self) -> None:
        self.updates.climb()


@dataclass(frozen=True)
class Trained:
    """A stretch of training: how long it took, and how much work it was."""

    config: TrainConfig
    seconds: float
    steps: int
    episodes: int


def train_for(played: Played, steps: int, **options: Any) -> Trained:
    """PSSVF's training."""
    if played.preset == "paper":
        options = {"round_size": 16, "overlap": True, **options}
    return time_training("pssvf", played, steps, **options)


def time_training(algorithm: str, played: Played, steps: int, **options: Any) -> Trained:
    """Time training from the end of the first round, when all workers are up, to the last."""
    with tempfile.TemporaryDirectory() as folder:
        run = litmus.train(
            algorithm,
            task=played.task,
            distribution=played.distribution,
            preset=played.preset,
            steps=steps,
            evaluate_every=0,
            selection_share=0.0,
            device="cpu",
            out=Path(folder) / "run",
            quiet=True,
            **options,
        )
        rounds = [event for event in run.metrics if event["event"] == "round"]
        config = run.config
    first, last = rounds[0], rounds[-1]
    return Trained(
        config,
        last["wall_s"] - first["wall_s"],
        last["steps"] - first["steps"],
        last["episodes_done"] - first["episodes_done"],
    )


def make_scoring(count: int) -> tuple[KernelEvaluator, list[Policy]]:
    """An evaluator of the default sizes, and so many policies to ask it about."""
    played = Played("Swimmer-v5")
    architecture = played.make_architecture(make_task(played.task))
    settings = FitSettings()
    units = architecture.head.units.tolist()
    judge = KernelEvaluator(architecture.state_shape, settings.probing_states, units)
    flat = played.make_flat_params(architecture)
    normalizer = Normalizer.identity(architecture.state_shape)
    policies = [
        Policy(architecture, torch.from_numpy(perturb(flat, 0.05, 0, index)), normalizer)
        for index in range(count)
    ]
    judge.probing_states.normal_(generator=torch.Generator().manual_seed(0))
    prints = judge.fingerprints(GroupedPopulation(policies))
    known = prints.repeat(settings.policies // count, 1)
    judge.learn(known, known[:, 0], known[:, 1] / len(known), (0.3, 0.1))
    judge.calibrate(Calibration(0.1, 1.0, 1.6, np.linspace(0, 1, 512)))
    return judge, policies
