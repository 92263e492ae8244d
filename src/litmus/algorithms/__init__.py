"""HOW IT LEARNS: the registry of algorithms. Adding one is one new file and one line here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from litmus.config import ArsConfig, DdpgConfig, PssvfConfig, TrainConfig
from litmus.errors import BadInput
from litmus.evaluators import EVALUATORS
from litmus.option_list import Option, list_options
from litmus.policies.architecture import ARCHITECTURES
from litmus.registry import Entry, Registry

ALGORITHMS = Registry(
    "algorithm",
    {
        "pssvf": Entry(
            "litmus.algorithms.acceleration:make_fast_pssvf",
            "PSSVF with policy fingerprinting: the paper's method",
            PssvfConfig,
        ),
        "vanilla-pssvf": Entry(
            "litmus.algorithms.acceleration:make_fast_pssvf",
            "PSSVF that reads flat policy parameters, not probing actions",
            PssvfConfig,
            {"evaluator": "flat"},
        ),
        "ars": Entry(
            "litmus.algorithms.ars:Ars",
            "augmented random search: the paper's baseline, no evaluator",
            ArsConfig,
        ),
        "ddpg": Entry(
            "litmus.algorithms.ddpg_acceleration:make_fast_ddpg",
            "deep deterministic policy gradient: the paper's second baseline",
            DdpgConfig,
            side_by_side=True,
        ),
    },
)

CHOICES: Mapping[str, Registry] = {"architecture": ARCHITECTURES, "evaluator": EVALUATORS}
"""What a configuration chooses by name, and from where."""


def find_config_type(algorithm: str) -> type[TrainConfig]:
    found = ALGORITHMS.find(algorithm).find_options()
    if not issubclass(found, TrainConfig):
        raise BadInput(f"algorithm '{algorithm}' must say in `Options` which TrainConfig it takes")
    return found


def find_options(algorithm: str, values: Mapping[str, Any]) -> dict[str, Option]:
    """Every option of the algorithm, and of the architecture and evaluator that it is given."""
    merged = {**ALGORITHMS.find(algorithm).defaults, **values}
    return list_options(find_config_type(algorithm), merged, CHOICES)


def read_config(algorithm: str, values: Mapping[str, Any]) -> TrainConfig:
    """Build the algorithm's configuration from plain values."""
    config_type = find_config_type(algorithm)
    merged = {**ALGORITHMS.find(algorithm).defaults, **values, "algorithm": algorithm}
    return config_type.from_dict(merged, CHOICES)
