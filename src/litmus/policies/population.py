"""Many policies that can be asked together.

One architecture in rows of flat parameters works for any `nn.Module` through `torch.func`; an
architecture with a faster way of its own is asked first, and tested to do the same. Policies of
mixed kinds are asked one after the other.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from litmus.errors import BadInput
from litmus.policies.architecture import Architecture
from litmus.policies.building import building_alone
from litmus.policies.judgeable import Judgeable, ask, check_state_shape
from litmus.policies.normalizer import Normalizer, TensorNormalizer
from litmus.policies.rows import Rows, stack_rows


class Population(Protocol):
    """B policies."""

    @property
    def takes_raw(self) -> bool:
        """Whether its policies take raw observations; else states that are normalised as theirs
        are."""

    def __len__(self) -> int: ...

    def actions(self, states: Tensor) -> Tensor:  # [K, *state] -> [B, K, A]
        """What each policy does in each state; differentiable where its members are."""


@dataclass(frozen=True)
class FlatPopulation:
    """Policies of one architecture; with a normaliser that they share, of raw observations."""

    architecture: Architecture
    rows: Rows  # [B, P]
    normalizer: Normalizer | TensorNormalizer | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def device(self) -> torch.device:
        return self.rows[0].device

    def select(self, places: Sequence[int]) -> FlatPopulation:
        """Some of them, in this order."""
        rows = tuple(self.rows[place] for place in places)
        return FlatPopulation(self.architecture, rows, self.normalizer)

    @property
    def takes_raw(self) -> bool:
        return self.normalizer is not None

    @property
    def flat_params(self) -> Tensor:  # [B, P]
        return stack_rows(self.rows)

    def actions(self, states: Tensor) -> Tensor:  # [K, *state] -> [B, K, A]
        check_state_shape(self.architecture.state_shape, states)
        if self.normalizer is not None:
            states = self.normalizer.normalize(states).to(self.rows[0].dtype)
        actions = self.architecture.population_actions(self.rows, states)
        if actions is None:
            return evaluate_modules(self.architecture, self.flat_params, states)
        return actions


@dataclass(frozen=True)
class MixedPopulation:
    """Policies of any kind, each with its own way from a raw observation to action parameters."""

    policies: Sequence[Judgeable]

    takes_raw = True

    def __len__(self) -> int:
        return len(self.policies)

    def actions(self, states: Tensor) -> Tensor:  # [K, *state] -> [B, K, A]
        actions = [ask(policy, states) for policy in self.policies]
        if len({one.shape for one in actions}) > 1:
            sizes = sorted({one.shape[1] for one in actions})
            raise BadInput(f"these policies have different numbers of action parameters: {sizes}")
        return torch.stack(actions)


def evaluate_modules(
    architecture: Architecture, flat_params: Tensor, states: Tensor
) -> Tensor:  # [B, P], [K, *state] -> [B, K, A]
    """The way that works for every module: `functional_call` under `vmap`."""
    # A call puts the parameters into the module for its time: no two threads may share one.
    thread = threading.get_ident()
    module = _build_module(cast(Hashable, architecture), flat_params.device, thread)

    def evaluate_one(row: Tensor) -> Tensor:  # [P] -> [K, A]
        actions: Tensor = functional_call(module, unflatten(module, row), (states,))
        return actions

    return vmap(evaluate_one)(flat_params)


def unflatten(module: nn.Module, flat_params: Tensor) -> dict[str, Tensor]:  # [P]
    """Cut flat parameters into the module's named ones, in the order of `parameters()`."""
    named = list(module.named_parameters())
    pieces = torch.split(flat_params, [parameter.numel() for _, parameter in named])
    return {
        name: piece.view(parameter.shape)
        for (name, parameter), piece in zip(named, pieces, strict=True)
    }


def flatten(module: nn.Module) -> Tensor:  # [P]
    """Return a copy of the module's parameters as one vector."""
    return torch.cat([parameter.detach().reshape(-1) for parameter in module.parameters()])


def load_flat(module: nn.Module, flat_params: Tensor) -> None:
    """Write flat parameters into the module."""
    with torch.no_grad():
        for name, value in unflatten(module, flat_params).items():
            module.get_parameter(name).copy_(value)


@lru_cache(maxsize=16)
def _build_module(architecture: Hashable, device: torch.device, thread: int) -> nn.Module:
    with building_alone():
        module: nn.Module = cast(Architecture, architecture).build()
    return module.to(device).requires_grad_(False)
