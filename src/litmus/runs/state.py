"""Everything that a checkpoint holds, in one description: written from it and read back into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from litmus.algorithms.saved import build, save
from litmus.evaluators.base import Evaluator, build_evaluator, describe_evaluator
from litmus.files import fill_module
from litmus.policies.architecture import (
    Architecture,
    architecture_from_json,
    architecture_to_json,
)
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.tasks.base import Cut

MOST_CORES = 4096


@dataclass
class Counters:
    """Where a run is."""

    steps: int = 0
    episodes: int = 0
    iterations: int = 0
    rounds: int = 0
    """In the journal; none, where the algorithm keeps none."""
    first_round: int = 0
    """The oldest of them that going on needs."""
    dropped: int = 0
    evaluations: int = 0
    evaluated_at: int = -1
    latest_return: float | None = None
    wall_s: float = 0.0
    metrics_bytes: int = 0
    snapshots_due: int = 0
    snapshots_taken: int = 0


@dataclass(frozen=True)
class PolicyState:
    architecture: dict[str, Any]
    flat_params: NDArray[np.float32]
    normalizer: Normalizer

    @staticmethod
    def of(
        architecture: Architecture, flat_params: NDArray[np.float32], normalizer: Normalizer
    ) -> PolicyState:
        return PolicyState(architecture_to_json(architecture), flat_params, normalizer)

    def build_architecture(self) -> Architecture:
        return architecture_from_json(self.architecture)

    def build(self) -> Policy:
        architecture, flat_params = self.build_architecture(), torch.from_numpy(self.flat_params)
        if architecture.num_params != len(flat_params):
            raise ValueError(f"{architecture.num_params} parameters, not {len(flat_params)}")
        return Policy(architecture, flat_params, self.normalizer)


@dataclass(frozen=True)
class EvaluatorState:
    description: dict[str, Any]
    tensors: dict[str, Any]

    @staticmethod
    def of(evaluator: Evaluator) -> EvaluatorState:
        return EvaluatorState(describe_evaluator(evaluator), dict(evaluator.state_dict()))

    def build(self) -> Evaluator:
        return fill_module(
            lambda described, _: build_evaluator(described), self.description, self.tensors
        )


@dataclass(frozen=True)
class Evaluation:
    """An evaluation that is being run: of which θ, and what it will be written down as."""

    flat_params: NDArray[np.float32]
    normalizer: Normalizer
    steps: int
    episodes_done: int
    first_index: int


@dataclass(frozen=True)
class Candidate:
    """A policy that may be handed over, and what it earned so far."""

    flat_params: NDArray[np.float32]
    normalizer: Normalizer
    returns: NDArray[np.float64]  # finite ones only
    steps: int
    """Of the run, when it was θ."""


@dataclass
class SelectionState:
    """What was measured to find the best policy."""

    untrained: Candidate
    best: Candidate
    center: dict[str, Any]
    """Where the algorithm stood when it had the best one; empty for one that cannot go back."""
    episodes: int = 0
    """Run for this so far."""
    spent: int = 0
    """Steps of these."""
    cost: int = 0
    """Steps of the last measurement, had its episodes been whole."""
    measured_at: int = 0
    """The iteration of the last one."""
    falls: int = 0
    """Measurements in a row that found θ lost."""
    cut: Cut | None = None
    """How episodes were cut in which the best and the untrained policy were measured."""


@dataclass(frozen=True)
class RunState:
    counters: Counters
    cores: int
    """Of the machine that the run began on."""
    policy: PolicyState
    evaluator: EvaluatorState | None
    evaluation: Evaluation | None
    selection: SelectionState | None
    algorithm: dict[str, Any]

    def check(self) -> None:
        """ValueError where its parts do not fit together."""
        architecture = self.policy.build_architecture()
        size = int(np.prod(architecture.state_shape))
        parts: list[PolicyState | Evaluation | Candidate] = [self.policy]
        parts += [] if self.evaluation is None else [self.evaluation]
        if self.selection is not None:
            parts += [self.selection.untrained, self.selection.best]
        for part in parts:
            _check_array(part.flat_params, architecture.num_params, np.float32)
            _check_array(part.normalizer.mean, size, np.float64)
            _check_array(part.normalizer.std, size, np.float64)
        counts = [n for name, n in vars(self.counters).items() if name != "evaluated_at"]
        if not 1 <= self.cores <= MOST_CORES or min(n for n in counts if isinstance(n, int)) < 0:
            raise ValueError("its counters are out of bounds")

    def to_tree(self) -> dict[str, Any]:
        tree: dict[str, Any] = save(self)
        return tree

    @staticmethod
    def from_tree(tree: dict[str, Any]) -> RunState:
        state: RunState = build(RunState, tree)
        return state


def _check_array(array: NDArray[Any], size: int, dtype: type) -> None:
    if array.shape != (size,) or array.dtype != dtype:
        raise ValueError(f"an array of {size} numbers was expected, not {array.shape}")
