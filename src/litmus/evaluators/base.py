"""What every evaluator is: a module from a population to predicted training returns.

Vanilla and fingerprint PSSVF differ by this object only. Saved as safetensors with JSON beside it.

What it learns has no unit: its network puts out how many standard deviations a return lies from the
mean of the returns that it was told of last (`set_return_statistics`), and `value` turns that back
into the task's own unit.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self, cast

import torch
from torch import Tensor, nn

from litmus.errors import BadInput
from litmus.evaluators import EVALUATORS
from litmus.files import load_module, save_module
from litmus.policies.architecture import Architecture
from litmus.policies.judgeable import Judgeable
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import MixedPopulation, Population
from litmus.policies.rows import Activation

FORMAT = 2

MOST_STATES = 100_000
"""Probing states of an evaluator that a file describes."""

LEVEL_WEIGHT = 0.01
"""Of the mean error of a round, beside the variance of its errors."""


@dataclass(frozen=True)
class Estimate:
    """What an evaluator says of B policies, in units of the training return."""

    mean: Tensor  # [B]
    low: Tensor | None = None  # [B]
    high: Tensor | None = None  # [B]
    """The interval that the return probably lies in, from an evaluator that knows one."""
    familiarity: Tensor | None = None  # [B]
    """How much a policy is like those learned from, from 0 to 1; likewise."""


def check_policies(policies: Sequence[Judgeable]) -> None:
    if not isinstance(policies, Sequence) or not policies:
        raise BadInput("predict takes a list of policies; score takes a single one")


class Evaluator(nn.Module):
    """V(θ). `mean` and `std` are the normaliser that its training policies shared."""

    probing_states: Tensor | None  # [K, *state], normalised, where the evaluator asks any
    mean: Tensor
    std: Tensor
    return_mean: Tensor
    return_std: Tensor
    """0 and 1 until they are set: then the network puts out returns as they are."""
    knows_returns: Tensor
    """Whether they were set."""

    def __init__(self, state_shape: Sequence[int]) -> None:
        super().__init__()
        self.register_buffer("probing_states", None)  # where the evaluator asks in no state
        self.state_shape = tuple(state_shape)
        self.register_buffer("mean", torch.zeros(self.state_shape, dtype=torch.float64))
        self.register_buffer("std", torch.ones(self.state_shape, dtype=torch.float64))
        self.register_buffer("return_mean", torch.zeros((), dtype=torch.float64))
        self.register_buffer("return_std", torch.ones((), dtype=torch.float64))
        self.register_buffer("knows_returns", torch.zeros((), dtype=torch.bool))

    @classmethod
    def design(cls, architecture: Architecture, options: Any) -> Self:
        """An untrained evaluator for policies like these; `options`: its kind's own dataclass."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """The arguments that build an evaluator of this shape again, as JSON."""
        raise NotImplementedError

    def output(self, population: Population) -> Tensor:  # [B]
        """What the network says of each policy; differentiable in θ and in this module."""
        raise NotImplementedError

    def ask(self, population: Population, num_actions: int) -> Tensor:  # [B, K, A]
        """What each policy does in the probing states."""
        states = cast(Tensor, self.probing_states)
        actions = population.actions(
            self.to_observations(states) if population.takes_raw else states
        )
        if actions.shape[2] != num_actions:
            raise BadInput(
                f"this evaluator was made for {num_actions} action parameters, and the policy has "
                f"{actions.shape[2]}"
            )
        return actions

    def value(self, population: Population) -> Tensor:  # [B]
        """Predicted training return of each policy, in the task's unit."""
        return self.to_returns(self.output(population))

    def loss(self, population: Population, returns: Tensor, weights: Tensor) -> Tensor:
        """What learning makes small: the squared error, weighted.  returns, weights: [B]

        In units of the network's output, as the gradient that comes from it.
        """
        error = self.output(population) - self.to_outputs(returns)
        return (weights * error.square()).sum()

    def loss_within_round(self, population: Population, returns: Tensor, weights: Tensor) -> Tensor:
        """The same for policies of one round, whose returns share what is particular to it.

        It is the variance of the errors; their mean counts just enough to keep V at the level of
        the returns.
        """
        error = self.output(population) - self.to_outputs(returns)
        mean = (weights * error).sum()
        return (weights * (error - mean).square()).sum() + LEVEL_WEIGHT * mean.square()

    def loss_in_returns(self, loss: Tensor) -> Tensor:
        """What `loss` gave, in the task's unit: that of a square."""
        return loss * self.return_std.square()

    def to_returns(self, outputs: Tensor) -> Tensor:
        return self.return_mean + self.return_std * outputs

    def to_outputs(self, returns: Tensor) -> Tensor:
        return ((returns - self.return_mean) / self.return_std).to(torch.get_default_dtype())

    def set_return_statistics(self, mean: float, std: float) -> None:
        """Say what returns are like now; what is predicted stays the same, but for rounding.

        A spread of zero says nothing of the unit: it changes nothing.
        """
        if not (math.isfinite(mean) and math.isfinite(std) and std > 0):
            return
        if bool(self.knows_returns):
            old_mean, old_std = float(self.return_mean), float(self.return_std)
            self.rescale_output(old_std / std, (old_mean - mean) / std)
        self.return_mean.fill_(mean)
        self.return_std.fill_(std)
        self.knows_returns.fill_(True)

    def rescale_output(self, factor: float, shift: float) -> None:
        """Make every output y into factor y + shift, by changing the last layer.

        Optional: without it, what is predicted moves a little whenever the statistics do.
        """

    def predict(self, policies: Sequence[Judgeable]) -> Estimate:
        """What is to be expected of each policy, as a function of raw observations."""
        check_policies(policies)
        with torch.no_grad():
            return Estimate(self.value(MixedPopulation(policies)))

    def score(self, policy: Judgeable) -> float:
        """Predicted training return of one policy: of litmus, an `nn.Module` or a function.

        It is asked in a batch of raw observations and gives action parameters: the action itself,
        mean and log-std, or class probabilities, as the policies that this evaluator learned from.
        """
        return float(self.predict([policy]).mean[0])

    @property
    def learns_probing_states(self) -> bool:
        """Whether it asks in any, and moves them while it learns."""
        return self.probing_states is not None

    @property
    def probing_observations(self) -> Tensor | None:  # [K, *state], float64
        """The probing states as an environment would show them; no gradient goes through them."""
        states = self.probing_states
        return None if states is None else self.to_observations(states.detach())

    def to_observations(self, states: Tensor) -> Tensor:  # [K, *state]
        """From normalised coordinates to the environment's own; differentiable."""
        return states.to(torch.float64) * self.std + self.mean

    def normalize(self, observation: float) -> Tensor:  # [*state]
        """This number, in every place of a state, in normalised coordinates."""
        return ((observation - self.mean) / self.std).to(torch.get_default_dtype())

    def set_normalizer(self, normalizer: Normalizer) -> None:
        self.mean.copy_(torch.from_numpy(normalizer.mean.reshape(self.state_shape)))
        self.std.copy_(torch.from_numpy(normalizer.std.reshape(self.state_shape)))

    def save(self, path: Path | str) -> None:
        """Write `path` (safetensors) and the JSON beside it."""
        save_module(Path(path), self, {"format": FORMAT, **describe_evaluator(self)})


def design_evaluator(
    kind: str, architecture: Architecture, options: Mapping[str, Any]
) -> Evaluator:
    """An untrained evaluator of a kind that the user names."""
    entry = EVALUATORS.find(kind)
    evaluator: Evaluator = entry.load().design(architecture, entry.find_options()(**options))
    EVALUATORS.require_findable(evaluator)
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


def rescale_head(head: nn.Sequential, factor: float, shift: float) -> None:
    last = head[-1]
    assert isinstance(last, nn.Linear)
    with torch.no_grad():
        last.weight.mul_(factor)
        last.bias.mul_(factor).add_(shift)


ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh}


def make_head(inputs: int, hidden: Sequence[int], activation: Activation = "relu") -> nn.Sequential:
    """The MLP that turns a fingerprint, or flat parameters, into one number."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), ACTIVATIONS[activation]()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, 1))
