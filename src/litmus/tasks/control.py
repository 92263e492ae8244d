"""Any Gymnasium environment with Box observations and Box or Discrete actions, as a task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.tasks.base import (
    Actions,
    ContinuousActions,
    DiscreteActions,
    Episode,
    Moments,
    RolloutPolicy,
)
from litmus.tasks.gymnasium_registry import make_environment

if TYPE_CHECKING:
    from litmus.tasks.lean_mujoco import LeanLoop


class ControlTask:
    """One environment, kept for many episodes."""

    def __init__(
        self,
        environment_id: str,
        remove_survival_bonus: bool = False,
        registration: str | None = None,
    ) -> None:
        self.environment_id = environment_id
        self.remove_survival_bonus = remove_survival_bonus
        self.environment = make_environment(environment_id, registration)
        self.state_shape = _read_state_shape(environment_id, self.environment)
        self.actions: Actions = _read_actions(environment_id, self.environment)
        space = self.environment.action_space
        self._action_shape = space.shape
        self._first_choice = int(space.start) if isinstance(space, spaces.Discrete) else 0
        self._observations: NDArray[np.float64] = np.empty((1000, *self.state_shape))
        self._lean_loop = _make_lean_loop(self.environment)

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        if self._lean_loop is not None:
            return self._lean_loop.run_episode(policy, seed, self.remove_survival_bonus)
        return self.run_gymnasium_episode(policy, seed)

    def run_gymnasium_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        """Through the environment's own `step`, whatever environment it is."""
        environment, observations = self.environment, self._observations
        act, step = policy.act, environment.step
        discrete = isinstance(self.actions, DiscreteActions)
        observation, _ = environment.reset(seed=seed)
        return_ = bonus = 0.0
        steps = 0
        while True:
            if steps == len(observations):
                observations = self._observations = np.concatenate([observations, observations])
            observations[steps] = observation
            action = act(observation)
            action = action + self._first_choice if discrete else action.reshape(self._action_shape)
            observation, reward, terminated, truncated, info = step(action)
            return_ += float(reward)
            if self.remove_survival_bonus:
                bonus += self._read_survival_bonus(info)
            steps += 1
            if terminated or truncated:
                break
        visited = observations[:steps].reshape(steps, -1)
        return Episode(return_, return_ - bonus, steps, Moments.of(visited))

    def close(self) -> None:
        self.environment.close()

    def _read_survival_bonus(self, info: dict[str, Any]) -> float:
        """What the environment says it paid for staying alive in this step."""
        if "reward_survive" in info:  # MuJoCo -v5, and Ant-v4
            return float(info["reward_survive"])
        # The other -v4 environments compute it from their state and do not report it.
        return float(getattr(self.environment.unwrapped, "healthy_reward", 0.0))


def _make_lean_loop(environment: gymnasium.Env[Any, Any]) -> LeanLoop | None:
    """A faster loop where the environment is one of those it knows exactly."""
    if not type(environment.unwrapped).__module__.startswith("gymnasium.envs.mujoco"):
        return None  # and MuJoCo is not imported
    try:
        from litmus.tasks.lean_mujoco import LeanLoop, find_facts
    except RuntimeError as error:  # such as MUJOCO_GL set to something that it does not know
        raise BadInput(f"MuJoCo cannot be used: {' '.join(str(error).split())}") from error

    facts = find_facts(environment)
    return None if facts is None else LeanLoop(environment, facts)


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
        return DiscreteActions(int(space.n))
    if isinstance(space, spaces.Box) and np.issubdtype(space.dtype, np.floating):
        low, high = space.low.ravel().tolist(), space.high.ravel().tolist()
        return ContinuousActions(tuple(map(float, low)), tuple(map(float, high)))
    raise BadInput(f"task '{name}' has {space} actions; litmus needs a Box of floats, or Discrete")
