"""The contract of a task: where returns come from.

A task is anything that can run a policy once and say how well it did. Nothing here, nor in any
task, imports torch: tasks live in the rollout workers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from litmus.registry import import_named

if TYPE_CHECKING:
    import torch
    from torch import Tensor

FloatArray = NDArray[np.floating[Any]]

MARKS: tuple[int, ...] = tuple(128 * 2**doubled for doubled in range(10))
"""Steps after which an episode tells what it has earned so far. Shorter ones are about getting
somewhere, not about going on: they are never cut."""


@dataclass(frozen=True)
class ContinuousActions:
    """Real numbers, each within [low, high]; an infinite bound is no bound."""

    low: tuple[float, ...]
    high: tuple[float, ...]
    shape: tuple[int, ...] | None = None
    """Of the array that the task takes; None is a vector."""
    dtype: str = "float32"
    """Of the same array."""

    @property
    def size(self) -> int:
        return len(self.low)


@dataclass(frozen=True)
class DiscreteActions:
    """One of `count` choices, numbered from `start`."""

    count: int
    start: int = 0


Actions = ContinuousActions | DiscreteActions


MOST_AT_ONCE = 4096
"""Components of an observation."""
CHANNELS = (1, 3, 4)
"""That images have: of grey, of colours, and with transparency."""


def has_channels_last(shape: Sequence[int]) -> bool:
    """Whether [a, b, c] is an image whose channels come behind its height and width."""
    return len(shape) == 3 and shape[2] in CHANNELS and shape[0] not in CHANNELS


@dataclass(frozen=True)
class Moments:
    """Count, mean and sum of squared deviations of the observations an episode visited."""

    count: int
    mean: NDArray[np.float64]  # [D]
    squared_deviations: NDArray[np.float64]  # [D]

    @staticmethod
    def of(observations: FloatArray) -> Moments:  # [T, D]
        mean = observations.mean(axis=0, dtype=np.float64)
        squared = np.empty(mean.size)
        for first in range(0, mean.size, MOST_AT_ONCE):  # images take eight times their memory
            part = slice(first, first + MOST_AT_ONCE)
            squared[part] = np.square(observations[:, part] - mean[part]).sum(axis=0)
        return Moments(observations.shape[0], mean, squared)


@dataclass(frozen=True)
class Episode:
    """What one episode taught."""

    return_: float
    """Sum of rewards as the environment pays them."""
    training_return: float
    """What the evaluator learns to predict: less the survival bonus, where that is removed."""
    steps: int
    moments: Moments | None = None
    """None where the task does not tell: observations are then not normalised by what was seen."""
    earlier: NDArray[np.float64] | None = None  # [MARKS]
    """The training return after so many steps; in the end, where it had ended by then. None where
    the task does not tell: its episodes are then never cut short."""

    @property
    def is_finite(self) -> bool:
        """False when a NaN or infinity got in: such an episode must not be learned from."""
        if not (math.isfinite(self.return_) and math.isfinite(self.training_return)):
            return False
        return self.moments is None or bool(
            np.isfinite(self.moments.mean).all()
            and np.isfinite(self.moments.squared_deviations).all()
        )


class Transition(NamedTuple):
    """One step of an episode. Its arrays are the reader's: no later step writes into them."""

    observation: FloatArray  # [*state], raw
    action: Any
    """As the policy gave it and the task took it."""
    reward: float
    """As the environment pays it."""
    next_observation: FloatArray  # [*state]
    terminated: bool
    truncated: bool
    survival_bonus: float
    """The part of the reward that the training return does without."""


class RolloutPolicy(Protocol):
    """A policy as a task sees it: a function of raw observations."""

    def act(self, observation: FloatArray) -> Any:
        """Return one action as the task takes it: an array of its actions' shape and dtype, or
        the number of the choice."""

    def action_parameters(self, observations: FloatArray) -> FloatArray:  # [N, *state] -> [N, A]
        """Return the parameters of the action distribution for many observations."""


@runtime_checkable
class OffersCompiledForm(Protocol):
    """A policy that compiled loops may run without asking Python in each step.

    Optional: a task with such a loop asks for the form once per episode and, where there is none
    or it is nothing that the loop can run, calls `act` instead. What the form does must be what
    `act` does, bit for bit.
    """

    def compiled_form(self) -> object | None:
        """What `litmus.native` runs in this policy's place; None where only Python can act."""


class Task(Protocol):
    """Where returns come from."""

    state_shape: tuple[int, ...]
    actions: Actions

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        """Run one episode. The same policy and seed give the same episode, bit for bit."""

    def close(self) -> None:
        """Let go of whatever the task holds."""


@dataclass(frozen=True)
class Cut:
    """Episodes end early, and count as if rewards had gone on as until then."""

    most_steps: int
    whole_steps: int
    """Of an episode that is not cut and does not end by itself."""

    def extend(self, returns: NDArray[np.float64], steps: NDArray[Any]) -> NDArray[np.float64]:
        """What episodes that took so many steps [N] would have earned [N]."""
        # One that ended by itself in this very step cannot be told from one that was cut there.
        factors = np.where(steps == self.most_steps, self.whole_steps / self.most_steps, 1.0)
        return returns * factors


@runtime_checkable
class CutsShort(Protocol):
    """A task whose episodes may end before they are over. Optional; whoever offers it tells in
    each episode what it had earned earlier."""

    def run_part(self, policy: RolloutPolicy, seed: int, most_steps: int) -> Episode:
        """Run no more than so many steps of the episode that `run_episode` runs."""


