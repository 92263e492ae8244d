"""Whether a user's own architecture is one: built again it is the same, and its forms agree."""

from __future__ import annotations

import dataclasses
import json

import torch

from litmus.errors import BadInput
from litmus.policies.architecture import (
    ARCHITECTURES,
    Architecture,
    architecture_from_json,
    architecture_to_json,
)
from litmus.policies.building import building_alone
from litmus.policies.population import evaluate_modules, flatten

STATES = 3
TOLERANCE = 1e-3
"""Of the largest action parameter: far beyond rounding, far below another network."""


def check_architecture(architecture: Architecture) -> None:
    """What workers, resume and evaluate will make of it must be what was asked for."""
    name = ARCHITECTURES.name_of(architecture)
    if not dataclasses.is_dataclass(architecture):
        raise BadInput(f"architecture '{name}' must be a dataclass: its fields are its options")
    ARCHITECTURES.require_findable(architecture)
    try:
        again = architecture_from_json(json.loads(json.dumps(architecture_to_json(architecture))))
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"architecture '{name}' cannot be built from its options: {error}"
        ) from error
    if again != architecture:
        raise BadInput(f"architecture '{name}' is another when it is built from its own options")
    _compare_forms(name, architecture)


def _compare_forms(name: str, architecture: Architecture) -> None:
    """The module is what the architecture is; faster forms must do the same."""
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(STATES, *architecture.state_shape, generator=generator)
    with building_alone(), torch.no_grad():
        rows = flatten(architecture.build()).unsqueeze(0)
        expected = evaluate_modules(architecture, rows, states)
        found = [architecture.population_actions(rows, states)]
        forward = architecture.make_numpy_forward(rows[0].numpy())
        if forward is not None:
            found.append(torch.from_numpy(forward(states.numpy())).unsqueeze(0))
    if rows.shape[1] != architecture.num_params:
        raise BadInput(
            f"architecture '{name}' says that it has {architecture.num_params} parameters and has "
            f"{rows.shape[1]}"
        )
    size = (1, STATES, architecture.head.size)
    if expected.shape != size:
        raise BadInput(
            f"architecture '{name}': for {STATES} states its network must put out "
            f"{list(size[1:])}, not {list(expected.shape[1:])}"
        )
    for form in found:
        if form is None:
            continue
        if form.shape != size or not torch.allclose(
            form, expected, rtol=0, atol=TOLERANCE * max(1.0, float(expected.abs().max()))
        ):
            raise BadInput(
                f"architecture '{name}': its network and a faster form of it do different things; "
                "make_numpy_forward and population_actions must do what build() does, or give None"
            )
