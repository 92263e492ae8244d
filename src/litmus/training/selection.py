"""Which policy a run hands over: the best that was measured on the way, not the last one.

A share of the steps measures θ now and then, by no more of an episode than it takes to tell
policies apart. What seems better than the best so far is measured once more before it takes its
place. Learning that has clearly lost more than half of what it had gained, several times in a row,
goes back to the best. In the end the best, the last and the untrained policy meet on fresh
episodes, which are whole. A run that is too short for all this does without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from litmus.algorithms.base import Algorithm, CutsEpisodes, GoesBack, LooksForBeginning
from litmus.config import TrainConfig
from litmus.rollouts.base import Collector, Request
from litmus.runs.state import Candidate, Counters, SelectionState
from litmus.seeding import Stream
from litmus.tasks.base import Cut

CLEARLY = 2.0
"""Standard errors of a difference that is hardly luck."""
FALLS = 3
"""Measurements in a row that must say so before learning goes back: its way may lead downhill."""
ITERATIONS_BETWEEN = 10
"""At least, between two measurements: a little learning is not worth one."""
FINALISTS, MOST_TIMES, FINAL_SHARE = 3, 8, 0.02
"""Policies that meet in the end. Each gets so many times the episodes of a measurement where they
are cheap, and no more of the run's steps than this where they are not, but for one measurement."""
MOST_SHARE = 1 / 3
"""Of the run's steps that the first measurement and the end may take: else nothing is measured."""
FINAL_INDEX = 2**40
"""Where the episodes of the end begin: a run that goes on later does not notice that they were."""


@dataclass(frozen=True)
class Measured:
    """One measurement of θ on the way."""

    returns: NDArray[np.float64]
    steps: int
    episodes: int
    is_best: bool
    went_back: bool
    cut: Cut | None
    """How episodes were cut; their returns are as if they had gone on."""


@dataclass(frozen=True)
class Choice:
    """How the best, the last and the untrained policy did in the end."""

    best: Candidate
    last: Candidate
    untrained: Candidate
    steps: int
    episodes: int

    @property
    def handed_over(self) -> Candidate:
        """The last one only where it is clearly better: the best was measured more often."""
        return self.last if is_clearly_less(self.best.returns, self.last.returns) else self.best

    @property
    def is_improvement(self) -> bool:
        return is_clearly_less(self.untrained.returns, self.handed_over.returns)


def count_at_once(config: TrainConfig) -> int:
    """Episodes that the pool must have room for."""
    return MOST_TIMES * config.selection_episodes if config.selection_share else 0


