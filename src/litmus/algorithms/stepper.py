"""One episode after the other, some steps at a time; and back to the middle of one.

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
from litmus.tasks.base import (
    Exploration,
    FloatArray,
    RunsStretches,
    StepsThrough,
    Stretch,
    Transition,
)

Act = Callable[[FloatArray], Any]


class Stepper:
    """The training episodes of a run, from number 0 on."""

    def __init__(
        self, task: StepsThrough, seed: int, arrange: Callable[[NDArray[np.float32]], Any]
    ) -> None:
        """`arrange`: an action's numbers as the task takes it."""
        self.task, self.seed, self.arrange = task, seed, arrange
        self._in_stretches = task if isinstance(task, RunsStretches) else None
        self._act: Act | None = None
        self.begin(0)

    def advance(self, exploration: Exploration) -> Stretch:
        """Take steps of the episode under way, of the next one where it is over: as many as the
        task takes at once. They are part of the episode when they are counted."""
        stretch = self._run_stretch(exploration)
        return self._take_one(exploration) if stretch is None else stretch

    def count(self, stretch: Stretch) -> None:
        rewards, bonuses = stretch.rewards.tolist(), stretch.survival_bonuses.tolist()
        self.steps += len(stretch)
        for reward, bonus in zip(rewards, bonuses, strict=True):
            self.return_ += reward
            self.training_return += reward - bonus

    def begin(self, episode: int) -> None:
        """Leave the episode under way, if any; this one is next."""
        self.episode = episode
        self.steps = 0
        """Taken in it."""
        self.return_ = self.training_return = 0.0
        """Of it, so far."""
        self._transitions: Iterator[Transition] | None = None
        generator = make_generator(self.seed, Stream.TRAINING, episode)
        self._task_seed = int(generator.integers(2**31))

    def repeat(self, actions: Sequence[Any], states: NDArray[np.float32]) -> bool:  # [T], [T, D]
        """Take the steps again that the next episode had; whether the task shows the same states
        again."""
        given = iter(actions)
        for state in states:
            transition = self._take(lambda _: next(given))
            if transition is None or not np.array_equal(_flatten(transition.observation), state):
                return False
            self.count(Stretch.of(transition))
        return True

    def _run_stretch(self, exploration: Exploration) -> Stretch | None:
        if self._in_stretches is None:
            return None
        try:
            return self._in_stretches.run_stretch(exploration, self._task_seed, self.steps)
        except (Exception, SystemExit) as error:
            raise make_error(describe_failure(error, self.name)) from error

    def _take_one(self, exploration: Exploration) -> Stretch:
        def act(observation: FloatArray) -> Any:
            return self.arrange(exploration.act(observation))

        transition = self._take(act)
        if transition is None and self.steps:  # it ended without saying so
            self.begin(self.episode + 1)
            transition = self._take(act)
        if transition is None:
            raise RunFailed(f"{self.name} has no step at all")
        return Stretch.of(transition)

    def _take(self, act: Act) -> Transition | None:
        """The next transition of the episode under way; None where there is none."""
        self._act = act
        try:
            if self._transitions is None:
                self._transitions = self.task.step_through(self._ask, self._task_seed)
            return next(self._transitions, None)
        except (Exception, SystemExit) as error:
            raise make_error(describe_failure(error, self.name)) from error

    def _ask(self, observation: FloatArray) -> Any:
        assert self._act is not None
        return self._act(observation)

    @property
    def name(self) -> str:
        return name_episode(Stream.TRAINING, self.episode)


def _flatten(observation: FloatArray) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return np.ravel(observation).astype(np.float32)
