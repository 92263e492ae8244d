"""HOW IT LEARNS: the registry of algorithms. Adding one is one new file and one line here."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from litmus.config import PssvfConfig, TrainConfig, VanillaPssvfConfig
from litmus.errors import BadInput, suggest

if TYPE_CHECKING:
    from litmus.algorithms.base import AlgorithmFactory


@dataclass(frozen=True)
class AlgorithmEntry:
    config: type[TrainConfig]
    factory: str
    summary: str

    def load(self) -> AlgorithmFactory:
        module, _, name = self.factory.partition(":")
        return cast("AlgorithmFactory", getattr(importlib.import_module(module), name))


ALGORITHMS: dict[str, AlgorithmEntry] = {
    "pssvf": AlgorithmEntry(
        PssvfConfig,
        "litmus.algorithms.pssvf:Pssvf",
        "PSSVF with policy fingerprinting: the paper's method",
    ),
    "vanilla-pssvf": AlgorithmEntry(
        VanillaPssvfConfig,
        "litmus.algorithms.pssvf:Pssvf",
        "PSSVF that reads flat policy parameters, not probing actions",
    ),
}


def find_algorithm(name: str) -> AlgorithmEntry:
    if name not in ALGORITHMS:
        raise BadInput(f"unknown algorithm '{name}'{suggest(name, ALGORITHMS)}")
    return ALGORITHMS[name]


def read_config(algorithm: str, options: dict[str, Any]) -> TrainConfig:
    """Build the algorithm's configuration from plain values."""
    return find_algorithm(algorithm).config.from_dict(options)
