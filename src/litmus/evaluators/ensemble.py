"""Several fingerprint evaluators that judge together, with intervals and familiarity.

Each member has K probing states and a head of its own; a policy is asked in all of them at once.
`litmus fit` makes one from policies of many lineages and calibrates it (`calibration.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import torch
from torch import Tensor, nn

from litmus.errors import BadInput
from litmus.evaluators import EnsembleOptions
from litmus.evaluators.base import Estimate, Evaluator, make_head, rescale_head
from litmus.evaluators.calibration import Calibration
from litmus.policies.architecture import Architecture
from litmus.policies.grouped import GroupedPopulation
from litmus.policies.judgeable import Judgeable
from litmus.policies.population import Population
from litmus.policies.rows import Activation

MOST_MEMBERS, MOST_REFERENCES = 64, 100_000


class EnsembleEvaluator(Evaluator):
    Options = EnsembleOptions
    probing_states: nn.Parameter  # [members · K, *state], normalised coordinates
    action_units: Tensor  # [2, A]: centres and half ranges
    references: Tensor  # [R, members · K · A]: fingerprints of policies learned from
    distances: Tensor  # [C]: of policies of lineages that were left out, sorted
    calibration: Tensor  # [3]: floor, slope, quantile; zeros where it is not calibrated

    def __init__(
        self,
        state_shape: Sequence[int],
        members: int,
        num_probing_states: int,
        hidden: Sequence[int],
        action_units: Sequence[Sequence[float]],
        probing_range: Sequence[float] = (-1.0, 1.0),
        activation: Activation = "relu",
        num_references: int = 0,
        num_distances: int = 0,
        card: Mapping[str, Any] | None = None,
    ) -> None:
        """`card`: what is known of how good it is, as JSON."""
        super().__init__(state_shape)
        if not (1 <= members <= MOST_MEMBERS and 0 <= num_references <= MOST_REFERENCES):
            raise ValueError(f"{members} members with {num_references} references")
        self.members, self.num_probing_states = members, num_probing_states
        self.hidden, self.activation = tuple(hidden), activation
        self.probing_range = (float(probing_range[0]), float(probing_range[1]))
        self.card = dict(card or {})
        units = torch.tensor(action_units, dtype=torch.float32)
        self.num_actions = units.shape[1]
        self.register_buffer("action_units", units)
        low, high = self.probing_range
        drawn = torch.rand(members * num_probing_states, *self.state_shape)
        self.probing_states = nn.Parameter(drawn * (high - low) + low)
        inputs = num_probing_states * self.num_actions
        self.heads = nn.ModuleList(
            make_head(inputs, self.hidden, activation) for _ in range(members)
        )
        self.register_buffer("references", torch.zeros(num_references, members * inputs))
        self.register_buffer("distances", torch.zeros(num_distances, dtype=torch.float64))
        self.register_buffer("calibration", torch.zeros(3, dtype=torch.float64))

    @classmethod
    def design(cls, architecture: Architecture, options: EnsembleOptions) -> Self:
        return cls(
            architecture.state_shape,
            options.members,
            options.probing_states,
            options.evaluator_hidden,
            architecture.head.units.tolist(),
            (options.probing_low, options.probing_high),
            options.evaluator_activation,
        )

    @property
    def is_calibrated(self) -> bool:
        return bool(self.calibration[2] > 0)

    def fingerprints(self, population: Population) -> Tensor:  # [B, members · K · A]
        """In units of each action's half range."""
        states: Tensor = self.probing_states
        if population.takes_raw:
            states = self.to_observations(states)
        actions = population.actions(states)
        if actions.shape[2] != self.num_actions:
            raise BadInput(
                f"this evaluator was made for {self.num_actions} action parameters, and the policy "
                f"has {actions.shape[2]}"
            )
        center, half_range = self.action_units
        in_units: Tensor = (actions.to(center.dtype) - center) / half_range
        return in_units.flatten(1)

    def member_outputs(self, fingerprints: Tensor) -> Tensor:  # [B, …] -> [members, B]
        pieces = fingerprints.chunk(self.members, dim=1)
        outputs = [head(piece) for head, piece in zip(self.heads, pieces, strict=True)]
        return torch.stack(outputs).squeeze(-1)

    def output(self, population: Population) -> Tensor:  # [B]
        return self.member_outputs(self.fingerprints(population)).mean(0)

    def loss(self, population: Population, returns: Tensor, weights: Tensor) -> Tensor:
        """Each member's own squared error: they must not make up for each other."""
        outputs = self.member_outputs(self.fingerprints(population))
        error: Tensor = outputs - self.to_outputs(returns)
        return (weights * error.square()).sum()

    def rescale_output(self, factor: float, shift: float) -> None:
        for head in self.heads:
            assert isinstance(head, nn.Sequential)
            rescale_head(head, factor, shift)

    def remember(self, references: Tensor, calibration: Calibration | None) -> None:
        """Keep what familiarity and intervals are made from."""
        self.references = references.detach().clone()
        if calibration is not None:
            self.distances = torch.from_numpy(calibration.distances.copy())
            numbers = [calibration.floor, calibration.slope, calibration.quantile]
            self.calibration = torch.tensor(numbers, dtype=torch.float64)

    def distance(self, fingerprints: Tensor) -> Tensor:  # [B, F] -> [B]
        """From the nearest policy learned from."""
        width = fingerprints.shape[1]
        nearest: Tensor = torch.cdist(fingerprints, self.references).amin(1)
        scaled: Tensor = nearest / width**0.5
        return scaled

    def judge(self, fingerprints: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Mean output, half width of the interval and distance of each.  [B], [B], [B]

        In standard deviations of the returns; differentiable.
        """
        outputs = self.member_outputs(fingerprints)
        distance = self.distance(fingerprints)
        spread = outputs.std(0) if self.members > 1 else torch.zeros_like(outputs[0])
        floor, slope, quantile = self.calibration.to(outputs.dtype)
        scale = torch.sqrt(floor**2 + spread**2 + (slope * distance) ** 2)
        return outputs.mean(0), quantile * scale, distance

    def familiarity(self, distance: Tensor) -> Tensor:  # [B]
        """The share of left-out policies that were at least as far from what was learned."""
        below = torch.searchsorted(self.distances, distance.double().contiguous())
        count = len(self.distances)
        return (count - below + 1).double() / (count + 1)

    def predict(self, policies: Sequence[Judgeable]) -> Estimate:
        with torch.no_grad():
            fingerprints = self.fingerprints(GroupedPopulation(policies))
            if not self.is_calibrated:
                return Estimate(self.to_returns(self.member_outputs(fingerprints).mean(0)))
            mean, width, distance = self.judge(fingerprints)
            return Estimate(
                self.to_returns(mean),
                self.to_returns(mean - width),
                self.to_returns(mean + width),
                self.familiarity(distance),
            )

    def options(self) -> dict[str, Any]:
        return {
            "state_shape": list(self.state_shape),
            "members": self.members,
            "num_probing_states": self.num_probing_states,
            "hidden": list(self.hidden),
            "action_units": self.action_units.tolist(),
            "probing_range": list(self.probing_range),
            "activation": self.activation,
            "num_references": len(self.references),
            "num_distances": len(self.distances),
            "card": self.card,
        }
