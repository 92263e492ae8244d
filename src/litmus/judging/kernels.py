"""Solving for a kernel evaluator: regression on the returns of the policies learned from.

    α = (k(F, F) + noise · diag(1 / episodes))⁻¹ (returns - mean) / std,   k = exp(-d / length)

Lengths are in units of the median distance between the policies learned from, so that one set of
candidates serves every task.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from litmus.evaluators.kernel import KernelEvaluator, find_distances
from litmus.judging.data import FitData
from litmus.judging.visits import ProbingStates

AT_ONCE = 256
LENGTHS, NOISES = (5.0, 20.0), (0.01, 0.03, 0.1, 0.3)
# Shorter lengths judge no better, and V is then flat between the policies that it knows: a policy
# that climbs it stops at the nearest.
NEARBY = 0.3
"""Whose returns say how much returns vary around a policy, in median distances."""

Places = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Candidate:
    length: float
    """Of the kernel, in median distances."""
    noise: float
    """Variance of one episode's return, of that of all returns."""


CANDIDATES = tuple(Candidate(*both) for both in product(LENGTHS, NOISES))


@dataclass(frozen=True)
class Judged:
    """What an evaluator says of policies, in units of its own outputs."""

    means: Floats  # [B]
    spreads: Floats  # [B]
    distances: Floats  # [B]


@dataclass(frozen=True)
class Asked:
    """Every policy's actions in every probing state."""

    data: FitData
    probing: ProbingStates
    prints: Tensor  # [N, K, A], in half ranges

    def cut(self, places: Places, states: Places) -> Tensor:  # [B, K' · A]
        rows = self.prints[torch.from_numpy(places)]
        return rows[:, torch.from_numpy(states)].flatten(1)


def ask_everyone(data: FitData, probing: ProbingStates) -> Asked:
    evaluator = make_evaluator(data, probing, np.arange(len(probing.states)))
    evaluator.to(data.policies[0].flat_params.device)
    everyone = np.arange(len(data.policies))
    with torch.no_grad():
        pieces = [
            evaluator.fingerprints(data.population(everyone[start : start + AT_ONCE]))
            for start in range(0, len(everyone), AT_ONCE)
        ]
    return Asked(data, probing, torch.cat(pieces).view(len(everyone), len(probing.states), -1))


def make_evaluator(data: FitData, probing: ProbingStates, states: Places) -> KernelEvaluator:
    """With these of the probing states; it knows nothing yet."""
    evaluator = KernelEvaluator(data.state_shape, len(states), data.head_units)
    evaluator.set_normalizer(data.normalizer)
    evaluator.probing_states.copy_(torch.from_numpy(probing.states[states]))
    return evaluator


class Solver:
    """Evaluators that learn from the same policies, asked in states that their lineages visited."""

    def __init__(self, asked: Asked, places: Places) -> None:
        self.asked, self.places = asked, places
        data = asked.data
        others = np.setdiff1d(data.lineages, data.lineages[places])
        self.states = asked.probing.places_without(others)
        returns = data.returns[places]
        self.mean, self.std = float(returns.mean()), float(returns.std()) or 1.0
        self.earned = torch.from_numpy((returns - self.mean) / self.std).to(asked.prints.device)
        self.uncertain = torch.from_numpy(1 / data.episodes[places]).to(self.earned)
        self.references = asked.cut(places, self.states)
        self.between = find_distances(self.references, self.references)
        self.unit = float(self.between.median())

    def solve(self, candidate: Candidate) -> KernelEvaluator:
        length = candidate.length * self.unit
        gram = torch.exp(-self.between.double() / length)
        gram.diagonal().add_(candidate.noise * self.uncertain + 1e-6)
        factor = torch.linalg.cholesky(gram)
        coefficients = torch.cholesky_solve(self.earned[:, None], factor)[:, 0]
        evaluator = make_evaluator(self.asked.data, self.asked.probing, self.states)
        evaluator.to(self.references.device)
        evaluator.set_return_statistics(self.mean, self.std)
        lengths = (length, NEARBY * self.unit)
        evaluator.learn(self.references, self.earned, coefficients, lengths)
        return evaluator

    def judge(self, evaluators: Sequence[KernelEvaluator], places: Places) -> list[Judged]:
        """What each of them says of these policies."""
        distances = find_distances(self.asked.cut(places, self.states), self.references)
        nearest = distances.amin(1)
        return [
            Judged(*(one.double().cpu().numpy() for one in (*evaluator.weigh(distances), nearest)))
            for evaluator in evaluators
        ]
