"""A user's own evaluator and algorithm, named as `own_classes:Class`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from litmus.algorithms.base import Progress, Resources
from litmus.algorithms.saved import SavesAttributes
from litmus.config import TrainConfig
from litmus.evaluators.base import Estimate, Evaluator
from litmus.fields import above
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import MixedPopulation, Population, flatten
from litmus.rollouts.base import Round
from litmus.rollouts.episode import ActingPolicy
from litmus.seeding import Stream, make_generator, perturb
from litmus.tasks.base import StepsThrough


@dataclass(frozen=True)
class LineOptions:
    margin: float = above(0, 2.0)
    """Half the width of the intervals."""


class LineEvaluator(Evaluator):
    """A line through what a policy does in the mean state; learns by absolute errors."""

    Options = LineOptions

    def __init__(self, state_shape: Sequence[int], num_actions: int, margin: float) -> None:
        super().__init__(state_shape)
        self.margin = margin
        self.line = nn.Linear(num_actions, 1)

    @classmethod
    def design(cls, architecture: Architecture, options: LineOptions) -> Self:
        return cls(architecture.state_shape, architecture.head.size, options.margin)

    def options(self) -> dict[str, Any]:
        shape, size = list(self.state_shape), self.line.in_features
        return {"state_shape": shape, "num_actions": size, "margin": self.margin}

    def output(self, population: Population) -> Tensor:
        asked = self.mean if population.takes_raw else torch.zeros_like(self.mean).float()
        outputs: Tensor = self.line(population.actions(asked.unsqueeze(0))[:, 0]).squeeze(-1)
        return outputs

    def loss(self, population: Population, returns: Tensor, weights: Tensor) -> Tensor:
        return (weights * (self.output(population) - self.to_outputs(returns)).abs()).sum()

    def loss_in_returns(self, loss: Tensor) -> Tensor:
        return loss * self.return_std

    def rescale_output(self, factor: float, shift: float) -> None:
        with torch.no_grad():
            self.line.weight.mul_(factor)
            self.line.bias.mul_(factor).add_(shift)

    def predict(self, policies: Sequence[Any]) -> Estimate:
        with torch.no_grad():
            values = self.value(MixedPopulation(policies))
        ones = torch.ones_like(values)
        return Estimate(values, values - self.margin, values + self.margin, ones)


@dataclass(frozen=True, kw_only=True)
class SearchConfig(TrainConfig):
    spread: float = above(0, 0.3)
    """How far from the best policy the next one is sought."""


class RandomSearch(SavesAttributes):
    """Tries one policy near the best per iteration, transition by transition.

    No evaluator, no rounds, no collector. It keeps the rewards of every step in a file of its own.
    """

    Options = SearchConfig
    keeps_rounds = False
    evaluator = None
    saved = ("flat_params", "best_return", "tried", "kept_bytes")
    best_return: float | None

    def __init__(self, resources: Resources) -> None:
        assert isinstance(resources.config, SearchConfig)
        self.config, self.architecture = resources.config, resources.architecture
        self.task = resources.task.build()
        assert isinstance(self.task, StepsThrough)
        self.path = resources.folder / "rewards.bin"
        with torch.random.fork_rng():
            torch.manual_seed(self.config.seed)
            self.flat_params: NDArray[np.float32] = flatten(self.architecture.build()).numpy()
        self.normalizer = Normalizer.identity(self.architecture.state_shape)
        self.best_return = None
        self.tried = self.kept_bytes = 0

    def iterate(self) -> Progress:
        config, number = self.config, self.tried
        candidate = perturb(self.flat_params, config.spread, config.seed, number)
        generator = make_generator(config.seed, Stream.TRAINING, number)
        policy = ActingPolicy(self.architecture, candidate, self.normalizer, generator)
        steps = self.task.step_through(policy.act, int(generator.integers(2**31)))
        rewards = np.array([step.reward for step in steps])
        with self.path.open("ab") as file:
            self.kept_bytes += file.write(rewards.tobytes())
        return_ = float(rewards.sum())
        if self.best_return is None or return_ > self.best_return:
            self.flat_params, self.best_return = candidate, return_
        self.tried += 1
        return Progress(len(rewards), 1, {"mean": return_, "best": self.best_return})

    def close(self) -> None:
        self.task.close()

    def state_dict(self) -> Mapping[str, Any]:
        if self.path.exists():
            with self.path.open("rb") as file:
                os.fsync(file.fileno())
        return super().state_dict()

    def load_state_dict(self, state: Mapping[str, Any], rounds: Iterable[Round]) -> None:
        assert not list(rounds)
        super().load_state_dict(state, ())
        os.truncate(self.path, self.kept_bytes) if self.path.exists() else None
