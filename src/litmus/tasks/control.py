"""Any Gymnasium environment with Box observations and Box or Discrete actions, as a task."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from litmus.errors import BadInput, one_line
from litmus.tasks.base import (
    Actions,
    ContinuousActions,
    DiscreteActions,
    Episode,
    FloatArray,
    Moments,
    RolloutPolicy,
    Transition,
)
from litmus.tasks.gymnasium_registry import make_environment

if TYPE_CHECKING:
    from litmus.tasks.lean_mujoco import LeanLoop

_Step = tuple[FloatArray, Any, float, FloatArray, bool, bool, float]
"""The fields of a `Transition`."""


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
        self._observations: NDArray[np.float64] = _make_room(name, self.state_shape)
        self._lean_loop = _make_lean_loop(environment, max_episode_steps)

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        if self._lean_loop is not None:
            return self._lean_loop.run_episode(policy, seed, self.remove_survival_bonus)
        return self.run_gymnasium_episode(policy, seed)

    def run_gymnasium_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        """Through the environment's own `step`, whatever environment it is."""
        return_ = bonus = 0.0
        steps, observations = 0, self._observations
        for observation, _, reward, _, _, _, survival_bonus in self._step(policy.act, seed):
            if steps == len(observations):
                observations = self._observations = np.concatenate([observations, observations])
            observations[steps] = observation
            return_ += reward
            bonus += survival_bonus
            steps += 1
        visited = observations[:steps].reshape(steps, -1)
        return Episode(return_, return_ - bonus, steps, Moments.of(visited))

    def step_through(self, act: Callable[[FloatArray], Any], seed: int) -> Iterator[Transition]:
        return map(Transition._make, self._step(act, seed))

    def _step(self, act: Callable[[FloatArray], Any], seed: int) -> Iterator[_Step]:
        """Transitions as plain tuples: naming their parts would cost an episode some per cent."""
        environment, copy, removes_bonus = self.environment, np.array, self.remove_survival_bonus
        step = environment.step
        observation = copy(environment.reset(seed=seed)[0])
        bonus, is_over = 0.0, False
        taken, limit = 0, self.max_episode_steps
        while not is_over:
            action = act(observation)
            following, reward, terminated, truncated, info = step(action)
            taken += 1
            truncated = truncated or taken == limit
            following = copy(following)  # some environments write into the same array again
            if removes_bonus:
                bonus = self._read_survival_bonus(info)
            yield observation, action, float(reward), following, terminated, truncated, bonus
            observation, is_over = following, terminated or truncated

    def close(self) -> None:
        self.environment.close()

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


def _make_room(name: str, state_shape: tuple[int, ...]) -> NDArray[np.float64]:
    """For the observations of an episode."""
    try:
        return np.empty((1000, *state_shape))
    except (MemoryError, ValueError) as error:
        raise BadInput(f"task '{name}' has observations that no memory holds: {error}") from error


def _make_lean_loop(
    environment: gymnasium.Env[Any, Any], max_episode_steps: int | None
) -> LeanLoop | None:
    """A faster loop where the environment is one of those it knows exactly."""
    if not type(environment.unwrapped).__module__.startswith("gymnasium.envs.mujoco"):
        return None  # and MuJoCo is not imported
    try:
        from litmus.tasks.lean_mujoco import LeanLoop, find_facts
    except RuntimeError as error:  # such as MUJOCO_GL set to something that it does not know
        raise BadInput(f"MuJoCo cannot be used: {one_line(error)}") from error

    facts = find_facts(environment)
    return None if facts is None else LeanLoop(environment, facts, max_episode_steps)


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
