"""What V predicted beside what was measured, and whether that beats guessing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from litmus.analysis.statistics import Floats, rank_correlation

Verdict = Literal["better", "ranks only", "no better", "nothing to tell apart", "too few"]

FEWEST_JUDGED = 8
"""Below that, chance alone gives any rank correlation."""


@dataclass(frozen=True)
class Judgement:
    """Predictions beside measurements."""

    predicted: Floats  # [B]
    measured: Floats  # [B]

    @property
    def rank_correlation(self) -> float | None:
        return rank_correlation(self.predicted, self.measured)

    @property
    def error(self) -> float | None:
        """Root of the mean squared error."""
        if not self.measured.size:
            return None
        return float(np.sqrt(np.mean(np.square(self.predicted - self.measured))))

    @property
    def guessing_error(self) -> float | None:
        """The error of always saying the mean of what was measured: what V must beat."""
        return float(np.std(self.measured)) if self.measured.size else None

    @property
    def verdict(self) -> Verdict:
        """Whether V is better than always guessing the mean, and whether it ranks at all.

        A rank correlation counts where it is two standard deviations above that of random
        predictions, which is 1/√(B-1).
        """
        count = self.measured.size
        if count < FEWEST_JUDGED:
            return "too few"
        if np.ptp(self.measured) == 0:
            return "nothing to tell apart"
        correlation = self.rank_correlation
        if correlation is None or correlation <= 2 / np.sqrt(count - 1):
            return "no better"
        error, guessing = self.error, self.guessing_error
        assert error is not None
        assert guessing is not None
        return "better" if error < guessing else "ranks only"
