"""How θ learns where V is solved for: once per round, and no farther than V can be trusted.

ask every policy of the round what it does in the probing states, and remember what it earned
solve for V and the merit
step θ up the merit, until what it does has changed by `reach` times what the noise changes
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from litmus.algorithms.rounds import Pace
from litmus.algorithms.saved import SavesAttributes
from litmus.evaluators.gaussian_process import GaussianProcessEvaluator
from litmus.policies.architecture import Architecture
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Round

STEPS = 5
"""Of the climb; its direction is found anew in each."""
HALVINGS, LONGEST = 5, 1e3
"""Of the search for the length of a step, and where it gives up."""


@dataclass
class Solver(SavesAttributes):
    architecture: Architecture
    theta: Tensor  # [P]
    evaluator: GaussianProcessEvaluator
    seed: int = 0
    noise_change: float = 0.0
    """By how much the noise of the newest round changes what a policy does."""
    loss: float = 0.0
    """The mean squared error of V on that round, which it had not learned from."""

    saved: ClassVar = ()
    oldest_round: ClassVar = None
    """Nothing needs to be kept beside the evaluator."""

    def remember(self, measured: Round) -> None:
        policies, returns = measured.rebuild_kept(self.seed)
        # With overlap, θ has moved since it was perturbed.
        rows, center = map(torch.from_numpy, (policies, measured.flat_params))
        self.take_in(rows.to(self.theta.device), center.to(self.theta.device), returns)

    def learn(self, measured: Round, pace: Pace) -> tuple[float, float] | None:
        return self.solve(pace.policy_step) if measured.kept else None

    def forget(self) -> None:
        self.evaluator.forget()  # it is about policies far from here

    def take_in(self, policies: Tensor, center: Tensor, returns: Sequence[float]) -> None:
        """A round: policies [B, P], the θ [P] that was perturbed, and what each earned."""
        self.noise_change = self.loss = 0.0
        torch.set_num_threads(1)  # as many on every machine: the last bits depend on it
        with torch.no_grad():
            asked = self._ask(policies)
            are_finite = asked.isfinite().all(1)  # enormous noise makes actions that are not
            change = (asked - self._ask(center[None])).square().mean(1).sqrt()
            earned = torch.tensor(returns, dtype=torch.float64, device=asked.device)
            asked, earned, change = asked[are_finite], earned[are_finite], change[are_finite]
            if not len(earned):
                return
            self.loss = self.evaluator.measure_loss(asked, earned)
            self.noise_change = float(change.mean())
            self.evaluator.remember(asked, earned)

    def solve(self, reach: float) -> tuple[float, float]:
        """V's error on the policies of the round, and V(θ) after the climb."""
        if len(self.evaluator):
            self.evaluator.solve()
            self._climb(reach * self.noise_change)
        with torch.no_grad():
            value = self.evaluator.value(FlatPopulation(self.architecture, self.theta[None]))
        return self.loss, float(value[0])

    def _climb(self, farthest: float) -> None:
        if not farthest > 0:
            return
        theta = self.theta.detach().clone()
        with torch.no_grad():
            start = self._ask(theta[None])
        length: float | None = None
        for _ in range(STEPS):
            direction = self._find_direction(theta)
            if direction is None:
                return
            if length is None:
                length = self._find_length(theta, direction, start, farthest / STEPS)
            theta = theta + length * direction
            if self._measure_change(theta, start) > farthest:
                break
        with torch.no_grad():
            self.theta.copy_(theta)

    def _find_direction(self, theta: Tensor) -> Tensor | None:  # [P] -> [P]
        """Of length 1; None where the merit is flat."""
        theta = theta.clone().requires_grad_()
        (gradient,) = torch.autograd.grad(self.evaluator.merit(self._ask(theta[None]))[0], theta)
        norm = gradient.norm()
        return gradient / norm if bool(norm > 0) and bool(norm.isfinite()) else None

    def _find_length(self, theta: Tensor, direction: Tensor, start: Tensor, change: float) -> float:
        """Along the direction, to where what the policy does has changed so much."""
        low, high = 0.0, 1e-3
        while high < LONGEST and self._measure_change(theta + high * direction, start) < change:
            high *= 2
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._measure_change(theta + middle * direction, start) < change:
                low = middle
            else:
                high = middle
        return high

    def _measure_change(self, theta: Tensor, start: Tensor) -> float:
        with torch.no_grad():
            return float((self._ask(theta[None]) - start).square().mean().sqrt())

    def _ask(self, rows: Tensor) -> Tensor:  # [B, P] -> [B, K · A]
        return self.evaluator.fingerprints(FlatPopulation(self.architecture, rows))
