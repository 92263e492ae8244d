"""Vanilla PSSVF: the evaluator reads the policy's flat parameters. V(θ) = head(θ)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from litmus.errors import BadInput
from litmus.evaluators.base import Evaluator, make_head
from litmus.policies.policy import Policy
from litmus.policies.population import Population


class FlatEvaluator(Evaluator):
    kind = "flat"
    probing_states: None

    def __init__(self, state_shape: Sequence[int], num_params: int, hidden: Sequence[int]) -> None:
        super().__init__(state_shape)
        self.probing_states = None
        self.num_params = num_params
        self.hidden = tuple(hidden)
        self.head = make_head(num_params, self.hidden)

    def value(self, population: Population) -> Tensor:  # [B]
        values: Tensor = self.head(population.flat_params).squeeze(-1)
        return values

    def score(self, policy: Policy) -> float:
        """Only for policies of the architecture it was trained on: it reads weights."""
        flat_params = policy.flat_params
        if flat_params.shape[0] != self.num_params:
            raise BadInput(
                f"this evaluator reads {self.num_params} weights and the policy has "
                f"{flat_params.shape[0]}; only a fingerprint evaluator judges other architectures"
            )
        with torch.no_grad():
            return float(self.head(flat_params))

    def options(self) -> dict[str, Any]:
        return {
            "state_shape": list(self.state_shape),
            "num_params": self.num_params,
            "hidden": list(self.hidden),
        }
