"""A kernel over fingerprints: a policy is worth what policies that do the same things earned.

    fingerprint f   what a policy does in K probing states, in half ranges of the actions
    distance        d(f, g) = √(mean squared difference)
    V(θ)          = level + Σ_i α_i exp(-d(f, f_i) / length)       over the policies learned from
    spread        = of the returns of those policies, weighted by exp(-d(f, f_i) / nearby)

`litmus fit` solves for α and calibrates intervals (`calibration.py`). Probing states are those
that policies visited; nothing is learned by gradient, and V is differentiable in the policy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor

from litmus.errors import BadInput, command
from litmus.evaluators.base import MOST_STATES, Estimate, Evaluator, check_policies
from litmus.evaluators.calibration import Calibration
from litmus.policies.architecture import Architecture
from litmus.policies.grouped import GroupedPopulation
from litmus.policies.judgeable import Judgeable
from litmus.policies.population import Population
from litmus.registry import NoOptions

MOST_REFERENCES = 100_000
CORNER = 0.02
"""Below this distance the kernel is round: it has a gradient at the policies learned from."""


class KernelEvaluator(Evaluator):
    Options = NoOptions
    probing_states: Tensor  # [K, *state], normalised coordinates
    action_units: Tensor  # [2, A]: centres and half ranges
    references: Tensor  # [N, K · A]: fingerprints of the policies learned from
    earned: Tensor  # [N]: their returns, in standard deviations from the mean
    coefficients: Tensor  # [N]: α
    lengths: Tensor  # [2]: of the kernel, and of what is nearby
    level: Tensor
    distances: Tensor  # [C]: of policies of lineages that were left out, sorted
    calibration: Tensor  # [3]: floor, slope, quantile; zeros where it is not calibrated

    def __init__(
        self,
        state_shape: Sequence[int],
        num_probing_states: int,
        action_units: Sequence[Sequence[float]],
        num_references: int = 0,
        num_distances: int = 0,
        card: Mapping[str, Any] | None = None,
    ) -> None:
        """`card`: what is known of how good it is, as JSON."""
        super().__init__(state_shape)
        if not (1 <= num_probing_states <= MOST_STATES and 0 <= num_references <= MOST_REFERENCES):
            raise ValueError(f"{num_probing_states} states and {num_references} references")
        self.card = dict(card or {})
        units = torch.tensor(action_units, dtype=torch.float32)
        self.num_actions = units.shape[1]
        width = num_probing_states * self.num_actions
        self.probing_states = torch.zeros(num_probing_states, *self.state_shape)
        self.register_buffer("action_units", units)
        self.register_buffer("references", torch.zeros(num_references, width))
        self.register_buffer("earned", torch.zeros(num_references))
        self.register_buffer("coefficients", torch.zeros(num_references))
        self.register_buffer("lengths", torch.ones(2))
        self.register_buffer("level", torch.zeros(()))
        self.register_buffer("distances", torch.zeros(num_distances, dtype=torch.float64))
        self.register_buffer("calibration", torch.zeros(3, dtype=torch.float64))

    @classmethod
    def design(cls, architecture: Architecture, options: NoOptions) -> Self:
        raise BadInput(
            f"a kernel evaluator is not trained in a run; {command('fit', 'RUN')} makes one"
        )

    @property
    def is_calibrated(self) -> bool:
        return bool(self.calibration[2] > 0)

    def learn(
        self, references: Tensor, earned: Tensor, coefficients: Tensor, lengths: tuple[float, float]
    ) -> None:
        """Keep what `judging/kernels.py` solved for."""
        self.references, self.earned = references.float(), earned.float()
        self.coefficients = coefficients.float()
        self.lengths = torch.tensor(lengths, dtype=torch.float32, device=references.device)

    def calibrate(self, calibration: Calibration) -> None:
        self.distances = torch.from_numpy(calibration.distances.copy())
        numbers = [calibration.floor, calibration.slope, calibration.quantile]
        self.calibration = torch.tensor(numbers, dtype=torch.float64)

    def fingerprints(self, population: Population) -> Tensor:  # [B, K · A]
        center, half_range = self.action_units
        actions = self.ask(population, self.num_actions).to(center.dtype)
        in_units: Tensor = (actions - center) / half_range
        return in_units.flatten(1)

    def output(self, population: Population) -> Tensor:  # [B]
        return self.weigh(find_distances(self.fingerprints(population), self.references))[0]

    def weigh(self, distances: Tensor) -> tuple[Tensor, Tensor]:  # [B, N] -> [B], [B]
        """V's output, and the spread of what was earned nearby."""
        outputs = torch.exp(-distances / self.lengths[0]) @ self.coefficients + self.level
        weights = torch.softmax(-distances / self.lengths[1], dim=1)
        mean = weights @ self.earned
        variance = (weights * (self.earned - mean[:, None]).square()).sum(1)
        return outputs, (variance + 1e-12).sqrt()

    def rescale_output(self, factor: float, shift: float) -> None:
        self.coefficients *= factor
        self.level.mul_(factor).add_(shift)
        self.earned.mul_(factor).add_(shift)

    def judge(self, fingerprints: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Output, half width of the interval and distance from the nearest.  [B], [B], [B]

        In standard deviations of the returns; differentiable.
        """
        distances = find_distances(fingerprints, self.references)
        outputs, spread = self.weigh(distances)
        nearest = distances.amin(1)
        floor, slope, quantile = self.calibration.to(outputs.dtype)
        scale = torch.sqrt(floor**2 + spread**2 + (slope * nearest) ** 2)
        return outputs, quantile * scale, nearest

    def familiarity(self, distance: Tensor) -> Tensor:  # [B]
        """The share of left-out policies that were at least as far from what was learned."""
        below = torch.searchsorted(self.distances, distance.double().contiguous())
        count = len(self.distances)
        return (count - below + 1).double() / (count + 1)

    def predict(self, policies: Sequence[Judgeable]) -> Estimate:
        check_policies(policies)
        with torch.no_grad():
            fingerprints = self.fingerprints(GroupedPopulation(policies))
            outputs, width, distance = self.judge(fingerprints)
            if not self.is_calibrated:
                return Estimate(self.to_returns(outputs))
            return Estimate(
                self.to_returns(outputs),
                self.to_returns(outputs - width),
                self.to_returns(outputs + width),
                self.familiarity(distance),
            )

    def options(self) -> dict[str, Any]:
        return {
            "state_shape": list(self.state_shape),
            "num_probing_states": len(self.probing_states),
            "action_units": self.action_units.tolist(),
            "num_references": len(self.references),
            "num_distances": len(self.distances),
            "card": self.card,
        }


def find_distances(fingerprints: Tensor, references: Tensor) -> Tensor:  # [B, F], [N, F] -> [B, N]
    """Root of the mean squared difference, rounded off near zero."""
    products = fingerprints @ references.T
    squares = fingerprints.square().sum(1)[:, None] + references.square().sum(1) - 2 * products
    distances: Tensor = torch.sqrt(squares.clamp_min(0) / references.shape[1] + CORNER**2)
    return distances
