"""Which of two policies earns more: a test that may be looked at after every episode.

Each pair of episodes starts alike. With d the difference of their returns and ψ = d over the median
|d| of the pairs before, cut to [-1, 1], somebody who bets the share λ of their money on 'the first
is better' has, after each pair, 1 + λ ψ of what they had before. If the first is *not* better, and
differences lie symmetrically about their mean, nobody can expect to win: the chance that the money
ever grows 1/α-fold is at most α, whenever one stops (Ville's inequality). The money is spread over
several λ. The same is bet on the second. The two share the error rate as an evaluator's opinion
says: a wrong opinion costs episodes, never the guarantee.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

Verdict = Literal["first", "second", "undecided"]

SHARES = np.array([0.1, 0.25, 0.5, 0.75, 0.95])
LEAST_OPINION = 0.2
"""Of the error rate, whatever an evaluator says: it may be wrong."""


@dataclass
class PairedTest:
    """Says 'first' or 'second' wrongly with at most this probability, however many pairs come."""

    error_rate: float = 0.05
    opinion: float = 0.5
    """How probably the first is better, as far as anybody knows before."""
    differences: list[float] = field(default_factory=list)
    _for_first: np.ndarray = field(default_factory=lambda: np.ones(len(SHARES)))
    _for_second: np.ndarray = field(default_factory=lambda: np.ones(len(SHARES)))
    verdict: Verdict = "undecided"

    def add(self, difference: float) -> Verdict:
        """The return of the first less that of the second, in episodes that start alike."""
        scale = float(np.median(np.abs(self.differences))) if self.differences else 0.0
        cut = np.clip(difference / scale, -1, 1) if scale > 0 else np.sign(difference)
        self.differences.append(difference)
        self._for_first = self._for_first * (1 + SHARES * cut)
        self._for_second = self._for_second * (1 - SHARES * cut)
        if self.verdict == "undecided":
            opinion = float(np.clip(self.opinion, LEAST_OPINION, 1 - LEAST_OPINION))
            # Where rare differences are large, most may say one thing and their mean another.
            mean = float(np.mean(self.differences))
            if mean > 0 and self.evidence("first") * self.error_rate * opinion >= 1:
                self.verdict = "first"
            elif mean < 0 and self.evidence("second") * self.error_rate * (1 - opinion) >= 1:
                self.verdict = "second"
        return self.verdict

    def count_least(self) -> int:
        """Pairs that it takes where each says the same: fewer decide nothing."""
        pairs = []
        for difference in (1.0, -1.0):
            test = PairedTest(self.error_rate, self.opinion)
            while test.add(difference) == "undecided":
                pass
            pairs.append(len(test.differences))
        return max(pairs)

    def evidence(self, side: Literal["first", "second"]) -> float:
        """What a stake of 1 on this side has become."""
        money = self._for_first if side == "first" else self._for_second
        return float(money.mean())
