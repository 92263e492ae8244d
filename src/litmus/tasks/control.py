"""Any Gymnasium environment with Box observations and Box or Discrete actions, as a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.wrappers import OrderEnforcing, TimeLimit
from numpy.typing import NDArray

from litmus.errors import BadInput, one_line
from litmus.tasks.base import (
    MARKS,
    Actions,
    ContinuousActions,
    DiscreteActions,
    Episode,
    Exploration,
    FloatArray,
    Moments,
    RolloutPolicy,
    Stretch,
    Transition,
)
from litmus.tasks.box2d import renew_world
from litmus.tasks.gymnasium_registry import make_environment

if TYPE_CHECKING:
    from litmus.tasks.lean_mujoco import LeanLoop


class ControlTask:
    """One environment, kept for many episodes."""

    def __init__(
        self,
        environment: gymnasium.Env[Any, Any],
        name: str,
        remove_survival_bonus: bool = False,
        max_episode_steps: int | None = None,
    ) -> None:
        self.environment, self.name = environment, name
        self.max_episode_steps = max_episode_steps
        self.remove_survival_bonus = remove_survival_bonus
        self.state_shape = _read_state_shape(name, environment)
        self.actions: Actions = _read_actions(name, environment)
        self._observations = _make_room(name, self.state_shape, environment.observation_space.dtype)
        self._inner, self._limit = _unwrap(environment, max_episode_steps)
        self._lean_loop = _make_lean_loop(environment, max_episode_steps)

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        return self._run(policy, seed, None)

    def run_part(self, policy: RolloutPolicy, seed: int, most_steps: int) -> Episode:
        return self._run(policy, seed, most_steps)

    def _run(self, policy: RolloutPolicy, seed: int, most_steps: int | None) -> Episode:
        if self._lean_loop is not None:
            removes_bonus = self.remove_survival_bonus
            return self._lean_loop.run_episode(policy, seed, removes_bonus, most_steps)
        return self.run_gymnasium_episode(policy, seed, most_steps)

    def run_gymnasium_episode(
        self, policy: RolloutPolicy, seed: int, most_steps: int | None = None
    ) -> Episode:
        """Through the environment's own `step`, whatever environment it is.

        The episode of `step_through`, but nobody keeps its transitions: most of the time that they
        take is saved.
        """
        act, step, limit = policy.act, self._inner.step, self._limit
        if most_steps is not None:
            limit = most_steps if limit is None else min(limit, most_steps)
        observations, removes_bonus = self._observations, self.remove_survival_bonus
        observation, are_bytes = self._reset(seed), observations.dtype == np.uint8
        return_, bonus, steps, is_over = 0.0, 0.0, 0, False
        earlier: list[float] = []
        mark = MARKS[0]
        while not is_over:
            if steps == len(observations):
                observations = self._observations = np.concatenate([observations, observations])
            if are_bytes and observation.dtype != np.uint8:  # the task is not as it says
                observations = self._observations = observations.astype(np.float64)
                are_bytes = False
            observations[steps] = observation
            observation, reward, terminated, truncated, info = step(act(observation))
            steps += 1
            is_over = terminated or truncated or steps == limit
            return_ += float(reward)
            if removes_bonus:
                bonus += self._read_survival_bonus(info)
            if steps == mark and len(earlier) < len(MARKS):
                earlier.append(return_ - bonus)
                mark *= 2
        visited = observations[:steps].reshape(steps, -1)
        training_return = return_ - bonus
        earlier += [training_return] * (len(MARKS) - len(earlier))
        return Episode(return_, training_return, steps, Moments.of(visited), np.array(earlier))

    def step_through(self, act: Callable[[FloatArray], Any], seed: int) -> Iterator[Transition]:
        step, limit, copy = self._inner.step, self._limit, np.array
        observation = copy(self._reset(seed))
        steps, is_over = 0, False
        while not is_over:
            action = act(observation)
            following, reward, terminated, truncated, info = step(action)
            steps += 1
            truncated = truncated or steps == limit
            following = copy(following)  # some environments write into the same array again
            bonus = self._read_survival_bonus(info) if self.remove_survival_bonus else 0.0
            yield Transition(
                observation, action, float(reward), following, terminated, truncated, bonus
            )
            observation, is_over = following, terminated or truncated

    def run_stretch(self, exploration: Exploration, seed: int, taken: int) -> Stretch | None:
        if self._lean_loop is None or type(self).step_through is not ControlTask.step_through:
            return None
        return self._lean_loop.run_stretch(exploration, seed, taken, self.remove_survival_bonus)

    def close(self) -> None:
        self.environment.close()

    def _reset(self, seed: int) -> FloatArray:
        renew_world(self.environment)
        observation: FloatArray = self.environment.reset(seed=seed)[0]
        return observation

    def _read_survival_bonus(self, info: dict[str, Any]) -> float:
        """What the environment says it paid for staying alive in this step."""
        if "reward_survive" in info:  # MuJoCo -v5, and Ant-v4
            return float(info["reward_survive"])
        # The other -v4 environments compute it from their state and do not report it.
        return float(getattr(self.environment.unwrapped, "healthy_reward", 0.0))


def make_control_task(
    environment_id: str,
    remove_survival_bonus: bool = False,
    registration: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    max_episode_steps: int | None = None,
) -> ControlTask:
    """The task of an environment that Gymnasium knows by name."""
    environment = make_environment(environment_id, registration, env_kwargs)
    try:
        return ControlTask(environment, environment_id, remove_survival_bonus, max_episode_steps)
    except (TypeError, ValueError) as error:  # an option that the environment took unread
        raise BadInput(f"task '{environment_id}' cannot be used: {one_line(error)}") from error


def _unwrap(
    environment: gymnasium.Env[Any, Any], max_episode_steps: int | None
) -> tuple[gymnasium.Env[Any, Any], int | None]:
    """What is within the wrappers of `make` that only count steps and look after their order, and
    the most steps of an episode."""
    limits = [max_episode_steps]
    while type(environment) in (TimeLimit, OrderEnforcing):
        limits.append(getattr(environment, "_max_episode_steps", None))
        environment = environment.env  # type: ignore[attr-defined]
    return environment, min((limit for limit in limits if limit is not None), default=None)


def _make_room(name: str, state_shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
    """For the observations of an episode: those of images as bytes, as long as they are."""
    try:
        return np.empty((1000, *state_shape), np.uint8 if dtype == np.uint8 else np.float64)
    except (MemoryError, ValueError) as error:
        raise BadInput(f"task '{name}' has observations that no memory holds: {error}") from error


def _make_lean_loop(
    environment: gymnasium.Env[Any, Any], max_episode_steps: int | None
) -> LeanLoop | None:
    """A faster loop where the environment is one of those it knows exactly."""
    if not type(environment.unwrapped).__module__.startswith("gymnasium.envs.mujoco"):
        return None  # and MuJoCo is not imported
    try:
        from litmus.tasks.lean_mujoco import make_lean_loop
    except RuntimeError as error:  # such as MUJOCO_GL set to something that it does not know
        raise BadInput(f"MuJoCo cannot be used: {one_line(error)}") from error
    return make_lean_loop(environment, max_episode_steps)


def _read_state_shape(name: str, environment: gymnasium.Env[Any, Any]) -> tuple[int, ...]:
    space = environment.observation_space
    if not isinstance(space, spaces.Box):
        raise BadInput(
            f"task '{name}' has {type(space).__name__} observations; litmus needs Box "
            "(gymnasium.wrappers.FlattenObservation turns most others into one)"
        )
    return space.shape


def _read_actions(name: str, environment: gymnasium.Env[Any, Any]) -> Actions:
    space = environment.action_space
    if isinstance(space, spaces.Discrete):
        return DiscreteActions(int(space.n), int(space.start))
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        low, high = (tuple(map(float, bound.ravel())) for bound in (space.low, space.high))
        shape = None if len(space.shape) == 1 else space.shape
        return ContinuousActions(low, high, shape, space.dtype.name)
    raise BadInput(f"task '{name}' has {space} actions; litmus needs a Box of floats, or Discrete")
