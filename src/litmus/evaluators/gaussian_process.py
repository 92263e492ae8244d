"""A Gaussian process over fingerprints: V is solved for after each round, not learned in steps.

    fingerprint f   what a policy does in K probing states, in half ranges of the actions
    distance        d(f, g) = √(mean squared difference), in lengths
    likeness        k(f, g) = 0.8 exp(-d² / 2) + 0.2 exp(-d)
    V(θ)          = Σ_i α_i k(f, f_i)          over the newest N policies that were measured
                    α = (k(F, F) + noise · I)⁻¹ returns,      in standard deviations from their mean

The length and the noise are those of a few with which the newest policies would have been
predicted best from the others: how much of a return is luck is found, not set. Beside V the same
policies give the *merit*, which θ climbs: V of returns whose ends are drawn in, so that a few that
lie far off do not decide alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import Any, Self

import torch
from torch import Tensor

from litmus.evaluators import MOST_REMEMBERED, GaussianProcessOptions
from litmus.evaluators.base import MOST_STATES, Estimate, Evaluator, check_policies
from litmus.policies.architecture import Architecture
from litmus.policies.grouped import GroupedPopulation
from litmus.policies.judgeable import Judgeable
from litmus.policies.population import Population
from litmus.rollouts.machine import count_learning_cores

LENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""That are tried, in median distances between the policies learned from."""
NOISES = tuple(10 ** (exponent / 2) for exponent in range(-5, 4))
"""That are tried: the variance of luck, over that of what policies are worth."""
MOST_TRIED, PREDICTED = 256, 64
"""Newest policies that length and noise are chosen by, and those of them that are predicted."""
WORTH_THREADS = 96
"""Policies with which decompositions take longer than threads do to get under way."""
SOLVED_PER_CHOICE = 4
"""How often V is solved for with the same length and noise, once there are many policies."""
FAR_SHARE = 0.2
"""Of likeness, what falls slowly with distance: it keeps what older policies have taught."""
CORNER = 1e-6
"""Squared lengths: this near, likeness is round and has a gradient."""
NEAREST = 1e-12
"""Median squared distance: below it, policies do the same."""
INTERVAL = 1.6449
"""Standard deviations on either side that hold 90% of a normal distribution."""


