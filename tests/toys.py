"""Toys for the tests: environments, a task that is no environment, a network that is no MLP.

Rollout workers import this module by name, so it must be on their path: `conftest.py` sees to it.
Environment variables reach the workers too, and switch the misbehaving toys on.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from litmus.experiments.toys import ImageGrid
from litmus.fields import at_least
from litmus.policies.actions import ActionHead
from litmus.tasks.base import (
    AskablePopulation,
    ContinuousActions,
    Episode,
    Moments,
    RolloutPolicy,
    Transition,
)

TARGET = 0.6


class TargetTask:
    """One step, not a Gymnasium environment: return = 1 - (action - TARGET)², at most 1."""

    state_shape = (2,)
    actions = ContinuousActions((-1.0,), (1.0,))

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        state = 1 + 0.1 * np.random.default_rng(seed).normal(size=2)
        action = float(policy.act(state)[0])
        return_ = 1.0 - (action - TARGET) ** 2
        return Episode(return_, return_, 1, Moments.of(state[None]))

    def close(self) -> None:
        pass


class PictureTask:
    """States are pictures [1, 4, 4]; the action should be +1 where the left half is brighter."""

    state_shape = (1, 4, 4)
    actions = ContinuousActions((-1.0,), (1.0,))

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        pictures = np.random.default_rng(seed).random((6, 1, 4, 4))
        wanted = np.sign(pictures[..., :2].sum((1, 2, 3)) - pictures[..., 2:].sum((1, 2, 3)))
        actions = policy.action_parameters(pictures)[:, 0]
        return_ = -float(np.square(actions - wanted).mean())
        return Episode(return_, return_, 6, Moments.of(pictures.reshape(6, -1)))

    def close(self) -> None:
        pass


class LabelsTask:
    """Eight drawn states, each to be labelled with the sum of its components; it is one step.

    It measures many policies at once and tells no moments. Return = 1 - the mean squared error.
    """

    state_shape = (2,)
    actions = ContinuousActions((-5.0,), (5.0,))

    def __init__(self, factor: float = 1.0) -> None:
        self.factor = factor

    def draw(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        states = np.random.default_rng(seed).normal(size=(8, 2)).astype(np.float32)
        return states, self.factor * states.sum(axis=1)

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        states, labels = self.draw(seed)
        return self.judge(policy.action_parameters(states)[:, 0], labels)

    def measure(self, population: AskablePopulation, seeds: Sequence[int]) -> list[Episode]:
        import torch

        drawn = [self.draw(seed) for seed in seeds]
        states = torch.from_numpy(np.concatenate([states for states, _ in drawn]))
        actions = population.actions(states)[..., 0].numpy()  # [B, B·8]
        return [
            self.judge(row[8 * b : 8 * b + 8], labels)
            for b, (row, (_, labels)) in enumerate(zip(actions, drawn, strict=True))
        ]

    def judge(self, actions: np.ndarray, labels: np.ndarray) -> Episode:
        return_ = 1.0 - float(np.square(actions - labels).mean())
        return Episode(return_, return_, steps=1)

    def close(self) -> None:
        pass


class CountdownTask:
    """Transitions without a Gymnasium environment: from `start`, an action is taken off until
    nothing is left; each step pays the action, so the return is what was taken off in all."""

    state_shape = (1,)
    actions = ContinuousActions((0.0,), (2.0,))

    def __init__(self, start: float = 3.0) -> None:
        self.start = start

    def step_through(self, act: Callable[[Any], Any], seed: int) -> Iterator[Transition]:
        state, is_over = np.array([self.start]), False
        while not is_over:
            action = act(state)
            following = state - action
            is_over = bool(following[0] <= 0)
            yield Transition(state, action, float(action[0]), following, is_over, False, 0.0)
            state = following

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        steps = list(self.step_through(policy.act, seed))
        return_ = sum(step.reward for step in steps)
        seen = np.stack([step.observation for step in steps])
        return Episode(return_, return_, len(steps), Moments.of(seen))

    def close(self) -> None:
        pass


class InvestingTask(CountdownTask):
    """Ten steps; an action costs a third of itself, and is paid back whole in the next step."""

    actions = ContinuousActions((-1.0,), (1.0,))

    def step_through(self, act: Callable[[Any], Any], seed: int) -> Iterator[Transition]:
        state = np.random.default_rng(seed).uniform(-1, 1, 1)
        for number in range(10):
            action = act(state)
            following = action.astype(np.float64)
            reward = float(state[0] - action[0] / 3)
            yield Transition(state, action, reward, following, False, number == 9, 0.0)
            state = following


@dataclass(frozen=True)
class ConvArchitecture:
    """A convolution and a linear layer: nothing but `build`, no faster path of any kind."""

    state_shape: tuple[int, ...]
    head: ActionHead
    channels: int = at_least(1, 2)
    """Channels of the convolution."""

    @property
    def num_params(self) -> int:
        return sum(parameter.numel() for parameter in self.build().parameters())

    def build(self) -> Any:
        from torch import nn

        from litmus.policies.networks import Squash

        depth, height, width = self.state_shape
        return nn.Sequential(
            nn.Conv2d(depth, self.channels, 3, padding=1),
            nn.Tanh(),
            nn.Flatten(),
            nn.Linear(self.channels * height * width, self.head.size),
            Squash(self.head),
        )

    def make_numpy_forward(self, flat_params: Any) -> None:
        return None

    def population_actions(self, rows: Any, states: Any) -> None:
        return None


@dataclass(frozen=True)
class NoisyArchitecture(ConvArchitecture):
    """Has an option whose name is taken."""

    noise: float = 1.0


class PlainArchitecture(ConvArchitecture):
    """One linear layer for any state, again without a faster path."""

    def build(self) -> Any:
        from torch import nn

        from litmus.policies.networks import Squash

        size = int(np.prod(self.state_shape))
        return nn.Sequential(nn.Flatten(), nn.Linear(size, self.head.size), Squash(self.head))


class Walk(gymnasium.Env[Any, Any]):
    """Four steps of a random walk that pays for a large first action component."""

    observation_space: spaces.Space[Any] = spaces.Box(-np.inf, np.inf, (3,), np.float64)
    action_space: spaces.Space[Any] = spaces.Box(-1.0, 1.0, (2,), np.float32)

    def __init__(self, length: int = 4) -> None:
        self.length = length

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.taken = 0
        return self.observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        self.check(action)
        info = {"reward_survive": 0.25}
        return self.observe(), self.reward(action), self.taken == self.length, False, info

    def observe(self) -> Any:
        observation = self.np_random.normal(size=self.observation_space.shape)
        return observation.astype(self.observation_space.dtype)

    def check(self, action: Any) -> None:
        assert self.action_space.contains(action), f"{action!r} is not in {self.action_space}"

    def reward(self, action: Any) -> float:
        return float(np.ravel(action)[0]) + 0.25


class SlowWalk(Walk):
    """Takes a little time, so that a test can act while a run is under way, and stands still while
    the file that LITMUS_TOY_HOLD names says so (`harness.Hold`)."""

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        time.sleep(0.003)
        trainer = os.getppid()
        while is_held() and os.getppid() == trainer:
            time.sleep(0.002)
        return super().step(action)


def is_held() -> bool:
    try:
        order = json.loads(Path(os.environ["LITMUS_TOY_HOLD"]).read_text())
        lines = Path(order["metrics"]).read_bytes().count(b"\n") if order["metrics"] else 0
    except (KeyError, FileNotFoundError):
        return False
    return bool(lines >= order["lines"])


class MatrixWalk(Walk):
    """Observations and actions that are matrices, and float32."""

    observation_space = spaces.Box(-np.inf, np.inf, (2, 3), np.float32)
    action_space = spaces.Box(-2.0, 2.0, (2, 2), np.float32)


class UnboundedWalk(Walk):
    """One action component has no bounds."""

    action_space = spaces.Box(
        np.array([-1.0, -np.inf], np.float32), np.array([3.0, np.inf], np.float32)
    )


class OneSidedWalk(Walk):
    """Each action component has one bound only; the environment refuses what leaves it."""

    action_space = spaces.Box(
        np.array([0.3, -np.inf], np.float32), np.array([np.inf, -2.0], np.float32)
    )


class DoubleWalk(Walk):
    """Bounds that no float32 equals, around a number that is no array."""

    action_space = spaces.Box(0.1, 0.7, (), np.float64)


class ChoiceWalk(Walk):
    """Choices that do not start at zero."""

    action_space = spaces.Discrete(3, start=5)

    def reward(self, action: Any) -> float:
        return float(action == 6)


class ScaledWalk(Walk):
    """Has options: what the first action component pays, and the number of steps."""

    def __init__(self, scale: float = 1.0, length: int = 4) -> None:
        self.scale, self.length = scale, length

    def reward(self, action: Any) -> float:
        return self.scale * float(np.ravel(action)[0])


def make_scaled_walk(**options: Any) -> gymnasium.Env[Any, Any]:
    """An environment with a time limit of its own, from a function."""
    return gymnasium.wrappers.TimeLimit(ScaledWalk(length=100, **options), max_episode_steps=7)


class ShapedWalk(ScaledWalk):
    """Has an option that is a tuple, and insists on it."""

    def __init__(self, sizes: tuple[int, int] = (1, 2), **options: Any) -> None:
        super().__init__(**options)
        assert isinstance(sizes, tuple)


class PayMore(gymnasium.RewardWrapper[Any, Any], gymnasium.utils.RecordConstructorArgs):
    """Adds to every reward."""

    def __init__(self, env: gymnasium.Env[Any, Any], amount: float = 1.0) -> None:
        gymnasium.utils.RecordConstructorArgs.__init__(self, amount=amount)
        gymnasium.RewardWrapper.__init__(self, env)
        self.amount = amount

    def reward(self, reward: Any) -> float:
        return float(reward) + self.amount


class DrawnWalk(Walk):
    """Draws itself: brighter with each step."""

    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}  # noqa: RUF012

    def __init__(self, render_mode: str | None = None) -> None:
        super().__init__()
        self.render_mode = render_mode

    def render(self) -> Any:
        return np.full((32, 48, 3), 50 * self.taken, np.uint8)


class UndrawnWalk(DrawnWalk):
    """Takes a render mode and draws nothing."""

    def render(self) -> Any:
        return None


class HalfTask:
    """Not yet a task."""

    state_shape = (2,)


class ReusingWalk(Walk):
    """Observes into the same array again and again."""

    def observe(self) -> Any:
        if not hasattr(self, "memory"):
            self.memory = np.empty(3)
        self.memory[...] = super().observe()
        return self.memory


class NanWalk(Walk):
    """Every third episode pays NaN, infinity or shows a NaN, in turn."""

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        observation = super().reset(seed=seed)
        self.kind = int(self.np_random.integers(6))
        return observation

    def reward(self, action: Any) -> float:
        return {0: np.nan, 1: np.inf}.get(self.kind, super().reward(action))

    def observe(self) -> Any:
        observation = super().observe()
        if self.taken == 2 and self.kind == 2:
            observation[0] = np.nan
        return observation

    def check(self, action: Any) -> None:
        pass  # after a NaN observation the action is NaN too


class AlwaysNanWalk(Walk):
    def reward(self, action: Any) -> float:
        return np.nan


class RaisingWalk(Walk):
    """Breaks in its first step."""

    def check(self, action: Any) -> None:
        raise RuntimeError("the arm\nfell off")


class DyingWalk(Walk):
    """Takes its process with it: always, or once, when LITMUS_TOY_DIE_ONCE names a file."""

    def check(self, action: Any) -> None:
        marker = os.environ.get("LITMUS_TOY_DIE_ONCE")
        if marker is None:
            os._exit(9)
        try:
            Path(marker).touch(exist_ok=False)
        except FileExistsError:
            return
        os._exit(9)


class DictWalk(Walk):
    observation_space = spaces.Dict({"position": spaces.Box(-1, 1, (2,))})


class MultiDiscreteWalk(Walk):
    action_space = spaces.MultiDiscrete([2, 3])


class NeedsPackageWalk(Walk):
    def __init__(self) -> None:
        import not_there_at_all  # noqa: F401


for _class in (
    Walk,
    SlowWalk,
    MatrixWalk,
    UnboundedWalk,
    OneSidedWalk,
    DoubleWalk,
    ChoiceWalk,
    NanWalk,
    AlwaysNanWalk,
    RaisingWalk,
    DyingWalk,
    ImageGrid,
    DictWalk,
    MultiDiscreteWalk,
    NeedsPackageWalk,
):
    gymnasium.register(f"Toy{_class.__name__}-v0", f"{__name__}:{_class.__name__}")
