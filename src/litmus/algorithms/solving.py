"""How θ learns where V is solved for: once per round, and no farther than V can be trusted.

ask every policy of the round what it does in the probing states, and remember what it earned
solve for V and the merit
step θ up the merit, until what it does has changed by `reach` times what the noise changes
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from litmus.algorithms.lengths import Lengths
from litmus.algorithms.rounds import Pace
from litmus.algorithms.saved import SavesAttributes
from litmus.evaluators.gaussian_process import GaussianProcessEvaluator
from litmus.native.merit import compile_merit
from litmus.policies.architecture import Architecture
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Round
from litmus.tasks.base import Cut, Episode

STEPS = 5
"""Of the climb; its direction is found anew in each."""
SHORTEST, LONGEST = 1e-3, 1e3
"""Lengths of a step that are tried first, and where the search gives up."""
TRIES, TOLERANCE = 30, 0.02
"""Of that search, and by which share the change that it finds may be off."""


class Merit(Protocol):
    """Of one policy [P]."""

    def ask(self, theta: Tensor) -> Tensor:
        """What it does in the probing states.  [1, K · A]"""

    def find_uphill(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        """Likewise, and the gradient of its merit.  [1, K · A], [P]"""


@dataclass(frozen=True)
class TorchMerit:
    architecture: Architecture
    evaluator: GaussianProcessEvaluator

    def ask(self, theta: Tensor) -> Tensor:
        return self.evaluator.fingerprints(FlatPopulation(self.architecture, theta[None]))

    def find_uphill(self, theta: Tensor) -> tuple[Tensor, Tensor]:
        theta = theta.detach().requires_grad_()
        asked = self.ask(theta)
        slope = self.evaluator.find_slope(asked.detach())
        (gradient,) = torch.autograd.grad(asked, theta, slope)
        return asked.detach(), gradient


@dataclass
class Solver(SavesAttributes):
    architecture: Architecture
    theta: Tensor  # [P]
    evaluator: GaussianProcessEvaluator
    lengths: Lengths = field(default_factory=Lengths)
    seed: int = 0
    noise_change: float = 0.0
    """By how much the noise of the newest round changes what a policy does."""
    loss: float = 0.0
    """The mean squared error of V on that round, which it had not learned from."""

    saved: ClassVar = ("lengths",)
    oldest_round: ClassVar = None
    """Nothing needs to be kept beside the evaluator."""
    advice: ClassVar = "rewards in other units, whose squares are numbers,"

    def __post_init__(self) -> None:
        parts = (self.architecture, self.theta, self.evaluator)
        self.merit: Merit = compile_merit(*parts) or TorchMerit(self.architecture, self.evaluator)

    @property
    def most_steps(self) -> int | None:
        return self.lengths.most_steps

    @property
    def cut(self) -> Cut | None:
        return self.lengths.enough

    def remember(self, measured: Round, episodes: Sequence[Episode]) -> Sequence[float]:
        policies, _ = measured.rebuild_kept(self.seed)
        kept = [one for one in episodes if one.is_finite]
        returns: list[float] = self.lengths.find_returns(kept, measured.most_steps).tolist()
        self.lengths.take_in(measured.number, kept, measured.most_steps)
        # With overlap, θ has moved since it was perturbed.
        rows, center = map(torch.from_numpy, (policies, measured.flat_params))
        self.take_in(rows.to(self.theta.device), center.to(self.theta.device), returns)
        return returns

    def learn(self, measured: Round, pace: Pace) -> tuple[float, float] | None:
        return self.solve(pace.policy_step) if measured.kept else None

    def forget(self) -> None:
        self.evaluator.forget()  # it is about policies far from here

    def take_in(self, policies: Tensor, center: Tensor, returns: Sequence[float]) -> None:
        """A round: policies [B, P], the θ [P] that was perturbed, and what each earned."""
        self.noise_change = self.loss = 0.0
        torch.set_num_threads(1)  # as many on every machine: the last bits depend on it
        with torch.no_grad():
            population = FlatPopulation(self.architecture, torch.cat([policies, center[None]]))
            asked = self.evaluator.fingerprints(population)
            asked, of_center = asked[:-1], asked[-1:]
            are_finite = asked.isfinite().all(1)  # enormous noise makes actions that are not
            change = find_change(asked, of_center)
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
            value = self.evaluator.value_of(self.merit.ask(self.theta))
        return self.loss, float(value[0])

    def _climb(self, farthest: float) -> None:
        if not farthest > 0:
            return
        theta, length = self.theta.detach(), 0.0
        start: Tensor | None = None
        for _ in range(STEPS):
            asked, gradient = self.merit.find_uphill(theta)
            start = asked if start is None else start
            if float(find_change(asked, start)) > farthest:
                break
            norm = float(gradient.norm())
            if not 0 < norm < math.inf:  # the merit is flat
                return
            direction = gradient / norm
            length = length or self._find_length(theta, direction, start, farthest / STEPS)
            theta = theta + length * direction
        with torch.no_grad():
            self.theta.copy_(theta)

    def _find_length(self, theta: Tensor, direction: Tensor, start: Tensor, change: float) -> float:
        """Along the direction, to where what the policy does has changed so much."""
        low, high, length = 0.0, LONGEST, SHORTEST
        for _ in range(TRIES):
            asked = self.merit.ask(theta + length * direction)
            share = float(find_change(asked, start)) / change
            if abs(share - 1) < TOLERANCE:
                break
            low, high = (length, high) if share < 1 else (low, length)
            # Almost in proportion, so far; where it is not, in the middle of what is left.
            length = length / share if share > 0 else high
            if not low < length < high:
                length = (low + high) / 2
        return length


def find_change(asked: Tensor, before: Tensor) -> Tensor:  # [B, F], [1, F] -> [B]
    """By how much policies do something else than one did before."""
    return (asked - before).square().mean(1).sqrt()
