"""Many policies of one architecture, as rows of flat parameters.

Works for any `nn.Module` through `torch.func`; an architecture with a faster way of its own is
asked first, and tested to give the same answers.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from litmus.native.perceptrons import Rows
from litmus.policies.architecture import Architecture


@dataclass(frozen=True)
class Population:
    """B policies."""

    architecture: Architecture
    rows: Rows  # [B, P]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def flat_params(self) -> Tensor:  # [B, P]
        return self.rows if isinstance(self.rows, Tensor) else torch.stack(self.rows)

    def actions(self, states: Tensor) -> Tensor:  # [K, *state] -> [B, K, A]
        """What each policy does in each of the (normalised) states; differentiable in both."""
        takes_rows = getattr(self.architecture, "takes_rows", False)
        rows: Any = self.rows if takes_rows else self.flat_params
        answers = self.architecture.population_actions(rows, states)
        if answers is None:
            return evaluate_modules(self.architecture, self.flat_params, states)
        return answers


def evaluate_modules(
    architecture: Architecture, flat_params: Tensor, states: Tensor
) -> Tensor:  # [B, P], [K, *state] -> [B, K, A]
    """The way that works for every module: `functional_call` under `vmap`."""
    module = _build_module(cast(Hashable, architecture), flat_params.device)

    def evaluate_one(row: Tensor) -> Tensor:  # [P] -> [K, A]
        answers: Tensor = functional_call(module, unflatten(module, row), (states,))
        return answers

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
def _build_module(architecture: Hashable, device: torch.device) -> nn.Module:
    module: nn.Module = cast(Architecture, architecture).build()
    return module.to(device).requires_grad_(False)
