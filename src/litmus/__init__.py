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
    from litmus.judging.compare import Comparison, compare
    from litmus.judging.fit import fit
    from litmus.judging.improve import Improvement, improve
    from litmus.judging.rank import Ranking, rank
    from litmus.judging.subjects import load_policy
    from litmus.judging.zoos import zoo_add, zoo_grow
    from litmus.policies.policy import Policy
    from litmus.policies.population import FlatPopulation, MixedPopulation, Population
    from litmus.runs.run import Run
    from litmus.runs.zoo import Zoo
    from litmus.training.api import resume, train
    from litmus.training.callbacks import Notice
    from litmus.training.measuring import Measurement, evaluate

_HOMES = {
    "BadInput": "litmus.errors",
    "Comparison": "litmus.judging.compare",
    "Evaluator": "litmus.evaluators.base",
    "FlatPopulation": "litmus.policies.population",
    "Improvement": "litmus.judging.improve",
    "Measurement": "litmus.training.measuring",
    "MixedPopulation": "litmus.policies.population",
    "Notice": "litmus.training.callbacks",
    "Policy": "litmus.policies.policy",
    "Population": "litmus.policies.population",
    "Ranking": "litmus.judging.rank",
    "Run": "litmus.runs.run",
    "RunFailed": "litmus.errors",
    "Zoo": "litmus.runs.zoo",
    "compare": "litmus.judging.compare",
    "evaluate": "litmus.training.measuring",
    "experiment": "litmus.experiments.api",
    "fit": "litmus.judging.fit",
    "improve": "litmus.judging.improve",
    "load_evaluator": "litmus.evaluators.base",
    "load_policy": "litmus.judging.subjects",
    "rank": "litmus.judging.rank",
    "resume": "litmus.training.api",
    "train": "litmus.training.api",
    "zoo_add": "litmus.judging.zoos",
    "zoo_grow": "litmus.judging.zoos",
}

__all__ = [
    "BadInput",
    "Comparison",
    "Evaluator",
    "FlatPopulation",
    "Improvement",
    "Measurement",
    "MixedPopulation",
    "Notice",
    "Policy",
    "Population",
    "Ranking",
    "Run",
    "RunFailed",
    "Zoo",
    "compare",
    "evaluate",
    "experiment",
    "fit",
    "improve",
    "load_evaluator",
    "load_policy",
    "rank",
    "resume",
    "train",
    "zoo_add",
    "zoo_grow",
]


def __getattr__(name: str) -> Any:
    """Import on first use: `litmus --help` and the rollout workers do without torch."""
    if name not in _HOMES:
        raise AttributeError(f"module 'litmus' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__
