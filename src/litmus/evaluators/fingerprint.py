"""PSSVF with policy fingerprinting: ask the policy what it does in K learned probing states.

    probing actions  ã_k = π_θ(s̃_k), perhaps in units of their half range
    fingerprint      [ã_1, …, ã_K]
    V(θ)           = head(fingerprint)

Probing states and head are learned together.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from litmus.errors import BadInput, option
from litmus.evaluators import FingerprintOptions
from litmus.evaluators.base import Evaluator, make_head, rescale_head
from litmus.evaluators.smoothing import blur_noise
from litmus.policies.architecture import Architecture
from litmus.policies.population import Population
from litmus.policies.rows import Activation

LEAST_PROBABILITY = 1e-30
"""Where a temperature is to be taken of it: its logarithm must be finite."""


class FingerprintEvaluator(Evaluator):
    Options = FingerprintOptions
    probing_states: nn.Parameter  # [K, *state], normalised coordinates
    action_center: Tensor | None  # [A]
    action_half_range: Tensor | None  # [A]
    """What the head takes is (action - center) / half range; None: actions as they are."""

    def __init__(
        self,
        state_shape: Sequence[int],
        num_actions: int,
        num_probing_states: int,
        hidden: Sequence[int],
        probing_range: Sequence[float] = (0.0, 1.0),
        activation: Activation = "relu",
        action_units: Sequence[Sequence[float]] | None = None,
        temperature: float = 1.0,
    ) -> None:
        """`action_units`: centres [A] and half ranges [A]. `temperature`: other than 1 where action
        parameters are probabilities."""
        super().__init__(state_shape)
        if isinstance(temperature, str) or not 0 < temperature < math.inf:
            raise ValueError(f"the temperature must be above 0, not {temperature!r}")
        self.num_actions, self.temperature = num_actions, float(temperature)
        self.hidden, self.activation = tuple(hidden), activation
        self.action_units = None if action_units is None else [list(one) for one in action_units]
        center, half_range = _check_units(action_units, num_actions)
        self.register_buffer("action_center", center, persistent=False)
        self.register_buffer("action_half_range", half_range, persistent=False)
        self.probing_range = (float(probing_range[0]), float(probing_range[1]))
        low, high = self.probing_range
        initial = torch.rand(num_probing_states, *self.state_shape) * (high - low) + low
        self.probing_states = nn.Parameter(initial)
        self.head = make_head(num_probing_states * num_actions, self.hidden, activation)

    @classmethod
    def design(cls, architecture: Architecture, options: FingerprintOptions) -> Self:
        if options.probing_smoothing and len(architecture.state_shape) not in (2, 3):
            raise BadInput(
                f"{option('probing_smoothing')} is for states that are images, and the task's "
                f"states have shape {list(architecture.state_shape)}"
            )
        if options.probing_temperature != 1 and architecture.head.distribution != "categorical":
            raise BadInput(
                f"{option('probing_temperature')} is for tasks with discrete actions, and these "
                "are continuous"
            )
        evaluator = cls(
            architecture.state_shape,
            architecture.head.size,
            options.probing_states,
            options.evaluator_hidden,
            (options.probing_low, options.probing_high),
            options.evaluator_activation,
            architecture.head.units.tolist() if options.evaluator_unit_actions else None,
            options.probing_temperature,
        )
        if options.probing_smoothing:
            states = evaluator.probing_states.data
            states.copy_(blur_noise(states, options.probing_smoothing))
        return evaluator

    def output(self, population: Population) -> Tensor:  # [B]
        return self._output_for(self.ask(population, self.num_actions))

    def value_of_actions(self, actions: Tensor) -> Tensor:  # [B, K, A] -> [B]
        """V of policies that do this in the probing states."""
        return self.to_returns(self._output_for(actions))

    def _output_for(self, actions: Tensor) -> Tensor:  # [B, K, A] -> [B]
        actions = actions.to(self.probing_states.dtype)
        if self.action_center is not None and self.action_half_range is not None:
            actions = (actions - self.action_center) / self.action_half_range
        if self.temperature != 1:
            actions = heat(actions, self.temperature)
        outputs: Tensor = self.head(actions.flatten(1)).squeeze(-1)
        return outputs

    def rescale_output(self, factor: float, shift: float) -> None:
        rescale_head(self.head, factor, shift)

    def options(self) -> dict[str, Any]:
        return {
            "state_shape": list(self.state_shape),
            "num_actions": self.num_actions,
            "num_probing_states": self.probing_states.shape[0],
            "hidden": list(self.hidden),
            "probing_range": list(self.probing_range),
            "activation": self.activation,
            "action_units": self.action_units,
            "temperature": self.temperature,
        }


def heat(probabilities: Tensor, temperature: float) -> Tensor:  # [..., A]
    """What a softmax of the same outputs, divided by the temperature, gives."""
    return torch.softmax(probabilities.clamp(min=LEAST_PROBABILITY).log() / temperature, dim=-1)


def _check_units(
    units: Sequence[Sequence[float]] | None, num_actions: int
) -> tuple[Tensor | None, Tensor | None]:
    if units is None:
        return None, None
    center, half_range = units
    if not len(center) == len(half_range) == num_actions:
        raise ValueError(f"{num_actions} actions need as many centres and half ranges")
    if not all(map(math.isfinite, (*center, *half_range))) or min(half_range, default=1.0) <= 0:
        raise ValueError("centres must be finite and half ranges above 0")
    return torch.tensor(center), torch.tensor(half_range)