class Selection:
    """Measures an algorithm's θ; `state` is what a checkpoint keeps, None where it is off."""

    def __init__(self, config: TrainConfig, collector: Collector, algorithm: Algorithm) -> None:
        self.config, self.collector, self.algorithm = config, collector, algorithm
        self.state: SelectionState | None = None

    def begin(self) -> None:
        """Remember the untrained policy."""
        if self.config.selection_share:
            untrained = self._describe_theta(steps=0)
            self.state = SelectionState(untrained, untrained, self._find_center())

    @property
    def reserve(self) -> int:
        """Steps that the end will take, more or less."""
        if self.state is None:
            return 0
        return FINALISTS * self._count_times(self.state) * self.state.cost

    def _count_times(self, state: SelectionState) -> int:
        """How many measurements' episodes each policy gets in the end."""
        affordable = int(FINAL_SHARE * self.config.steps / max(1, state.cost))
        return max(1, min(affordable, MOST_TIMES))

    def measure_if_due(self, counters: Counters) -> Measured | None:
        state, share, steps = self.state, self.config.selection_share, counters.steps
        if state is None or counters.episodes == 0:
            return None
        if state.episodes == 0:
            return self._measure_untrained(state, steps / counters.episodes)
        if isinstance(self.algorithm, LooksForBeginning) and self.algorithm.is_beginning:
            return None
        cut = self.algorithm.cut if isinstance(self.algorithm, CutsEpisodes) else None
        part = cut.most_steps / cut.whole_steps if cut else 1.0
        is_dear = state.spent + state.cost * part > share * steps
        if is_dear or counters.iterations < state.measured_at + ITERATIONS_BETWEEN:
            return None
        state.measured_at = counters.iterations
        spent, episodes = state.spent, state.episodes
        if cut != state.cut:
            self._measure_anew(state, cut)
        before = state.spent
        theta = self._measure(state, self._describe_theta(steps))
        state.cost = round((state.spent - before) / part)
        if is_less(state.best.returns, theta.returns):
            theta = self._measure(state, theta)
        is_best, went_back = is_less(state.best.returns, theta.returns), False
        if is_best:
            state.best, state.center, state.falls = theta, self._find_center(), 0
        elif is_clearly_less(theta.returns, state.best.returns):
            state.best = self._measure(state, state.best)  # perhaps it was only lucky
            state.falls = state.falls + 1 if has_lost(theta, state) else 0
            went_back = self._go_back_if_lost(state)
        else:
            state.falls = 0
        return Measured(
            theta.returns,
            state.spent - spent,
            state.episodes - episodes,
            is_best,
            went_back,
            state.cut,
        )

    def _measure_anew(self, state: SelectionState, cut: Cut | None) -> None:
        """Episodes are cut otherwise now: older returns cannot be compared with new ones."""
        state.cut, is_untrained = cut, state.best.steps == state.untrained.steps
        state.untrained = self._measure(state, replace(state.untrained, returns=np.empty(0)))
        if is_untrained:
            state.best = state.untrained
        else:
            state.best = self._measure(state, replace(state.best, returns=np.empty(0)))

    def _measure_untrained(self, state: SelectionState, episode_steps: float) -> Measured | None:
        """Now that it is known how long episodes are; give up where they are too long."""
        measurements = 1 + FINALISTS
        wanted = measurements * self.config.selection_episodes * episode_steps
        if wanted > MOST_SHARE * self.config.steps:
            self.state = None
            return None
        untrained = state.untrained = state.best = self._measure(state, state.untrained)
        state.cost = state.spent
        return Measured(
            untrained.returns,
            state.spent,
            state.episodes,
            is_best=True,
            went_back=False,
            cut=None,
        )

    def choose(self, steps: int) -> Choice | None:
        """Let the policies meet on episodes that none of them has seen; `steps`: of the run."""
        if self.state is None or self.state.episodes == 0:
            return None
        count = self._count_times(self.state) * self.config.selection_episodes
        indices, spent, met = range(FINAL_INDEX, FINAL_INDEX + count), 0, []
        for one in (self.state.best, self._describe_theta(steps), self.state.untrained):
            returns, its_steps = self._run(one, indices, None)
            met.append(replace(one, returns=returns))
            spent += its_steps
        best, last, untrained = met
        return Choice(best, last, untrained, spent, FINALISTS * count)

    def _go_back_if_lost(self, state: SelectionState) -> bool:
        if state.falls < FALLS or not isinstance(self.algorithm, GoesBack):
            return False
        self.algorithm.go_back(state.center)
        state.falls = 0
        return True

    def _describe_theta(self, steps: int) -> Candidate:
        algorithm = self.algorithm
        return Candidate(algorithm.flat_params, algorithm.normalizer, np.empty(0), steps)

    def _find_center(self) -> dict[str, object]:
        return dict(self.algorithm.center) if isinstance(self.algorithm, GoesBack) else {}

    def _measure(self, state: SelectionState, candidate: Candidate) -> Candidate:
        """The candidate with some more returns."""
        first, count = state.episodes, self.config.selection_episodes
        returns, steps = self._run(candidate, range(first, first + count), state.cut)
        state.episodes += count
        state.spent += steps
        return replace(candidate, returns=np.concatenate([candidate.returns, returns]))

    def _run(
        self, candidate: Candidate, indices: Sequence[int], cut: Cut | None
    ) -> tuple[NDArray[np.float64], int]:
        """Finite returns, and the steps of all."""
        flat_params, normalizer = candidate.flat_params, candidate.normalizer
        most_steps = cut.most_steps if cut else None
        request = Request(
            flat_params, normalizer, 0.0, Stream.SELECTION, indices, most_steps=most_steps
        )
        episodes = self.collector.start(request).result()
        returns = np.array([one.return_ for one in episodes], dtype=np.float64)
        steps = np.array([one.steps for one in episodes])
        returns = cut.extend(returns, steps) if cut else returns
        return returns[np.isfinite(returns)], int(steps.sum())


def has_lost(theta: Candidate, state: SelectionState) -> bool:
    """Whether θ, clearly worse than the best, has less than half of what that one clearly gained,
    or is clearly worse than the untrained policy, which was not the best. While nothing better was
    found, the way may lead downhill."""
    best, untrained = state.best, state.untrained
    if not is_clearly_less(theta.returns, best.returns):
        return False
    if is_clearly_less(untrained.returns, best.returns):
        halfway = (compute_mean(untrained.returns) + compute_mean(best.returns)) / 2
        return compute_mean(theta.returns) < halfway
    return best.steps > untrained.steps and is_clearly_less(theta.returns, untrained.returns)


def compute_mean(returns: NDArray[np.float64]) -> float:
    """Below everything where no return is known."""
    return float(np.mean(returns)) if returns.size else -math.inf


def is_less(some: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    return compute_mean(some) < compute_mean(others)


def is_clearly_less(some: NDArray[np.float64], others: NDArray[np.float64]) -> bool:
    """By more than luck would explain."""
    if not some.size or not others.size:
        return is_less(some, others)
    spread = sum(float(np.var(one, ddof=1)) / one.size for one in (some, others) if one.size > 1)
    return compute_mean(others) - compute_mean(some) > CLEARLY * math.sqrt(spread)
