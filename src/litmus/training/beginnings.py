"""Which of several untrained policies a run goes on from.

Learning goes on from each for a while, and then from the one that led to the best. When one is far
ahead of the next, no others are tried.
"""

from __future__ import annotations

from dataclasses import dataclass

from litmus.algorithms.base import Algorithm, BeginsAnew
from litmus.rollouts.failure import Tell
from litmus.runs.state import Counters, SelectionState

BEGINNING_ITERATIONS, BEGINNING_SHARE = 6, 0.02
"""How long a beginning is tried: for so many iterations and this share of the run's steps."""
BEGINNINGS_SHARE = 1 / 4
"""Of the run's steps that several beginnings may take together: each is cut short accordingly."""
FAR_AHEAD = 3.0
"""Times what the next best beginning gained: when one gained more, no others are tried."""


@dataclass(frozen=True)
class Beginnings:
    steps: int
    """Of the whole run."""
    algorithm: Algorithm
    tell: Tell

    @property
    def wanted(self) -> int:
        """How many to try."""
        return self.algorithm.beginnings if isinstance(self.algorithm, BeginsAnew) else 1

    def has_tried(self, state: SelectionState, counters: Counters) -> bool:
        """Whether the beginning of now can be told from others, or has had its share."""
        age = counters.steps - state.begun_at
        longest = BEGINNINGS_SHARE * self.steps / self.wanted - 2 * state.cost
        iterations = counters.iterations - state.measured_at
        is_long = iterations >= BEGINNING_ITERATIONS and age >= BEGINNING_SHARE * self.steps
        return is_long or age >= longest

    def begin_anew_or_go_on(self, state: SelectionState, steps: int, gain: float) -> None:
        """`steps` of the run were enough for the beginnings so far, the best of which gained so
        much over the untrained policy."""
        assert isinstance(self.algorithm, BeginsAnew)
        state.tried += 1
        has_room = steps * (state.tried + 1) / state.tried <= BEGINNINGS_SHARE * self.steps
        is_far_ahead = state.tried > 1 and gain > FAR_AHEAD * state.next_gain
        if is_far_ahead or not has_room:
            state.tried = self.wanted
        if state.tried < self.wanted:
            state.beginning, state.begun_at = state.tried, steps
            self.algorithm.begin_anew(state.beginning)
            return
        self.tell(f"step {steps}: learning goes on from beginning {state.best_beginning + 1}")
        if state.beginning != state.best_beginning:
            state.beginning = state.best_beginning
            self.algorithm.go_back(state.center, has_lost=False)