class GaussianProcessEvaluator(Evaluator):
    Options = GaussianProcessOptions
    probing_states: Tensor  # [K, *state], normalised coordinates
    action_units: Tensor  # [2, A]: centres and half ranges
    references: Tensor  # [N, K · A]: fingerprints; the n-th ever stored is in row n % N
    earned: Tensor  # [N]: returns
    squares: Tensor  # [N, N]: squared distances between references
    coefficients: Tensor  # [2, N]: α of V and of the merit
    stored: Tensor
    """How many policies were ever stored, since it last forgot them."""
    solved: Tensor
    """How often V was solved for since then."""
    length: Tensor
    noise: Tensor
    unit: Tensor
    """Of squared distances: the median of those between policies learned from."""
    variance: Tensor
    """Of what policies are worth, in squared standard deviations of the returns."""

    def __init__(
        self,
        state_shape: Sequence[int],
        num_probing_states: int,
        action_units: Sequence[Sequence[float]],
        capacity: int,
        probing_range: Sequence[float] = (-1.7, 1.7),
    ) -> None:
        """`action_units`: centres [A] and half ranges [A]."""
        super().__init__(state_shape)
        if not (1 <= num_probing_states <= MOST_STATES and 2 <= capacity <= MOST_REMEMBERED):
            raise ValueError(f"{num_probing_states} states and {capacity} policies")
        units = torch.tensor(action_units, dtype=torch.float64)
        self.num_actions, self.capacity = units.shape[1], capacity
        self.probing_range = (float(probing_range[0]), float(probing_range[1]))
        low, high = self.probing_range
        drawn = torch.rand(num_probing_states, *self.state_shape)
        self.probing_states = drawn * (high - low) + low
        width = num_probing_states * self.num_actions
        self.register_buffer("action_units", units)
        sizes = {
            "references": (capacity, width),
            "earned": (capacity,),
            "squares": (capacity, capacity),
            "coefficients": (2, capacity),
            **dict.fromkeys(("length", "noise", "unit", "variance"), ()),
        }
        for name, size in sizes.items():
            self.register_buffer(name, torch.zeros(size, dtype=torch.float64))
        for name in ("stored", "solved"):
            self.register_buffer(name, torch.zeros((), dtype=torch.int64))

    @classmethod
    def design(cls, architecture: Architecture, options: GaussianProcessOptions) -> Self:
        return cls(
            architecture.state_shape,
            options.probing_states,
            architecture.head.units.tolist(),
            options.remembered_policies,
            (options.probing_low, options.probing_high),
        )

    @property
    def learns_probing_states(self) -> bool:
        return False  # they stay as they were drawn

    def __len__(self) -> int:
        """How many policies it has learned from, or will when it is solved for."""
        return min(int(self.stored), self.capacity)

    def fingerprints(self, population: Population) -> Tensor:  # [B, K · A], float64
        return self._in_units(self.ask(population, self.num_actions))

    def _in_units(self, actions: Tensor) -> Tensor:  # [B, K, A] -> [B, K · A]
        center, half_range = self.action_units
        in_units: Tensor = (actions.to(center.dtype) - center) / half_range
        return in_units.flatten(1)

    def remember(self, fingerprints: Tensor, returns: Tensor) -> None:  # [B, K · A], [B]
        """Policies and what each earned, oldest first; of the ones before, the oldest make room."""
        count = min(len(returns), self.capacity)
        first = int(self.stored) + len(returns) - count
        rows = torch.arange(first, first + count, device=self.stored.device) % self.capacity
        self.references[rows] = fingerprints[-count:]
        self.earned[rows] = returns[-count:].to(self.earned)
        squares = self._find_squares(self.references[rows])
        self.squares[rows] = squares
        self.squares[:, rows] = squares.T
        self.stored += len(returns)

    def forget(self) -> None:
        """Everything that it has learned from."""
        for tensor in (self.stored, self.solved, self.coefficients):
            tensor.zero_()

    def solve(self) -> None:
        """Find V for what is remembered."""
        count = len(self)
        earned = self.earned[:count]
        if not bool(earned.min() < earned.max()):  # they tell nothing of what policies are worth
            self.return_mean.fill_(earned[0])
            self.coefficients.zero_()
            return
        self.set_return_statistics(float(earned.mean()), float(earned.std(correction=0)))
        targets = torch.stack([self.to_outputs(earned).double(), find_merits(earned)])  # [2, n]
        if self.solved % SOLVED_PER_CHOICE == 0 or count < MOST_TRIED // 2:
            self._choose(targets[1].float())
        self.solved += 1
        self.coefficients.zero_()
        self.coefficients[:, :count] = torch.cholesky_solve(targets.T, self._factorize()).T
        self.variance.fill_((targets[0] * self.coefficients[0, :count]).mean())

    def _factorize(self) -> Tensor:  # [n, n]
        """The root of what is inverted."""
        count = len(self)
        gram = self._compare(self.squares[:count, :count])
        gram.diagonal().add_(self.noise)
        root: Tensor = torch.linalg.cholesky(gram)
        return root

    def _choose(self, targets: Tensor) -> None:
        """Length and noise with which each of the newest would have been predicted best."""
        stored = int(self.stored)
        some = torch.arange(stored - min(len(self), MOST_TRIED), stored, device=targets.device)
        some %= self.capacity
        squares, targets = self.squares[some][:, some], targets[some] - targets[some].mean()
        # The median of what is not on the diagonal, whose zeros come before.
        middle = len(some) * (len(some) + 1) // 2
        self.unit.fill_(squares.flatten().kthvalue(middle).values.clamp_min(NEAREST))
        squares = squares.float()  # enough to tell lengths and noises apart, and fast

        def try_length(length: float) -> tuple[Tensor, ...]:
            return decompose(self._compare(squares, length), targets)

        each = start_threads().map if len(some) >= WORTH_THREADS else map
        tried = (torch.stack(parts) for parts in zip(*each(try_length, LENGTHS), strict=True))
        best = int(find_likelihoods(*tried).nan_to_num(-math.inf).argmax())
        self.length.fill_(LENGTHS[best // len(NOISES)])
        self.noise.fill_(NOISES[best % len(NOISES)])

    def _compare(self, squares: Tensor, length: float | Tensor | None = None) -> Tensor:
        """Likeness, from squared distances of any shape."""
        length = self.length if length is None else length
        squares = squares / (self.unit * length**2)
        near, far = (squares * -0.5).exp_(), (squares + CORNER).sqrt_().neg().exp_()
        return (near * (1 - FAR_SHARE)).add_(far * FAR_SHARE)

    def _find_squares(self, fingerprints: Tensor) -> Tensor:  # [B, F] -> [B, N]
        references = self.references
        products = fingerprints @ references.T
        sums = fingerprints.square().sum(1)[:, None] + references.square().sum(1)
        return (sums - 2 * products).clamp_min(0) / references.shape[1]

    def _weigh(self, fingerprints: Tensor, which: int) -> Tensor:  # [B, F] -> [B]
        if not self.solved:
            return fingerprints.sum(1) * 0
        return self._compare(self._find_squares(fingerprints)) @ self.coefficients[which]

    def output(self, population: Population) -> Tensor:  # [B]
        return self._weigh(self.fingerprints(population), 0)

    def merit(self, fingerprints: Tensor) -> Tensor:  # [B, F] -> [B]
        """What θ climbs."""
        return self._weigh(fingerprints, 1)

    def find_slope(self, fingerprints: Tensor) -> Tensor:  # [B, F] -> [B, F]
        """The gradient of the merit."""
        unit = self.unit * self.length**2
        squares = self._find_squares(fingerprints) / unit
        near, root = (squares * -0.5).exp_(), (squares + CORNER).sqrt_()
        slopes = (1 - FAR_SHARE) * near + FAR_SHARE * root.neg().exp_() / root
        weights = self.coefficients[1] * slopes  # [B, N]
        away = weights.sum(1, keepdim=True) * fingerprints - weights @ self.references
        return away / (-unit * fingerprints.shape[1])

    def measure_loss(self, fingerprints: Tensor, returns: Tensor) -> float:  # [B, F], [B]
        """The mean squared error of V; while it knows nothing, that of the mean of these."""
        said = self.value_of(fingerprints) if self.solved else returns.mean()
        return float((said - returns).square().mean())

    def value_of_actions(self, actions: Tensor) -> Tensor:  # [B, K, A] -> [B]
        """V of policies that do this in the probing states."""
        return self.value_of(self._in_units(actions))

    def value_of(self, fingerprints: Tensor) -> Tensor:  # [B, F] -> [B]
        return self.to_returns(self._weigh(fingerprints, 0))

    def judge(self, fingerprints: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Output, half width of the interval and familiarity.  [B], [B], [B]

        In standard deviations of the returns; differentiable.
        """
        outputs, count = self._weigh(fingerprints, 0), len(self)
        if not self.solved:
            return outputs, torch.full_like(outputs, math.inf), torch.zeros_like(outputs)
        likeness = self._compare(self._find_squares(fingerprints)[:, :count])
        solved = torch.cholesky_solve(likeness.T, self._factorize())
        familiarity = (likeness * solved.T).sum(1).clamp(0, 1)
        width = INTERVAL * torch.sqrt(self.variance * (1 - familiarity) + 1e-12)
        return outputs, width, familiarity

    def predict(self, policies: Sequence[Judgeable]) -> Estimate:
        """With 90% intervals for what the policy is worth, luck aside, as far as policies that do
        much the same tell."""
        check_policies(policies)
        with torch.no_grad():
            fingerprints = self.fingerprints(GroupedPopulation(policies))
            if not self.solved:
                return Estimate(self.to_returns(self._weigh(fingerprints, 0)))
            outputs, width, familiarity = self.judge(fingerprints)
        low, high = self.to_returns(outputs - width), self.to_returns(outputs + width)
        return Estimate(self.to_returns(outputs), low, high, familiarity)

    def options(self) -> dict[str, Any]:
        return {
            "state_shape": list(self.state_shape),
            "num_probing_states": len(self.probing_states),
            "action_units": self.action_units.tolist(),
            "capacity": self.capacity,
            "probing_range": list(self.probing_range),
        }


@lru_cache(maxsize=1)
def start_threads() -> ThreadPoolExecutor:
    """For decompositions beside each other; one core each, since the last bits depend on it."""
    cores = count_learning_cores()
    return ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,))


def decompose(gram: Tensor, targets: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Eigenvalues [N], targets in the basis of the eigenvectors [N], the newest in it [M, N]."""
    eigenvalues, vectors = torch.linalg.eigh(gram)
    return eigenvalues, targets @ vectors, vectors[-PREDICTED:]


def find_likelihoods(
    eigenvalues: Tensor, turned: Tensor, newest: Tensor
) -> Tensor:  # [L, N], [L, N], [L, M, N] -> [L, NOISES]
    """Of the newest targets, each predicted from all the others, with each of the noises."""
    noises = torch.tensor(NOISES, dtype=turned.dtype, device=turned.device)
    weights = 1 / (eigenvalues.clamp_min(0)[..., None] + noises)  # [L, N, NOISES]
    turned = turned[..., None]
    certainty = newest.square() @ weights  # the diagonal of the inverse
    errors = (newest @ (turned * weights)) / certainty  # each left out
    variances = (turned.square() * weights).mean(-2, keepdim=True) / certainty
    likelihoods: Tensor = -(variances.log() + errors.square() / variances).sum(-2)
    return likelihoods


def find_merits(returns: Tensor) -> Tensor:  # [N], float64 -> [N]
    """Halfway between returns, in standard deviations from their mean, and their normal scores:
    where each would lie if returns were normally distributed."""
    standardized = (returns - returns.mean()) / returns.std(correction=0)
    _, inverse, counts = torch.unique(returns, return_inverse=True, return_counts=True)
    middle = counts.cumsum(0).double() - counts.double() / 2  # of those that are equal
    scores = math.sqrt(2) * torch.erfinv(2 * middle[inverse] / len(returns) - 1)
    return (standardized + scores) / 2
