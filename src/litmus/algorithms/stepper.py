"""One episode after the other, step by step; and back to the middle of one.

An environment's state cannot be saved in general. But an episode is a function of its seed and of
what was done in it, so the one under way is brought back by doing the same again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.errors import RunFailed
from litmus.rollouts.failure import describe_failure, make_error, name_episode
from litmus.seeding import Stream, make_generator
from litmus.tasks.base import FloatArray, StepsThrough, Transition

Act = Callable[[FloatArray], Any]


class Stepper:
    """The training episodes of a run, from number 0 on."""

    def __init__(self, task: StepsThrough, seed: int) -> None:
        self.task, self.seed = task, seed
        self.episode = 0
        """The one under way, or the next."""
        self.steps = 0
        """Taken in it."""
        self.return_ = self.training_return = 0.0
        """Of it, so far."""
        self._transitions: Iterator[Transition] | None = None
        self._act: Act | None = None

    def step(self, act: Act) -> Transition:
        """Take one step, of the next episode where the last one is over."""
        transition = self._take(act)
        if transition is None and self.steps:  # it ended without saying so
            self.begin(self.episode + 1)
            transition = self._take(act)
        if transition is None:
            raise RunFailed(f"{self.name} has no step at all")
        return transition

    def begin(self, episode: int) -> None:
        """Leave the episode under way, if any; this one is next."""
        self.episode, self.steps, self._transitions = episode, 0, None
        self.return_ = self.training_return = 0.0

    def repeat(self, actions: Sequence[Any], states: NDArray[np.float32]) -> bool:  # [T], [T, D]
        """Take the steps again that the next episode had; whether the task shows the same states
        again."""
        given = iter(actions)
        for state in states:
            transition = self._take(lambda _: next(given))
            if transition is None or not np.array_equal(_flatten(transition.observation), state):
                return False
        return True

    def _take(self, act: Act) -> Transition | None:
        """The next transition of the episode under way; None where there is none."""
        self._act = act
        try:
            if self._transitions is None:
                generator = make_generator(self.seed, Stream.TRAINING, self.episode)
                task_seed = int(generator.integers(2**31))
                self._transitions = self.task.step_through(self._ask, task_seed)
            transition = next(self._transitions, None)
        except (Exception, SystemExit) as error:
            raise make_error(describe_failure(error, self.name)) from error
        if transition is not None:
            self.steps += 1
            self.return_ += transition.reward
            self.training_return += transition.reward - transition.survival_bonus
        return transition

    def _ask(self, observation: FloatArray) -> Any:
        assert self._act is not None
        return self._act(observation)

    @property
    def name(self) -> str:
        return name_episode(Stream.TRAINING, self.episode)


def _flatten(observation: FloatArray) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.ravel(observation).astype(np.float32)
