"""Which of several untrained policies a run goes on from.

Learning goes on from each for a while, and then from the one that led to the best. Where it stands
still there, others are tried, as long as there is time to go on with one of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from litmus.algorithms.base import Algorithm, BeginsAnew
from litmus.rollouts.failure import Tell
from litmus.runs.state import Counters, SelectionState

BEGINNING_ITERATIONS, BEGINNING_SHARE = 6, 0.02
"""How long a beginning is tried: for so many iterations and this share of the run's steps."""
BEGINNINGS_SHARE = 1 / 4
"""Of the run's steps that several beginnings may take together: each is cut short accordingly."""
MOST_SETS = 3
"""Of beginnings, where learning stands still after those before."""
STILL_ROUNDS, STILL_SHARE, STILL_GAIN = 6, 0.1, 0.05
"""Learning is looked at whenever so many rounds and this share of the run's steps are over. It
stands still where the later half of these rounds is ahead of the earlier one by less than this
share of what has been gained since the first round."""


@dataclass(frozen=True)
class Beginnings:
    steps: int
    """Of the whole run."""
    algorithm: Algorithm
    tell: Tell

    @property
    def wanted(self) -> int:
        """In a set."""
        return self.algorithm.beginnings if isinstance(self.algorithm, BeginsAnew) else 1

    def has_tried(self, state: SelectionState, counters: Counters) -> bool:
        """Whether the beginning of now can be told from others, or has had its share."""
        age = counters.steps - state.begun_at
        longest = BEGINNINGS_SHARE * self.steps / self.wanted - 2 * state.cost
        iterations = counters.iterations - state.measured_at
        is_long = iterations >= BEGINNING_ITERATIONS and age >= BEGINNING_SHARE * self.steps
        return is_long or age >= longest

    def begin_anew_or_go_on(self, state: SelectionState, steps: int) -> None:
        """`steps` of the run were enough for the beginnings so far."""
        assert isinstance(self.algorithm, BeginsAnew)
        state.tried += 1
        tried, age = state.tried - (state.wanted - self.wanted), steps - state.set_at
        if age * (tried + 1) / tried > BEGINNINGS_SHARE * self.steps:
            state.tried = state.wanted  # there is no room for another
        if state.tried < state.wanted:
            self._begin_anew(state, steps)
            return
        state.looked_at, state.since = steps, np.empty(0)
        self.tell(f"step {steps}: learning goes on from beginning {state.best_beginning + 1}")
        if state.beginning != state.best_beginning:
            state.beginning = state.best_beginning
            self.algorithm.go_back(state.center, has_lost=False)

    def _begin_anew(self, state: SelectionState, steps: int) -> None:
        assert isinstance(self.algorithm, BeginsAnew)
        state.beginning, state.begun_at = state.tried, steps
        self.algorithm.begin_anew(state.beginning)

    def try_others_if_still(
        self, state: SelectionState, counters: Counters, round_mean: float | None, reserve: int
    ) -> None:
        """Where the best of those before leads nowhere, and there is time to go on with another.

        `round_mean`: what the newest perturbed policies earned; `reserve`: steps of the end.
        """
        steps, total = counters.steps, self.steps
        has_room = total - reserve - steps >= 2 * BEGINNINGS_SHARE * total
        first = state.first_mean
        if state.tried < state.wanted or self.wanted == 1 or first is None or not has_room:
            return
        if round_mean is not None:
            state.since = np.append(state.since, round_mean)
        count = len(state.since)
        if count < STILL_ROUNDS or steps - state.looked_at < STILL_SHARE * total:
            return
        earlier, later = state.since[: count // 2].mean(), state.since[count // 2 :].mean()
        is_moving = later - earlier >= STILL_GAIN * abs(later - first)
        state.looked_at, state.since = steps, np.empty(0)
        if not is_moving and state.wanted < MOST_SETS * self.wanted:
            self.tell(f"step {steps}: learning stands still, other beginnings are tried")
            state.set_at, state.wanted = steps, state.wanted + self.wanted
            state.measured_at = counters.iterations
            self._begin_anew(state, steps)
