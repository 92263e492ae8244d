"""What every evaluator is: a module from a population to predicted training returns.

Vanilla and fingerprint PSSVF differ by this object only. Saved as safetensors with JSON beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from litmus.files import load_module, write_json, write_tensors
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import Population

FORMAT = 1
EvaluatorKind = Literal["fingerprint", "flat"]


class Evaluator(nn.Module):
    """V(θ). `mean` and `std` are the normaliser that its training policies shared."""

    kind: EvaluatorKind
    probing_states: Tensor | None  # [K, *state], where the evaluator asks any
    mean: Tensor
    std: Tensor

    def __init__(self, state_shape: Sequence[int]) -> None:
        super().__init__()
        self.state_shape = tuple(state_shape)
        self.register_buffer("mean", torch.zeros(self.state_shape, dtype=torch.float64))
        self.register_buffer("std", torch.ones(self.state_shape, dtype=torch.float64))

    def value(self, population: Population) -> Tensor:  # [B]
        """Predicted training return of each policy; differentiable in θ and in this module."""
        raise NotImplementedError

    def score(self, policy: Policy) -> float:
        """Predicted training return of one policy, as a function of raw observations."""
        raise NotImplementedError

    def options(self) -> dict[str, Any]:
        """The arguments that build an evaluator of this shape again."""
        raise NotImplementedError

    def set_normalizer(self, normalizer: Normalizer) -> None:
        self.mean.copy_(torch.from_numpy(normalizer.mean.reshape(self.state_shape)))
        self.std.copy_(torch.from_numpy(normalizer.std.reshape(self.state_shape)))

    def save(self, path: Path) -> None:
        """Write `path` (safetensors) and the JSON beside it."""
        write_tensors(path, dict(self.state_dict()))
        description = {"format": FORMAT, "kind": self.kind, "options": self.options()}
        write_json(path.with_suffix(".json"), description)


def make_head(inputs: int, hidden: Sequence[int]) -> nn.Sequential:
    """The MLP that turns a fingerprint, or flat parameters, into one number. ReLU, as the paper."""
    layers: list[nn.Module] = []
    for width in hidden:
        layers += [nn.Linear(inputs, width), nn.ReLU()]
        inputs = width
    return nn.Sequential(*layers, nn.Linear(inputs, 1))


def build_evaluator(kind: str, options: dict[str, Any]) -> Evaluator:
    """Build an untrained evaluator from what `kind` and `options()` said."""
    from litmus.evaluators.fingerprint import FingerprintEvaluator
    from litmus.evaluators.flat import FlatEvaluator

    kinds: dict[str, type[Evaluator]] = {
        "fingerprint": FingerprintEvaluator,
        "flat": FlatEvaluator,
    }
    return kinds[kind](**options)


def load_evaluator(path: Path | str) -> Evaluator:
    """Read an evaluator that `Evaluator.save` wrote."""
    return load_module(
        Path(path),
        "an evaluator",
        FORMAT,
        lambda description: build_evaluator(description["kind"], description["options"]),
    )


def denormalize(states: Tensor, mean: Tensor, std: Tensor) -> Tensor:  # [K, *state]
    """Map states from normalised coordinates back to raw observations."""
    return states.to(torch.float64) * std + mean
