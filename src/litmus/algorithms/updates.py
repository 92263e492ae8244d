"""The steps of learning: of the evaluator towards measured returns, of θ up the evaluator.

`TorchUpdates` is how it works, for any evaluator, architecture and device. `compiled_updates.py`
does the same for the commonest case in one call of the compiled kernels a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor
from torch.optim import Adam

from litmus.evaluators.base import Evaluator
from litmus.policies.architecture import Architecture
from litmus.policies.population import Population
from litmus.algorithms.buffer import Buffer


@dataclass(frozen=True)
class Learner:
    """What learns, by which optimisers, and from what."""

    architecture: Architecture
    theta: Tensor  # [P]
    evaluator: Evaluator
    theta_optimizer: Adam
    evaluator_optimizer: Adam
    buffer: Buffer


class Updates(Protocol):
    def prepare(self, threads: int) -> None:
        """Before the updates of a round: on a CPU, how many threads they may use."""

    def fit(self, slots: Tensor) -> Tensor:
        """One step of the evaluator down its squared error on these policies [B]; the error."""

    def climb(self) -> Tensor:
        """One step of θ up V(θ), the evaluator staying as it is; V(θ) before it."""


class TorchUpdates:
    def __init__(self, learner: Learner) -> None:
        self.learner = learner

    def prepare(self, threads: int) -> None:
        torch.set_num_threads(threads)

    def fit(self, slots: Tensor) -> Tensor:
        learner, batch = self.learner, self.learner.buffer.select(slots)
        values = learner.evaluator.value(Population(learner.architecture, batch.rows))
        loss = (batch.weights * (values - batch.returns).square()).sum()
        parameters = list(learner.evaluator.parameters())
        for parameter, gradient in zip(
            parameters, torch.autograd.grad(loss, parameters), strict=True
        ):
            parameter.grad = gradient
        learner.evaluator_optimizer.step()
        return loss.detach()

    def climb(self) -> Tensor:
        learner, theta = self.learner, self.learner.theta
        learner.evaluator.requires_grad_(False)  # no gradient of it is needed
        value = learner.evaluator.value(Population(learner.architecture, theta.unsqueeze(0)))
        (gradient,) = torch.autograd.grad(value, theta)
        learner.evaluator.requires_grad_(True)
        theta.grad = gradient.neg_()
        learner.theta_optimizer.step()
        return value.detach()[0]
