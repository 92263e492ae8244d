"""Action heads: from a network's outputs to action parameters, and from those to an action.

Probing actions are these action parameters: the action itself (deterministic), mean and log-std
(gaussian), class probabilities (categorical). Torch-free, for the rollout workers; the torch side
of `squash` is in `networks.py` and tested equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput, option
from litmus.tasks.base import Actions, ContinuousActions, DiscreteActions

Distribution = Literal["deterministic", "gaussian", "categorical"]

FEW_CHOICES = 4
"""Up to so many, any two policies may differ as much as those of an action may."""
LOG_STD_RANGE = (-5.0, 0.0)
"""Of a gaussian policy, relative to half the action's range: from almost none to all of it."""


BETWEEN = 2
"""Of an action's bounds: it has both. 1 and -1: only a lower, only an upper one; 0: none."""


@dataclass(frozen=True)
class Squashing:
    """What `ActionHead.squash` does to each output x: center + scale · f(x), where f is tanh x
    between two bounds, ± softplus(± x) beside one, else x."""

    kinds: NDArray[np.int64]  # [A]: BETWEEN, 1, -1 or 0
    center: NDArray[np.float32]  # [A]
    scale: NDArray[np.float32]  # [A]

    def in_units(self, units: NDArray[np.float32]) -> Squashing:  # [2, A]
        """The same actions, less the first row of `units`, over the second."""
        return Squashing(self.kinds, (self.center - units[0]) / units[1], self.scale / units[1])


