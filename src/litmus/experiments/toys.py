"""Two small tasks of `anywhere`: nothing in litmus was chosen by looking at them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces


class PointMass(gymnasium.Env[Any, Any]):
    """Push a point to the middle of a plane and keep it there, with 100 pushes.

    The bounds of a push are not symmetric: doing nothing means to push against their centre.
    """

    observation_space = spaces.Box(-np.inf, np.inf, (4,), np.float64)  # place, then velocity
    action_space = spaces.Box(np.array([-1.0, -0.5], np.float32), np.array([2.0, 1.0], np.float32))
    SECONDS = 0.1

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.velocity, self.taken = self.np_random.uniform(-2, 2, 2), np.zeros(2), 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        self.velocity = self.velocity + self.SECONDS * np.asarray(action, np.float64)
        self.place = self.place + self.SECONDS * self.velocity
        cost = float(self.place @ self.place + 0.1 * self.velocity @ self.velocity)
        return self._observe(), -cost, False, self.taken >= 100, {}

    def _observe(self) -> Any:
        return np.concatenate([self.place, self.velocity])


class ImageGrid(gymnasium.Env[Any, Any]):
    """A square of 8 × 8 pixels: a bright one to steer into the corner below right, which is grey.

    Each step pays by how much nearer it came, so the best return is the distance at the start,
    8 on average; steering at random earns about 0.5.
    """

    observation_space = spaces.Box(0.0, 1.0, (8, 8), np.float32)
    action_space = spaces.Discrete(4)
    MOVES = ((-1, 0), (1, 0), (0, -1), (0, 1))  # up, down, left, right

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.place, self.taken = self.np_random.integers(0, 7, size=2), 0
        return self._observe(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.taken += 1
        before = int(self.place.sum())
        self.place = np.clip(self.place + self.MOVES[int(action)], 0, 7)
        nearer = float(int(self.place.sum()) - before)
        is_there = bool((self.place == 7).all())
        return self._observe(), nearer, is_there, self.taken >= 20, {}

    def _observe(self) -> Any:
        picture = np.zeros((8, 8), np.float32)
        picture[7, 7] = 0.5
        picture[tuple(self.place)] = 1.0
        return picture
