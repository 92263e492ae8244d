"""What every evaluator is: a module from a population to predicted training returns.

Vanilla and fingerprint PSSVF differ by this object only. Saved as safetensors with JSON beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from litmus.evaluators import EVALUATORS
from litmus.files import load_module, save_module
from litmus.policies.architecture import Architecture
from litmus.policies.judgeable import Judgeable
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import MixedPopulation, Population

FORMAT = 2


@dataclass(frozen=True)
class Estimate:
    """What an evaluator says of B policies, in units of the training return."""

    mean: Tensor  # [B]
    low: Tensor | None = None  # [B]
    high: Tensor | None = None  # [B]
    """The interval that the return probably lies in, from an evaluator that knows one."""
    familiarity: Tensor | None = None  # [B]
    """How much a policy is like those learned from, from 0 to 1; likewise."""


class Evaluator(nn.Module):
    """V(θ). `mean` and `std` are the normaliser that its training policies shared."""

    probing_states: Tensor | None  # [K, *state], normalised, where the evaluator asks any
    mean: Tensor
    std: Tensor

    def __init__(self, state_shape: Sequence[int]) -> None:
        super().__init__()
        self.state_shape = tuple(state_shape)
        self.register_buffer("mean", torch.zeros(self.state_shape, dtype=torch.float64))
        self.register_buffer("std", torch.ones(self.state_shape, dtype=torch.float64))

    @classmethod
    def design(cls, architecture: Architecture, options: Any) -> Self:
        """An untrained evaluator for policies like these; `options`: its kind's own dataclass."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """The arguments that build an evaluator of this shape again, as JSON."""
        raise NotImplementedError

    def value(self, population: Population) -> Tensor:  # [B]
        """Predicted training return of each policy; differentiable in θ and in this module."""
        raise NotImplementedError

    def loss(self, population: Population, returns: Tensor, weights: Tensor) -> Tensor:
        """What learning makes small: the squared error, weighted.  returns, weights: [B]"""
        return (weights * (self.value(population) - returns).square()).sum()

    def predict(self, policies: Sequence[Judgeable]) -> Estimate:
        """What is to be expected of each policy, as a function of raw observations."""
        with torch.no_grad():
            return Estimate(self.value(MixedPopulation(policies)))

    def score(self, policy: Judgeable) -> float:
        """Predicted training return of one policy: of litmus, an `nn.Module` or a function.

        It is asked in a batch of raw observations and gives action parameters: the action itself,
        mean and log-std, or class probabilities, as the policies that this evaluator learned from.
        """
        return float(self.predict([policy]).mean[0])

    def set_normalizer(self, normalizer: Normalizer) -> None:
        self.mean.copy_(torch.from_numpy(normalizer.mean.reshape(self.state_shape)))
        self.std.copy_(torch.from_numpy(normalizer.std.reshape(self.state_shape)))

    def save(self, path: Path) -> None:
        """Write `path` (safetensors) and the JSON beside it."""
        save_module(path, self, {"format": FORMAT, **describe_evaluator(self)})


def design_evaluator(
    kind: str, architecture: Architecture, options: Mapping[str, Any]
) -> Evaluator:
    """An untrained evaluator of a kind that the user names."""
    entry = EVALUATORS.find(kind)
    evaluator: Evaluator = entry.load().design(architecture, entry.find_options()(**options))
    return evaluator


def describe_evaluator(evaluator: Evaluator) -> dict[str, Any]:
    """What `build_evaluator` needs, as JSON."""
    return {"kind": EVALUATORS.name_of(evaluator), "options": evaluator.options()}


def build_evaluator(description: dict[str, Any]) -> Evaluator:
    """Build an untrained evaluator from its description."""
    factory = EVALUATORS.find(description["kind"]).load()
    return cast(Evaluator, factory(**description["options"]))


def load_evaluator(path: Path | str) -> Evaluator:
    """Read an evaluator that `Evaluator.save` wrote."""

    def build(description: dict[str, Any], tensors: Mapping[str, Tensor]) -> Evaluator:
        return build_evaluator(description)

    return load_module(Path(path), "an evaluator", FORMAT, build)


def make_head(inputs: int, hidden: Sequence[int]) -> nn.Sequential:
    """The MLP that turns a fingerprint, or flat parameters, into one number. ReLU, as the paper."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, 1))
