"""Vanilla PSSVF: the evaluator reads the policy's flat parameters. V(θ) = head(θ)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import torch
from torch import Tensor

from litmus.errors import BadInput
from litmus.evaluators import FlatOptions
from litmus.evaluators.base import Estimate, Evaluator, make_head, rescale_head
from litmus.policies.architecture import Architecture
from litmus.policies.judgeable import Judgeable
from litmus.policies.policy import Policy
from litmus.policies.population import FlatPopulation, Population
from litmus.policies.rows import Activation


class FlatEvaluator(Evaluator):
    Options = FlatOptions

    def __init__(
        self,
        state_shape: Sequence[int],
        num_params: int,
        hidden: Sequence[int],
        activation: Activation = "relu",
    ) -> None:
        super().__init__(state_shape)
        self.num_params = num_params
        self.hidden, self.activation = tuple(hidden), activation
        self.head = make_head(num_params, self.hidden, activation)

    @classmethod
    def design(cls, architecture: Architecture, options: FlatOptions) -> Self:
        return cls(
            architecture.state_shape,
            architecture.num_params,
            options.evaluator_hidden,
            options.evaluator_activation,
        )

    def output(self, population: Population) -> Tensor:  # [B]
        if not isinstance(population, FlatPopulation):
            raise BadInput("this evaluator reads weights: it judges policies of one architecture")
        outputs: Tensor = self.head(population.flat_params).squeeze(-1)
        return outputs

    def rescale_output(self, factor: float, shift: float) -> None:
        rescale_head(self.head, factor, shift)

    def predict(self, policies: Sequence[Judgeable]) -> Estimate:
        """Only for policies of the architecture it was trained on: it reads weights."""
        return Estimate(torch.stack([self._value_of(policy) for policy in policies]))

    def _value_of(self, policy: Judgeable) -> Tensor:
        if not isinstance(policy, Policy):
            raise BadInput(
                "this evaluator reads the weights of litmus' policies; only a fingerprint "
                "evaluator judges modules and functions"
            )
        flat_params = policy.flat_params
        if flat_params.shape[0] != self.num_params:
            raise BadInput(
                f"this evaluator reads {self.num_params} weights and the policy has "
                f"{flat_params.shape[0]}; only a fingerprint evaluator judges other architectures"
            )
        with torch.no_grad():
            return self.to_returns(self.head(flat_params))[0]

    def options(self) -> dict[str, Any]:
        return {
            "state_shape": list(self.state_shape),
            "num_params": self.num_params,
            "hidden": list(self.hidden),
            "activation": self.activation,
        }
