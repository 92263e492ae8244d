"""Action heads: from a network's outputs to action parameters, and from those to an action.

Probing actions are these action parameters: the action itself (deterministic), mean and log-std
(gaussian), class probabilities (categorical). Torch-free, for the rollout workers; the torch side
of `squash` is in `networks.py` and tested equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.tasks.base import Actions, ContinuousActions, DiscreteActions

Distribution = Literal["deterministic", "gaussian", "categorical"]

LOG_STD_RANGE = (-5.0, 0.0)
"""Of a gaussian policy, relative to half the action's range: from almost none to all of it."""


@dataclass(frozen=True)
class ActionHead:
    """What a network's raw outputs mean in one task."""

    distribution: Distribution
    actions: Actions

    def __post_init__(self) -> None:
        if isinstance(self.actions, DiscreteActions) != (self.distribution == "categorical"):
            kind = "discrete" if isinstance(self.actions, DiscreteActions) else "continuous"
            fitting = "categorical" if kind == "discrete" else "deterministic or gaussian"
            raise BadInput(
                f"a {self.distribution} policy does not fit a task with {kind} actions; "
                f"use --distribution {fitting}"
            )

    @staticmethod
    def for_task(distribution: Distribution | Literal["auto"], actions: Actions) -> ActionHead:
        if distribution == "auto":
            is_discrete = isinstance(actions, DiscreteActions)
            distribution = "categorical" if is_discrete else "deterministic"
        return ActionHead(distribution, actions)

    @property
    def size(self) -> int:
        """A: how many action parameters there are."""
        if isinstance(self.actions, DiscreteActions):
            return self.actions.count
        return self.actions.size * (2 if self.distribution == "gaussian" else 1)

    @cached_property
    def bounded(self) -> NDArray[np.bool_]:  # [number of actions]
        low, high = np.array(self._continuous.low), np.array(self._continuous.high)
        return cast(NDArray[np.bool_], np.isfinite(low) & np.isfinite(high))

    @cached_property
    def center(self) -> NDArray[np.float32]:
        low, high = np.array(self._continuous.low), np.array(self._continuous.high)
        with np.errstate(invalid="ignore"):
            return np.where(self.bounded, (low + high) / 2, 0.0).astype(np.float32)

    @cached_property
    def half_range(self) -> NDArray[np.float32]:
        low, high = np.array(self._continuous.low), np.array(self._continuous.high)
        with np.errstate(invalid="ignore"):
            return np.where(self.bounded, (high - low) / 2, 1.0).astype(np.float32)

    def squash(self, outputs: NDArray[np.float32]) -> NDArray[np.float32]:  # [..., A]
        """Turn raw outputs into action parameters, in place where that is possible."""
        if self.distribution == "categorical":
            outputs -= outputs.max(axis=-1, keepdims=True)
            np.exp(outputs, out=outputs)
            outputs /= outputs.sum(axis=-1, keepdims=True)
            return outputs
        size = self._continuous.size
        means = outputs if self.distribution == "deterministic" else outputs[..., :size]
        if self._all_bounded:
            np.tanh(means, out=means)
        else:
            np.copyto(means, np.where(self.bounded, np.tanh(means), means))
        if not self.is_unit_range:
            means *= self.half_range
            means += self.center
        if self.distribution == "gaussian":
            log_stds = outputs[..., size:]
            low, high = LOG_STD_RANGE
            np.tanh(log_stds, out=log_stds)
            log_stds += 1
            log_stds *= (high - low) / 2
            log_stds += low
        return outputs

    def choose(self, parameters: NDArray[np.float32], generator: np.random.Generator) -> Any:
        """Return an action: a vector, or the number of a choice, drawn where it is stochastic."""
        if self.distribution == "deterministic":
            return parameters
        if self.distribution == "categorical":
            cumulative = np.cumsum(parameters, dtype=np.float64)
            drawn = int(np.searchsorted(cumulative, generator.random() * cumulative[-1]))
            return min(drawn, len(parameters) - 1)
        size = self._continuous.size
        spread = np.exp(parameters[size:]) * self.half_range
        action = parameters[:size] + spread * generator.standard_normal(size, dtype=np.float32)
        return np.clip(action, self._low, self._high)

    @cached_property
    def _all_bounded(self) -> bool:
        return bool(self.bounded.all())

    @property
    def is_bounded_vector(self) -> bool:
        """Whether it is a squashed vector and nothing else."""
        return self.distribution == "deterministic" and self._all_bounded

    @cached_property
    def is_unit_range(self) -> bool:
        """Actions in [-1, 1], as most are, need no scaling."""
        return bool((self.half_range == 1).all() and (self.center == 0).all())

    @cached_property
    def _low(self) -> NDArray[np.float32]:
        return np.array(self._continuous.low, dtype=np.float32)

    @cached_property
    def _high(self) -> NDArray[np.float32]:
        return np.array(self._continuous.high, dtype=np.float32)

    @property
    def _continuous(self) -> ContinuousActions:
        assert isinstance(self.actions, ContinuousActions)
        return self.actions


def actions_to_json(actions: Actions) -> dict[str, Any]:
    if isinstance(actions, DiscreteActions):
        return {"count": actions.count}
    return {
        bound: [value if np.isfinite(value) else None for value in getattr(actions, bound)]
        for bound in ("low", "high")
    }


def actions_from_json(data: dict[str, Any]) -> Actions:
    if "count" in data:
        return DiscreteActions(int(data["count"]))
    low = tuple(-np.inf if value is None else float(value) for value in data["low"])
    high = tuple(np.inf if value is None else float(value) for value in data["high"])
    return ContinuousActions(low, high)