@dataclass(frozen=True)
class ActionHead:
    """What a network's raw outputs mean in one task."""

    distribution: Distribution
    actions: Actions

    def __post_init__(self) -> None:
        if isinstance(self.actions, DiscreteActions) != (self.distribution == "categorical"):
            kind = "discrete" if isinstance(self.actions, DiscreteActions) else "continuous"
            fitting = ["categorical"] if kind == "discrete" else ["deterministic", "gaussian"]
            raise BadInput(
                f"a {self.distribution} policy does not fit a task with {kind} actions; use "
                + " or ".join(option("distribution", one) for one in fitting)
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
        """Where an action has both bounds: center + half_range · tanh(output)."""
        return np.isfinite(self.low) & np.isfinite(self.high)

    @cached_property
    def sides(self) -> NDArray[np.float32]:
        """1 where there is a lower bound only, low + softplus(output); -1 where there is an upper
        one only, high - softplus(-output); 0 elsewhere."""
        has_low, has_high = np.isfinite(self.low), np.isfinite(self.high)
        return has_low.astype(np.float32) - has_high.astype(np.float32)

    @cached_property
    def center(self) -> NDArray[np.float32]:
        """The middle between two bounds, or the only bound, or 0."""
        low, high = np.array(self._continuous.low), np.array(self._continuous.high)
        with np.errstate(invalid="ignore"):
            middle = np.where(self.bounded, (low + high) / 2, 0.0).astype(np.float32)
        middle = np.where(self.sides > 0, self.low, middle)
        return np.where(self.sides < 0, self.high, middle)

    @cached_property
    def half_range(self) -> NDArray[np.float32]:
        """Half of what lies between two bounds, else 1. Rounded so that no action leaves them:
        center ± half_range are the largest and the smallest that there are."""
        low, high = np.array(self._continuous.low), np.array(self._continuous.high)
        with np.errstate(invalid="ignore"):
            half = np.where(self.bounded, (high - low) / 2, 1.0).astype(np.float32)
        leaves = (self.center + half > self.high) | (self.center - half < self.low)
        if not (leaves & self.bounded).any():
            return half
        center = self.center.astype(np.float64)
        room = np.maximum(0.0, np.minimum(self.high - center, center - self.low))
        room = np.nextafter(room, 0.0)  # the differences are rounded too
        return np.where(leaves & self.bounded, _round_down(room), half)

    @cached_property
    def most_alike(self) -> float:
        """As what share of 1 a difference of 1 in all action parameters counts here: among many
        choices most stay as they are, and an action that has only one value always does."""
        if isinstance(self.actions, DiscreteActions):
            return float(min(1.0, np.sqrt(FEW_CHOICES / self.size)))
        moves = int((~self.bounded | (self.half_range > 0)).sum())
        fixed = self._continuous.size - moves
        return float(np.sqrt(1 - fixed / self.size)) if moves else 1.0

    @cached_property
    def units(self) -> NDArray[np.float32]:  # [2, A]
        """Centres and half ranges of those action parameters that are actions between two bounds;
        0 and 1 for all others. An action that has only one value is in units of 1."""
        units = np.stack([np.zeros(self.size, np.float32), np.ones(self.size, np.float32)])
        if self.distribution != "categorical":
            count = self._continuous.size  # log-stds follow, if any
            units[0, :count][self.bounded] = self.center[self.bounded]
            has_range = self.bounded & (self.half_range > 0)
            units[1, :count][has_range] = self.half_range[has_range]
        return units

    @cached_property
    def squashing(self) -> Squashing | None:
        """How `squash` works, for other forms of it; None where it is a softmax."""
        if self.distribution == "categorical":
            return None
        kinds = np.where(self.bounded, BETWEEN, self.sides.astype(np.int64))
        center, scale = self.center, self.half_range
        if self.distribution == "gaussian":  # log-stds follow the means
            low, high = LOG_STD_RANGE
            half = np.full_like(scale, (high - low) / 2)
            kinds = np.concatenate([kinds, np.full_like(kinds, BETWEEN)])
            center, scale = np.concatenate([center, low + half]), np.concatenate([scale, half])
        return Squashing(kinds, center, scale)

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
            np.copyto(means, self._squash_partly_bounded(means))
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

    def _squash_partly_bounded(self, outputs: NDArray[np.float32]) -> NDArray[np.float32]:
        sides = self.sides
        beside = sides * np.logaddexp(np.float32(0), sides * outputs)  # softplus
        unbounded = np.where(sides != 0, beside, outputs)
        return np.where(self.bounded, np.tanh(outputs), unbounded)

    def choose(self, parameters: NDArray[np.float32], generator: np.random.Generator) -> Any:
        """Return an action as the task takes it, drawn where the policy is stochastic."""
        if self.distribution == "deterministic":
            return self.arrange(parameters)
        if isinstance(self.actions, DiscreteActions):
            cumulative = np.cumsum(parameters, dtype=np.float64)
            drawn = int(np.searchsorted(cumulative, generator.random() * cumulative[-1]))
            return self.actions.start + min(drawn, len(parameters) - 1)
        size = self._continuous.size
        spread = np.exp(parameters[size:]) * self.half_range
        action = parameters[:size] + spread * generator.standard_normal(size, dtype=np.float32)
        return self.arrange(np.clip(action, self.low, self.high))

    def choose_likeliest(self, parameters: NDArray[np.float32]) -> Any:
        """Return the likeliest action as the task takes it: the likeliest choice, or the mean."""
        if isinstance(self.actions, DiscreteActions):
            return self.actions.start + int(np.argmax(parameters))
        return self.arrange(parameters[: self._continuous.size])

    def arrange(self, vector: NDArray[np.float32]) -> NDArray[Any]:
        """The numbers of an action as the array that the task takes."""
        if self._is_plain_vector:
            return vector
        actions = self._continuous
        shaped = vector if actions.shape is None else vector.reshape(actions.shape)
        return shaped.astype(actions.dtype, copy=False)

    @cached_property
    def _is_plain_vector(self) -> bool:
        actions = self._continuous
        return actions.shape is None and actions.dtype == "float32"

    @cached_property
    def _all_bounded(self) -> bool:
        return bool(self.bounded.all())

    @cached_property
    def is_unit_range(self) -> bool:
        """Actions in [-1, 1], as most are, need no scaling."""
        return bool((self.half_range == 1).all() and (self.center == 0).all())

    @cached_property
    def low(self) -> NDArray[np.float32]:
        """The smallest float32 within the bounds, and in `high` the largest."""
        return -_round_down(-np.array(self._continuous.low))

    @cached_property
    def high(self) -> NDArray[np.float32]:
        return _round_down(np.array(self._continuous.high))

    @property
    def _continuous(self) -> ContinuousActions:
        assert isinstance(self.actions, ContinuousActions)
        return self.actions


def _round_down(values: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 that is not above."""
    nearest = values.astype(np.float32)
    return np.where(nearest > values, np.nextafter(nearest, np.float32(-np.inf)), nearest)


def actions_to_json(actions: Actions) -> dict[str, Any]:
    if isinstance(actions, DiscreteActions):
        return {"count": actions.count, "start": actions.start}
    bounds = {
        bound: [value if np.isfinite(value) else None for value in getattr(actions, bound)]
        for bound in ("low", "high")
    }
    shape = None if actions.shape is None else list(actions.shape)
    return {**bounds, "shape": shape, "dtype": actions.dtype}


def actions_from_json(data: dict[str, Any]) -> Actions:
    if "count" in data:
        return DiscreteActions(int(data["count"]), int(data.get("start", 0)))
    low = tuple(-np.inf if value is None else float(value) for value in data["low"])
    high = tuple(np.inf if value is None else float(value) for value in data["high"])
    shape = data.get("shape")
    dtype = np.dtype(data.get("dtype", "float32")).name
    return ContinuousActions(low, high, None if shape is None else tuple(shape), dtype)
