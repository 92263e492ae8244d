"""How long episodes must be: no longer than it takes to tell policies apart.

    whole episodes of the newest rounds tell what each had earned after 128, 256, 512 … steps
    had rewards gone on as until then, what would each have earned in the end?
    the earliest of these marks that tells whole returns well enough: cut the next rounds there
    every now and then a round is whole, and all of this is asked again

Where a body runs, a quarter of an episode tells its speed. Where an episode is a fall, a reach or a
landing, rewards do not go on as they began, and episodes stay whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from litmus.tasks.base import MARKS, Cut, Episode

Floats = NDArray[np.float64]

COMPARED = 48
"""Whole episodes, the newest, that are asked."""
LEAST_LENGTH, MOST_COST = 0.25, 0.55
"""A cut episode, as a share of the longest whole one; and of the steps that whole ones take on
average: what saves less is not worth what it does not tell."""
WHOLE_SHARE = 0.25
"""Of the steps that go into whole episodes while others are cut."""


@dataclass
class Lengths:
    steadiness: float = 0.0
    """The share of the variance of whole returns, within rounds, that must be told for episodes to
    be cut; 0: they never are."""
    cut: int = 0
    """Steps that episodes are cut after, now; 0: they are whole."""
    seen: int = 0
    """Whole episodes so far."""
    whole_steps: int = 0
    """Of the newest whole round."""
    cut_steps: int = 0
    """Of those since."""
    earlier: Floats = field(default_factory=lambda: np.zeros((COMPARED, len(MARKS))))
    """What the newest whole episodes had earned at each mark."""
    returns: Floats = field(default_factory=lambda: np.zeros(COMPARED))
    steps: Floats = field(default_factory=lambda: np.zeros(COMPARED))
    rounds: Floats = field(default_factory=lambda: np.zeros(COMPARED))

    @property
    def enough(self) -> Cut | None:
        """What tells policies apart; None: only whole episodes do."""
        return Cut(self.cut, int(self.steps.max())) if self.cut else None

    @property
    def most_steps(self) -> int | None:
        """Of the episodes of the next round; None: they are whole."""
        is_whole_due = self.cut_steps * WHOLE_SHARE >= self.whole_steps * (1 - WHOLE_SHARE)
        return None if not self.cut or is_whole_due else self.cut

    def take_in(self, number: int, episodes: Sequence[Episode], most_steps: int | None) -> None:
        """The finite episodes of a round."""
        steps = sum(one.steps for one in episodes)
        if most_steps is not None:
            self.cut_steps += steps
            return
        earlier = [one.earlier for one in episodes if one.earlier is not None]
        if not self.steadiness or len(earlier) < len(episodes):
            return
        self.whole_steps, self.cut_steps = steps, 0
        newest = range(max(0, len(episodes) - COMPARED), len(episodes))
        rows = [(self.seen + place) % COMPARED for place in newest]
        self.earlier[rows] = [earlier[place] for place in newest]
        self.returns[rows] = [episodes[place].training_return for place in newest]
        self.steps[rows] = [episodes[place].steps for place in newest]
        self.rounds[rows] = number
        self.seen += len(episodes)
        self.cut = self._choose() if self.seen >= COMPARED else 0

    def _choose(self) -> int:
        longest, mean = self.steps.max(), self.steps.mean()
        spread = sum_squares_within(self.returns, self.rounds)
        for place, mark in enumerate(MARKS):
            if np.minimum(self.steps, mark).mean() > MOST_COST * mean:
                break
            said = self.earlier[:, place] * np.where(self.steps > mark, longest / mark, 1)
            missed = float(np.square(said - self.returns).sum())
            if mark >= LEAST_LENGTH * longest and missed < (1 - self.steadiness) * spread:
                return mark
        return 0

    def find_returns(self, episodes: Sequence[Episode], most_steps: int | None) -> Floats:
        """Training returns; of episodes that were cut, what they would be had rewards gone on."""
        returns = np.array([one.training_return for one in episodes])
        if most_steps is None:
            return returns
        longest = max(int(self.steps.max()), most_steps)
        return Cut(most_steps, longest).extend(returns, np.array([one.steps for one in episodes]))


def sum_squares_within(values: Floats, groups: Floats) -> float:
    """Of the differences from the mean of the group."""
    return sum(
        float(np.square(some - some.mean()).sum())
        for some in (values[groups == group] for group in np.unique(groups))
    )
