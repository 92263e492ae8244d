"""Policies of mixed architectures and normalisers, asked together: one batch per architecture.

A perceptron's normaliser goes into its first layer, W (s - mean) / std + b = W' s + b', so that
policies with different ones become rows of one population.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from litmus.errors import BadInput
from litmus.policies.architecture import Architecture
from litmus.policies.foreign_mlp import ForeignMlpArchitecture
from litmus.policies.judgeable import Judgeable, ask
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import FlatPopulation


@dataclass(frozen=True)
class RawPolicy:
    """Parameters of a policy of raw observations: what is left of it where many are kept."""

    architecture: Architecture
    flat_params: Tensor  # [P]
    normalizer: Normalizer | None
    """None where it is in the first layer already."""

    @staticmethod
    def of(
        architecture: Architecture, flat_params: NDArray[np.float32], normalizer: Normalizer
    ) -> RawPolicy:
        """`flat_params` [P] become its own."""
        if can_fold(architecture):
            fold_normalizer(architecture, flat_params, normalizer)
            return RawPolicy(architecture, torch.from_numpy(flat_params), None)
        return RawPolicy(architecture, torch.from_numpy(flat_params), normalizer)

    def to(self, device: torch.device) -> RawPolicy:
        return RawPolicy(self.architecture, self.flat_params.to(device), self.normalizer)


class GroupedPopulation:
    """B policies, each a `RawPolicy` or anything else that can be judged."""

    takes_raw = True

    def __init__(self, policies: Sequence[RawPolicy | Judgeable]) -> None:
        self.policies = [_flatten(policy) for policy in policies]
        self._groups: dict[Hashable, list[int]] = {}
        for place, policy in enumerate(self.policies):
            alone: Hashable = place
            if isinstance(policy, RawPolicy) and policy.normalizer is None:
                alone = cast(Hashable, policy.architecture)
            self._groups.setdefault(alone, []).append(place)

    def __len__(self) -> int:
        return len(self.policies)

    def actions(self, states: Tensor) -> Tensor:  # [K, *state] -> [B, K, A]
        found, places = [], []
        for group in self._groups.values():
            found.append(self._ask(group, states))
            places += group
        if not all(bool(one.isfinite().all()) for one in found):
            raise BadInput("a policy's action parameters are not all finite numbers")
        sizes = sorted({one.shape[2] for one in found})
        if len(sizes) > 1:
            raise BadInput(f"these policies have different numbers of action parameters: {sizes}")
        if len(found) == 1:
            return found[0]
        order = torch.empty(len(places), dtype=torch.long, device=found[0].device)
        order[torch.tensor(places, device=order.device)] = torch.arange(
            len(places), device=order.device
        )
        return torch.cat(found).index_select(0, order)

    def _ask(self, group: Sequence[int], states: Tensor) -> Tensor:
        first = self.policies[group[0]]
        if not isinstance(first, RawPolicy):
            return ask(first, states).unsqueeze(0)
        members = [cast(RawPolicy, self.policies[place]) for place in group]
        rows = tuple(member.flat_params for member in members)
        own = first.normalizer or Normalizer.identity(first.architecture.state_shape)
        return FlatPopulation(first.architecture, rows, own).actions(states)


def _flatten(policy: RawPolicy | Judgeable) -> RawPolicy | Judgeable:
    """A policy of litmus can be asked together with others of its kind."""
    if isinstance(policy, Policy) and not _wants_gradient(policy):
        # Through numpy: a thousand small copies are faster without torch's threads.
        pieces = [one.detach().cpu().numpy().ravel() for one in policy.network.parameters()]
        return RawPolicy.of(policy.architecture, np.concatenate(pieces), policy.normalizer)
    return policy


def _wants_gradient(policy: Policy) -> bool:
    return torch.is_grad_enabled() and any(one.requires_grad for one in policy.parameters())


def can_fold(architecture: Architecture) -> bool:
    if isinstance(architecture, ForeignMlpArchitecture):
        return not architecture.observation_clip
    return isinstance(architecture, MlpArchitecture)


def fold_normalizer(
    architecture: Architecture, flat_params: NDArray[np.float32], normalizer: Normalizer
) -> None:
    """Make flat parameters [P], in place, those of the same policy of raw observations."""
    assert isinstance(architecture, MlpArchitecture | ForeignMlpArchitecture)
    inputs, outputs = architecture.shape.layer_sizes[0]
    end = inputs * outputs
    weight = flat_params[:end].reshape(outputs, inputs).astype(np.float64) / normalizer.std
    flat_params[:end] = weight.ravel()
    flat_params[end : end + outputs] -= (weight @ normalizer.mean).astype(np.float32)
