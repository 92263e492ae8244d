"""What a policy network looks like, in words that can be saved and sent to a worker.

An architecture knows its sizes and how to build the `torch.nn.Module`; it may also offer a
torch-free forward pass for the workers and a faster way to evaluate many policies at once. Adding
one is one new file and one line in `ARCHITECTURES`. This module does not import torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from litmus.policies.actions import ActionHead, actions_from_json, actions_to_json
from litmus.registry import Entry, Registry

if TYPE_CHECKING:
    import torch

    from litmus.policies.rows import Rows

Forward = Callable[[NDArray[np.float32]], NDArray[np.float32]]
"""From normalised states, [D] or [N, D], to action parameters, [A] or [N, A]."""


class Architecture(Protocol):
    """A family of policies that differ by their flat parameters [P] only.

    A frozen dataclass: its fields besides state shape and head are its options.
    """

    state_shape: tuple[int, ...]
    head: ActionHead

    @property
    def num_params(self) -> int:
        """P."""

    def build(self) -> torch.nn.Module:
        """Return the network, from normalised states [N, *state] to action parameters [N, A]."""

    def make_numpy_forward(self, flat_params: NDArray[np.float32]) -> Forward | None:
        """Return a torch-free forward pass, or None where there is none."""

    def population_actions(
        self, rows: Rows, states: torch.Tensor
    ) -> torch.Tensor | None:  # [B, P], [K, *state] -> [B, K, A]
        """Evaluate many policies at once faster than `torch.func` does, or None.

        `stack_rows` makes one tensor of the rows.
        """


ARCHITECTURES = Registry(
    "architecture",
    {
        "mlp": Entry(
            "litmus.policies.mlp:MlpArchitecture",
            "multi-layer perceptron; without hidden units, a linear policy",
        ),
        "cnn": Entry(
            "litmus.policies.cnn:CnnArchitecture",
            "convolutions and a linear layer, for states that are images",
        ),
        "foreign-mlp": Entry(
            "litmus.policies.foreign_mlp:ForeignMlpArchitecture",
            "perceptron as other libraries build them, as with clipped actions",
        ),
    },
    provided=("state_shape", "head"),
)


def make_architecture(
    name: str, state_shape: Sequence[int], head: ActionHead, **options: Any
) -> Architecture:
    factory = ARCHITECTURES.find(name).load()
    return cast(Architecture, factory(tuple(state_shape), head, **options))


def architecture_to_json(architecture: Architecture) -> dict[str, Any]:
    return {
        "name": ARCHITECTURES.name_of(architecture),
        "state_shape": list(architecture.state_shape),
        "distribution": architecture.head.distribution,
        "actions": actions_to_json(architecture.head.actions),
        "options": {
            field.name: getattr(architecture, field.name)
            for field in dataclasses.fields(architecture)  # type: ignore[arg-type]
            if field.init and field.name not in ARCHITECTURES.provided
        },
    }


def architecture_from_json(data: dict[str, Any]) -> Architecture:
    head = ActionHead(data["distribution"], actions_from_json(data["actions"]))
    options = {
        name: tuple(value) if isinstance(value, list) else value  # JSON has no tuples
        for name, value in data["options"].items()
    }
    return make_architecture(data["name"], data["state_shape"], head, **options)
