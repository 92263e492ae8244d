"""Environments that misbehave, named as `misbehaving:Class`; the workers import this module too."""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from toys import Walk

from litmus.errors import BadInput, option

Step = tuple[Any, float, bool, bool, dict[str, Any]]


class Exits(Walk):
    """Calls sys.exit in its second step."""

    def check(self, action: Any) -> None:
        if self.taken == 2:
            sys.exit(3)


class ExitsWhenMade(Walk):
    def __init__(self) -> None:
        sys.exit("no display")


class Endless(Walk):
    """No episode of it ever ends by itself."""

    def step(self, action: Any) -> Step:
        observation, reward, _, _, info = super().step(action)
        return observation, reward, False, False, info


class Hangs(Walk):
    """Its third step never comes back."""

    def check(self, action: Any) -> None:
        while self.taken == 3:
            time.sleep(0.01)


class Prints(Walk):
    """Prints to standard output: through Python, and past it."""

    def __init__(self) -> None:
        super().__init__()
        print("made with a print")

    def check(self, action: Any) -> None:
        print("a step of Python")
        if sys.__stdout__ is not None:
            os.write(1, b"a step of C\n")


class Breaks(Walk):
    """An ordinary mistake in a function of its own."""

    def check(self, action: Any) -> None:
        self.measure_the_arm()

    def measure_the_arm(self) -> float:
        return 1 / (self.taken - self.taken)


class Refuses(Walk):
    """Finds only in its first step that it cannot use an option."""

    def check(self, action: Any) -> None:
        raise BadInput(f"{option('env_kwargs')} must name the arm")


class RunsOutOfMemory(Walk):
    def check(self, action: Any) -> None:
        raise MemoryError("Unable to allocate 3 TiB")


class Wide(Walk):
    """Observations that no memory holds."""

    def __init__(self) -> None:
        import numpy as np
        from gymnasium import spaces

        super().__init__()
        self.observation_space = spaces.Box(-1, 1, (3,), np.float64)
        self.observation_space._shape = (10**14,)
