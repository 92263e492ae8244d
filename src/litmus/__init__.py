"""litmus tells how good any policy network is from what it does in a few learned states.

run = litmus.train("pssvf", task="Swimmer-v5", steps=100_000)
run.policy, run.evaluator, run.metrics
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from litmus.errors import BadInput, RunFailed
    from litmus.evaluators.base import Evaluator, load_evaluator
    from litmus.experiments.api import experiment
    from litmus.policies.policy import Policy
    from litmus.policies.population import FlatPopulation, MixedPopulation, Population
    from litmus.runs.run import Run
    from litmus.training.api import resume, train
    from litmus.training.callbacks import Notice
    from litmus.training.measuring import Measurement, evaluate

_HOMES = {
    "BadInput": "litmus.errors",
    "Evaluator": "litmus.evaluators.base",
    "Measurement": "litmus.training.measuring",
    "Notice": "litmus.training.callbacks",
    "Policy": "litmus.policies.policy",
    "FlatPopulation": "litmus.policies.population",
    "MixedPopulation": "litmus.policies.population",
    "Population": "litmus.policies.population",
    "Run": "litmus.runs.run",
    "RunFailed": "litmus.errors",
    "evaluate": "litmus.training.measuring",
    "experiment": "litmus.experiments.api",
    "load_evaluator": "litmus.evaluators.base",
    "resume": "litmus.training.api",
    "train": "litmus.training.api",
}

__all__ = [
    "BadInput",
    "Evaluator",
    "FlatPopulation",
    "Measurement",
    "MixedPopulation",
    "Notice",
    "Policy",
    "Population",
    "Run",
    "RunFailed",
    "evaluate",
    "experiment",
    "load_evaluator",
    "resume",
    "train",
]


def __getattr__(name: str) -> Any:
    """Import on first use: `litmus --help` and the rollout workers do without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'litmus' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
