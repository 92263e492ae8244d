"""Algorithms beside each other on several tasks: what the runs of an experiment come to.

Returns of different tasks cannot be averaged; scores can. A score is 0 for what the untrained
policies earn in a task and 1 for the mean of the algorithm that is best there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from litmus.analysis.statistics import (
    FEWEST_FOR_INTERVAL,
    Band,
    Estimate,
    Floats,
    compute_sign_flip_p,
    interquartile_mean,
    performance_profile,
    probability_of_improvement,
    standard_deviation,
    stratified_bootstrap,
    summarize_mean,
)

LEVEL = 0.05
TEST = f"one-sided sign-flip test of the gains of all seeds, p < {LEVEL}"

OVERALL = "over all tasks"
"""What stands in a file beside tasks, none of which can be called that: names have no spaces."""

PROFILE = np.linspace(0.0, 1.2, 61)
"""Scores at which a performance profile is drawn."""


@dataclass(frozen=True)
class Cell:
    """One algorithm on one task: what each seed ended with."""

    task: str
    algorithm: str
    steps: int
    """That the run with the fewest made; 0: it was not trained."""
    seeds: tuple[int, ...]
    returns: tuple[float, ...]
    """Final returns, one of each seed."""
    untrained: tuple[float, ...] = ()
    """What the same seeds earned before training; empty where that was not measured."""
    last: tuple[float, ...] = ()
    """What their last policies earned, where others were handed over; empty where none was."""

    @cached_property
    def mean(self) -> Estimate:
        return summarize_mean(self.returns)

    @property
    def std(self) -> float | None:
        return standard_deviation(self.returns)

    @property
    def iqm(self) -> float:
        return float(interquartile_mean(self.returns))

    @cached_property
    def p_untrained(self) -> float | None:
        """How likely chance alone gives such a gain; None where few seeds cannot tell."""
        if not self.untrained or len(self.returns) < FEWEST_FOR_INTERVAL:
            return None
        return compute_sign_flip_p(np.subtract(self.returns, self.untrained).tolist())

    @property
    def is_above_untrained(self) -> bool:
        return self.p_untrained is not None and self.p_untrained < LEVEL

    @property
    def is_trained(self) -> bool:
        return self.steps > 0

    def to_json(self) -> dict[str, Any]:
        mean, interval = self.mean, [self.mean.low, self.mean.high]
        return {
            "mean": mean.value,
            "std": self.std,
            "iqm": self.iqm,
            "ci95": None if mean.is_range else interval,
            **({"range": interval} if mean.is_range else {}),
            "seeds": list(self.seeds),
            "returns": list(self.returns),
            "untrained": list(self.untrained) or None,
            "p_untrained": self.p_untrained,
            "last": list(self.last) or None,
            "steps": self.steps,
        }


@dataclass(frozen=True)
class Comparison:
    """Cells that have at least one run, in the order of the experiment."""

    cells: tuple[Cell, ...]

    @property
    def tasks(self) -> list[str]:
        return list(dict.fromkeys(cell.task for cell in self.cells))

    @property
    def algorithms(self) -> list[str]:
        return list(dict.fromkeys(cell.algorithm for cell in self.cells))

    @property
    def trained(self) -> list[str]:
        return list(dict.fromkeys(cell.algorithm for cell in self.cells if cell.is_trained))

    @staticmethod
    def from_json(table: Mapping[str, Mapping[str, Any]]) -> Comparison:
        """From what `to_json` wrote; more may stand beside it."""
        return Comparison(
            tuple(
                Cell(
                    task,
                    algorithm,
                    int(told["steps"]),
                    tuple(told["seeds"]),
                    tuple(told["returns"]),
                    tuple(told.get("untrained") or ()),
                    tuple(told.get("last") or ()),
                )
                for task, row in table.items()
                if task != OVERALL
                for algorithm, told in row.items()
            )
        )

    def find(self, task: str, algorithm: str) -> Cell | None:
        wanted = (task, algorithm)
        return next((one for one in self.cells if (one.task, one.algorithm) == wanted), None)

    def to_json(self) -> dict[str, dict[str, Any]]:
        table: dict[str, dict[str, Any]] = {}
        for cell in self.cells:
            table.setdefault(cell.task, {})[cell.algorithm] = cell.to_json()
        return table

    @cached_property
    def scored_tasks(self) -> list[str]:
        """Tasks in which every algorithm was trained, and the best of them is clearly above
        untrained: where it is not, a score would divide by chance."""
        found = []
        for task in self.tasks:
            cells = [self.find(task, name) for name in self.trained]
            if all(cells) and self._find_scale(task) is not None:
                found.append(task)
        return found

    @property
    def has_intervals(self) -> bool:
        """Whether every algorithm has enough seeds in each task for one."""
        trained = [cell for cell in self.cells if cell.is_trained]
        return all(len(cell.returns) >= FEWEST_FOR_INTERVAL for cell in trained)

    def score(self, algorithm: str) -> list[Floats]:
        """The algorithm's scores, one array per scored task."""
        scores = []
        for task in self.scored_tasks:
            cell, scale = self.find(task, algorithm), self._find_scale(task)
            assert cell is not None
            assert scale is not None
            zero, one = scale
            scores.append((np.asarray(cell.returns) - zero) / (one - zero))
        return scores

    def score_interquartile(self, algorithm: str) -> Estimate:
        """The interquartile mean of all its scores, resampled within each task."""
        return stratified_bootstrap(self.score(algorithm))

    def draw_profile(self, algorithm: str) -> Band:
        return performance_profile(self.score(algorithm), PROFILE)

    def compare(self, first: str, second: str) -> Estimate | None:
        """How likely a run of the first ends above one of the second, over the tasks of both; None
        where there is no such task."""
        both = [(self.find(task, first), self.find(task, second)) for task in self.tasks]
        returns = [(np.asarray(a.returns), np.asarray(b.returns)) for a, b in both if a and b]
        if not returns:
            return None
        return probability_of_improvement(*zip(*returns, strict=True))

    def _find_scale(self, task: str) -> tuple[float, float] | None:
        """The returns that are scored 0 and 1; None where the best is not above untrained, or, with
        seeds enough to tell, not significantly."""
        cells = [cell for cell in self.cells if cell.task == task and cell.is_trained]
        untrained = [value for cell in cells for value in cell.untrained]
        if not untrained:
            return None
        best = max(cells, key=lambda cell: cell.mean.value)
        zero, one = float(np.mean(untrained)), best.mean.value
        is_above = best.p_untrained is None or best.is_above_untrained
        return (zero, one) if is_above and one > zero else None
