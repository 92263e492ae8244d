"""What is said of algorithms beside each other, in sentences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from litmus.analysis.comparison import TEST, Comparison
from litmus.analysis.statistics import FEWEST_FOR_INTERVAL, standard_deviation
from litmus.counts import say_count
from litmus.reports.comparison_table import WIDEST, Figures, shorten_task, show_mean
from litmus.runs.final import DEFINITION

UNTRAINED = "untrained"

WORDS = (
    (
        "Return",
        "The sum of all rewards of one episode. An evaluation is the mean return of the policy "
        "without noise, over some episodes.",
    ),
    ("Final return", f"It is {DEFINITION}."),
    (
        "Interval, range",
        "A 95% interval of the mean says where the mean of other runs like these may lie; it is "
        f"bootstrapped over seeds. Fewer than {FEWEST_FOR_INTERVAL} seeds are too few for one: "
        "then it is the lowest and the highest seed.",
    ),
    (
        "Above untrained",
        "Whether the policies of all seeds together earn more than before their training, by more "
        f"than luck: {TEST}.",
    ),
    (
        "Interquartile mean",
        "The mean of the middle half of the values: one run that went wrong does not move it much.",
    ),
    (
        "Score",
        "A return on a scale on which tasks can be averaged: 0 is what the untrained policies earn "
        "in the task, 1 the mean of the algorithm that is best there.",
    ),
    (
        "Probability that a run ends above another",
        "For two runs by chance of the two algorithms, in the same task; every task counts alike.",
    ),
)


def say_intervals(comparison: Comparison) -> str:
    few = any(cell.mean.is_range for cell in comparison.cells)
    words = "Intervals are bootstrapped over seeds."
    if few:
        words += f" With fewer than {FEWEST_FOR_INTERVAL} seeds the range is shown instead."
    return words


def say_all_gains(comparison: Comparison, names: Sequence[str]) -> list[str]:
    """A sentence for each of these algorithms; of many, one for each task."""
    if len(names) > WIDEST:
        return [say_best(comparison, task) for task in comparison.tasks]
    said = [say_gains(comparison, name) for name in names]
    return [sentence for sentence in said if sentence]


def say_gains(comparison: Comparison, name: str) -> str:
    """In how many tasks an algorithm is better than before training, and than each other one."""
    cells = [cell for cell in comparison.cells if cell.algorithm == name]
    tested = [cell for cell in cells if cell.p_untrained is not None]
    parts = []
    if tested:
        better = [cell for cell in tested if cell.is_above_untrained]
        parts.append(
            f"significantly better than the untrained policy on {len(better)} of "
            f"{say_count(len(tested), 'task')} ({TEST})"
        )
    for other in comparison.algorithms:
        pairs = [(cell, comparison.find(cell.task, other)) for cell in cells if other != name]
        known = [(ours, theirs) for ours, theirs in pairs if theirs is not None]
        if known and other != UNTRAINED:
            above = sum(ours.mean.value >= theirs.mean.value for ours, theirs in known)
            parts.append(f"a mean at or above that of {other} on {above} of {len(known)}")
    return f"{name}: {'; '.join(parts)}." if parts else ""


def say_last(comparison: Comparison) -> str:
    """What algorithms that hand over their best policy have beside others that hand over their
    last: nothing where there are none."""
    last = [
        f"{shorten_task(cell.task)}, {cell.algorithm} "
        + show_mean(float(np.mean(cell.last)), standard_deviation(cell.last))
        for cell in comparison.cells
        if cell.last
    ]
    told = "The mean over the last evaluations, of runs that hand over another policy than the last"
    return f"{told}: {'; '.join(last)}." if last else ""


def say_best(comparison: Comparison, task: str) -> str:
    """Which algorithm has the best mean in a task, and which comes next."""
    cells = [cell for cell in comparison.cells if cell.task == task and cell.is_trained]
    cells.sort(key=lambda cell: cell.mean.value, reverse=True)
    named = [f"{cell.algorithm} ({show_mean(cell.mean.value, cell.std)})" for cell in cells[:2]]
    return (
        f"{shorten_task(task)}: the best mean of {len(cells)} is that of {', then '.join(named)}."
    )


def say_beside_paper(comparison: Comparison, paper: Figures, algorithm: str) -> str:
    """Where an algorithm's mean is below what the paper reports, less its standard deviation."""
    cells = [cell for cell in comparison.cells if cell.algorithm == algorithm]
    known = [(cell, found) for cell in cells if (found := paper.find(cell)) is not None]
    if not known:
        return ""
    below = [c for c, (mean, std) in known if c.mean.value < mean - (std or 0.0)]
    words = f"{algorithm}: within or above the paper's mean ± standard deviation on "
    words += f"{len(known) - len(below)} of {say_count(len(known), 'task')}"
    names = ", ".join(shorten_task(cell.task) for cell in below)
    return f"{words}; below it on {names}." if below else f"{words}."
