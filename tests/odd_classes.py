"""Classes of a user's own that are unusual, or wrong: named as `odd_classes:Class` in the tests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch
from own_classes import RandomSearch, SearchConfig
from torch import Tensor, nn

from litmus.algorithms.base import Progress
from litmus.algorithms.rounds import RoundPlan
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.policies.architecture import Architecture
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import Population

if TYPE_CHECKING:
    from pathlib import Path as OnlyForTypes


@dataclass(frozen=True)
class ScaledMlp(MlpArchitecture):
    """Inherits options, has one more, and no faster form but the module's."""

    scale: float = 1.0

    def build(self) -> Any:
        network = super().build()
        scale = self.scale

        class Scaled(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.inner = network

            def forward(self, states: Tensor) -> Tensor:
                return torch.tanh(scale * self.inner(states))

        return Scaled()

    def make_numpy_forward(self, flat_params: Any) -> None:
        return None

    def population_actions(self, rows: Any, states: Any) -> None:
        return None


@dataclass(frozen=True)
class HalfOverridden(MlpArchitecture):
    """Another network, with the faster forms of the old one."""

    def build(self) -> Any:
        return nn.Sequential(*super().build().layers[:0], _Zero(self))


class _Zero(nn.Module):
    def __init__(self, architecture: HalfOverridden) -> None:
        super().__init__()
        self.rest = nn.Parameter(torch.ones(architecture.num_params))
        self.size = architecture.head.size

    def forward(self, states: Tensor) -> Tensor:
        return 0.5 * self.rest[: self.size].expand(len(states), self.size)


@dataclass(frozen=True)
class OwnDefaults(MlpArchitecture):
    hidden: tuple[int, ...] = (5,)


class Outer:
    @dataclass(frozen=True)
    class Inner(OwnDefaults):
        pass


def make_local(*arguments: Any, **options: Any) -> Architecture:
    @dataclass(frozen=True)
    class Local(MlpArchitecture):
        pass

    return Local(*arguments, **options)


class NoDataclass:
    def __init__(self, state_shape: tuple[int, ...], head: Any) -> None:
        self.inner = MlpArchitecture(state_shape, head, (4,))
        self.state_shape, self.head = state_shape, head

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)


class AbsoluteEvaluator(FingerprintEvaluator):
    """Ours with another loss, and probing states that stay where they are."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.probing_states.requires_grad_(False)

    def loss(self, population: Population, returns: Tensor, weights: Tensor) -> Tensor:
        return (weights * (self.output(population) - self.to_outputs(returns)).abs()).sum()


@dataclass(frozen=True, kw_only=True)
class OwnSearchConfig(SearchConfig):
    steps: int = 12
    noise: float = 0.7
    """Means something else than PSSVF's."""


class OwnSearch(RandomSearch):
    Options = OwnSearchConfig


class Numbers(RandomSearch):
    """Reports numbers of numpy, and changes its optimiser's rate."""

    saved = (*RandomSearch.saved, "optimizer")

    def __init__(self, resources: Any) -> None:
        super().__init__(resources)
        self.parameter = nn.Parameter(torch.ones(3))
        self.optimizer = torch.optim.SGD([self.parameter], lr=1.0, momentum=0.9)

    def iterate(self) -> Progress:
        progress = super().iterate()
        self.optimizer.param_groups[0]["lr"] *= 0.5
        rate = self.optimizer.param_groups[0]["lr"]
        metrics = {**progress.metrics, "small": np.float32(0.5), "rate": rate}
        return Progress(progress.steps, progress.episodes, metrics)


class Endless(RandomSearch):
    """Keeps what JSON cannot hold."""

    saved = (*RandomSearch.saved, "lowest")
    lowest = -np.inf


class FromOne(RandomSearch):
    """Numbers its rounds from one."""

    keeps_rounds = True

    def iterate(self) -> Progress:
        progress = super().iterate()
        plan = RoundPlan(self.tried, self.flat_params, self.normalizer, 0.1, 0, 0)
        return Progress(progress.steps, progress.episodes, {}, plan.record([]))


class TakenNames(RandomSearch):
    def iterate(self) -> Progress:
        progress = super().iterate()
        return Progress(progress.steps, progress.episodes, {"steps": 3.0})


@dataclass(frozen=True)
class Required(MlpArchitecture):
    depth: int = field(kw_only=True)


@dataclass(frozen=True)
class Listed(MlpArchitecture):
    sizes: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class NumberedChoices(MlpArchitecture):
    level: Literal[1, 2] = 1


@dataclass(frozen=True)
class Outed(MlpArchitecture):
    out: str = "x"


@dataclass(frozen=True)
class Unreadable(MlpArchitecture):
    path: OnlyForTypes | None = None


@dataclass(frozen=True)
class Fractions(MlpArchitecture):
    shares: tuple[float, ...] = (0.5,)