@runtime_checkable
class StepsThrough(Protocol):
    """A task whose episodes are made of transitions (every Gymnasium environment). Optional."""

    def step_through(self, act: Callable[[FloatArray], Any], seed: int) -> Iterator[Transition]:
        """Yield one episode step by step: the one that `run_episode` runs with this seed.

        `act` maps a raw observation to an action, as `RolloutPolicy.act` does. The next step is
        taken when the next transition is asked for; who has seen enough just stops asking.
        """


@dataclass(frozen=True)
class Exploration:
    """What is done in the next steps, a row for each."""

    policy: RolloutPolicy
    rows: NDArray[np.float32]  # [N, A]
    given: int
    """So many of the first rows are actions, whatever is seen; the others are added to what the
    policy does."""
    low: NDArray[np.float32]  # [A]
    high: NDArray[np.float32]  # [A]
    """What such a sum is kept within."""

    def act(self, observation: FloatArray) -> NDArray[np.float32]:  # [A]
        """What is done in the first of them."""
        if self.given > 0:
            given: NDArray[np.float32] = self.rows[0]
            return given
        action = np.asarray(self.policy.act(observation), dtype=np.float32).reshape(-1)
        changed: NDArray[np.float32] = np.clip(action + self.rows[0], self.low, self.high)
        return changed

    def skip(self, steps: int) -> Exploration:
        """What is done in the steps after so many."""
        rows, given = self.rows[steps:], self.given - steps
        return Exploration(self.policy, rows, given, self.low, self.high)


@dataclass(frozen=True)
class Stretch:
    """Steps of an episode, one after the other. Its arrays are the reader's, as those of a
    `Transition`; observations and actions are laid flat."""

    observations: FloatArray  # [N, D], raw
    actions: FloatArray  # [N, A]
    rewards: FloatArray  # [N]
    next_observations: FloatArray  # [N, D]
    terminated: bool
    """By the last step; none before it ends the episode."""
    truncated: bool
    survival_bonuses: FloatArray  # [N]

    def __len__(self) -> int:
        return len(self.rewards)

    @property
    def is_over(self) -> bool:
        """Whether the episode is."""
        return self.terminated or self.truncated

    @staticmethod
    def of(transition: Transition) -> Stretch:
        observation, action, reward, following, terminated, truncated, bonus = transition
        return Stretch(
            np.reshape(observation, (1, -1)),
            np.reshape(action, (1, -1)),
            np.array([reward]),
            np.reshape(following, (1, -1)),
            bool(terminated),
            bool(truncated),
            np.array([bonus]),
        )

    def cut(self, steps: int) -> Stretch:
        """The first of its steps."""
        if steps >= len(self):
            return self
        return Stretch(
            self.observations[:steps],
            self.actions[:steps],
            self.rewards[:steps],
            self.next_observations[:steps],
            terminated=False,
            truncated=False,
            survival_bonuses=self.survival_bonuses[:steps],
        )


@runtime_checkable
class RunsStretches(Protocol):
    """What a task of transitions may offer beside: many steps in one call. Optional."""

    def run_stretch(self, exploration: Exploration, seed: int, taken: int) -> Stretch | None:
        """Go on with the episode that `step_through` runs with this seed, so many steps of which
        were the last that this task took, here or there; 0 begins it.

        The steps are those of `step_through`, bit for bit, and no more than `exploration` has. None
        where they must be taken one by one; it is so for all steps of an episode, or for none.
        """


class AskablePopulation(Protocol):
    """Many policies that can be asked together, as a task sees them."""

    @property
    def device(self) -> torch.device:
        """Where they are, and where the states must be."""

    def __len__(self) -> int:
        """B, the number of policies."""

    def select(self, places: Sequence[int]) -> AskablePopulation:
        """Some of them."""

    def actions(self, states: Tensor) -> Tensor:  # [K, *state] -> [B, K, A]
        """Action parameters of each policy in each of K raw states."""


@runtime_checkable
class MeasuresPopulations(Protocol):
    """A task that measures many policies at once, such as image classification. Optional."""

    def close(self) -> None:
        """As every task's."""

    def measure(self, population: AskablePopulation, seeds: Sequence[int]) -> list[Episode]:
        """Return one episode per policy, in their order; `seeds` holds one seed for each.

        Each is the episode that `run_episode` gives for that policy and seed, up to rounding: a
        collector may use either.
        """


@runtime_checkable
class HoldsOut(Protocol):
    """What such a task may offer beside: something that no policy is trained on. Unperturbed
    policies are measured there, when a run evaluates or chooses. Optional."""

    def measure_held_out(
        self, population: AskablePopulation, seeds: Sequence[int]
    ) -> list[Episode]:
        """As `measure`."""


@runtime_checkable
class MeasuresInTensors(Protocol):
    """What such a task may offer beside: `measure` of policies that share a seed as a function of
    tensors alone, which can be recorded once and replayed. Optional."""

    def draw_places(self, seed: int) -> NDArray[np.int64]:
        """What an episode with this seed draws; the shape is always the same."""

    def measure_places(self, population: AskablePopulation, places: Tensor) -> Tensor:
        """All of the measuring. Nothing is copied to or from the device of policies and places,
        after the first time."""

    def to_episodes(self, measured: Tensor) -> list[Episode]:
        """One per policy."""


@dataclass(frozen=True)
class TaskSpec:
    """How to build a task, in words that can travel to another process."""

    factory: str  # "package.module:callable"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    only_here: str = ""
    """Why only this process can build it, such as a class typed into a notebook; else empty."""

    def build(self) -> Task:
        return cast(Task, import_named(self.factory, "task")(**self.arguments))
