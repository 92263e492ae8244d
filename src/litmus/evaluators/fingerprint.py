"""PSSVF with policy fingerprinting: ask the policy what it does in K learned probing states.

    probing actions  ã_k = π_θ(s̃_k)
    fingerprint      [ã_1, …, ã_K]
    V(θ)           = head(fingerprint)

Probing states and head are learned together.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from litmus.errors import BadInput
from litmus.evaluators.base import Evaluator, denormalize, make_head
from litmus.policies.policy import Policy
from litmus.policies.population import Population


class FingerprintEvaluator(Evaluator):
    kind = "fingerprint"
    probing_states: nn.Parameter  # [K, *state], normalised coordinates

    def __init__(
        self,
        state_shape: Sequence[int],
        num_actions: int,
        num_probing_states: int,
        hidden: Sequence[int],
        probing_range: Sequence[float] = (0.0, 1.0),
    ) -> None:
        super().__init__(state_shape)
        self.num_actions = num_actions
        self.hidden = tuple(hidden)
        self.probing_range = (float(probing_range[0]), float(probing_range[1]))
        low, high = self.probing_range
        initial = torch.rand(num_probing_states, *self.state_shape) * (high - low) + low
        self.probing_states = nn.Parameter(initial)
        self.head = make_head(num_probing_states * num_actions, self.hidden)

    def value(self, population: Population) -> Tensor:  # [B]
        return self.value_of_answers(population.actions(self.probing_states))

    def value_of_answers(self, answers: Tensor) -> Tensor:  # [B, K, A] -> [B]
        values: Tensor = self.head(answers.flatten(1)).squeeze(-1)
        return values

    def score(self, policy: Policy) -> float:
        """Works for a policy of any architecture: only its answers to raw observations count."""
        asked, head = policy.architecture.state_shape, policy.architecture.head
        if asked != self.state_shape or head.size != self.num_actions:
            raise BadInput(
                f"this evaluator asks about states {self.state_shape} and {self.num_actions} "
                f"action parameters; the policy has {asked} and {head.size}"
            )
        with torch.no_grad():
            answers = policy(denormalize(self.probing_states, self.mean, self.std))
            return float(self.value_of_answers(answers.unsqueeze(0)))

    def options(self) -> dict[str, Any]:
        return {
            "state_shape": list(self.state_shape),
            "num_actions": self.num_actions,
            "num_probing_states": self.probing_states.shape[0],
            "hidden": list(self.hidden),
            "probing_range": list(self.probing_range),
        }
