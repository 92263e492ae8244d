"""The steps of learning: of the evaluator towards measured returns, of θ up the evaluator.

`TorchUpdates` is how it works, for any evaluator, architecture and device. `compiled_updates.py`
does the same for the commonest case in one call of the compiled kernels a step.
"""

from __future__ import annotations

from typing import Protocol

import torch
from torch import Tensor
from torch.optim import Adam

from litmus.evaluators.base import Evaluator
from litmus.policies.architecture import Architecture
from litmus.policies.population import Population
from litmus.training.buffer import Buffer


class Updates(Protocol):
    def fit(self, slots: Tensor) -> Tensor:
        """One step of the evaluator down its squared error on these policies [B]; the error."""

    def climb(self) -> Tensor:
        """One step of θ up V(θ), the evaluator staying as it is; V(θ) before it."""


class TorchUpdates:
    def __init__(
        self,
        architecture: Architecture,
        theta: Tensor,
        evaluator: Evaluator,
        theta_optimizer: Adam,
        evaluator_optimizer: Adam,
        buffer: Buffer,
    ) -> None:
        self.architecture, self.theta, self.evaluator = architecture, theta, evaluator
        self.theta_optimizer, self.evaluator_optimizer = theta_optimizer, evaluator_optimizer
        self.buffer = buffer

    def fit(self, slots: Tensor) -> Tensor:
        batch = self.buffer.select(slots)
        values = self.evaluator.value(Population(self.architecture, batch.rows))
        loss = (batch.weights * (values - batch.returns).square()).sum()
        parameters = list(self.evaluator.parameters())
        for parameter, gradient in zip(
            parameters, torch.autograd.grad(loss, parameters), strict=True
        ):
            parameter.grad = gradient
        self.evaluator_optimizer.step()
        return loss.detach()

    def climb(self) -> Tensor:
        self.evaluator.requires_grad_(False)  # no gradient of it is needed
        value = self.evaluator.value(Population(self.architecture, self.theta.unsqueeze(0)))
        (gradient,) = torch.autograd.grad(value, self.theta)
        self.evaluator.requires_grad_(True)
        self.theta.grad = gradient.neg_()
        self.theta_optimizer.step()
        return value.detach()[0]
