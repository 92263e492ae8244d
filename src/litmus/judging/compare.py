"""`litmus.compare`: which of two policies is better, with as few episodes as that takes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from litmus.analysis.sequential import PairedTest, Verdict
from litmus.errors import BadInput, option
from litmus.evaluators.base import Estimate
from litmus.evaluators.calibration import CONFIDENCE
from litmus.fields import MOST_EPISODES, check_type, check_whole
from litmus.judging.episodes import EpisodeRunner, pick
from litmus.judging.subjects import (
    GivenEvaluator,
    GivenPolicy,
    Predicts,
    find_judge,
    find_policies,
)
from litmus.policies.foreign import Reading
from litmus.runs.measured import TaskChoice
from litmus.seeding import Stream


@dataclass(frozen=True)
class Comparison:
    verdict: Verdict
    estimate: Estimate
    """What the evaluator says of the two."""
    opinion: float | None
    """How probably the first is better, as the evaluator says; None where it knows no intervals."""
    differences: tuple[float, ...]
    """First less second, in each pair of episodes."""
    error_rate: float
    predicts: Predicts
    """What was predicted and measured."""

    @property
    def episodes(self) -> int:
        return 2 * len(self.differences)

    @property
    def mean_difference(self) -> float | None:
        return float(np.mean(self.differences)) if self.differences else None


def compare(
    evaluator: GivenEvaluator,
    first: GivenPolicy,
    second: GivenPolicy,
    *,
    budget: float = 0,
    error_rate: float = 0.05,
    seed: float = 0,
    task: TaskChoice | str | None = None,
    reading: Reading | None = None,
) -> Comparison:
    """Which of two policies earns more.

    Without a `budget` the evaluator alone decides, where it is sure enough. With one, up to so many
    real episodes are run, in pairs that start alike, until the test is decided: then it is wrong
    with at most the `error_rate`, whatever the evaluator says (`analysis/sequential.py`).
    """
    budget = check_whole("budget", budget, 0, MOST_EPISODES)
    seed = check_whole("seed", seed, 0, 2**32 - 1)
    error_rate = check_type("error_rate", error_rate, float)
    if not 0 < error_rate < 0.5:
        raise BadInput(f"{option('error_rate')} must be between 0 and 0.5, not {error_rate}")
    judge = find_judge(evaluator, task)
    one, other = find_policies([first, second], judge, reading)
    estimate = judge.evaluator.predict([one, other])
    opinion = find_opinion(estimate)
    if not budget:
        verdict: Verdict = "undecided"
        if opinion is not None and max(opinion, 1 - opinion) >= 1 - error_rate:
            verdict = "first" if opinion > 0.5 else "second"
        return Comparison(verdict, estimate, opinion, (), error_rate, judge.predicts)
    test = PairedTest(error_rate, 0.5 if opinion is None else opinion)
    if budget < 2 * (least := test.count_least()):
        raise BadInput(
            f"{option('budget')} must be at least {2 * least} here, an episode of each policy in "
            f"{least} pairs: fewer cannot decide with an error rate of {error_rate:g}"
        )
    with (
        EpisodeRunner(judge.require_task(), seed, stream=Stream.VERIFICATION) as ours,
        EpisodeRunner(judge.require_task(), seed, stream=Stream.VERIFICATION) as theirs,
    ):
        for index in range(budget // 2):
            values = [
                pick(runner.run(policy, [index])[0], judge.predicts)
                for runner, policy in ((ours, one), (theirs, other))
            ]
            if test.add(values[0] - values[1]) != "undecided":
                break
    return Comparison(
        test.verdict, estimate, opinion, tuple(test.differences), error_rate, judge.predicts
    )


def find_opinion(estimate: Estimate) -> float | None:
    """How probably the first of two is better; None without intervals."""
    if estimate.low is None or estimate.high is None:
        return None
    spreads = find_spreads(estimate)
    gap = float(estimate.mean[0] - estimate.mean[1])
    return NormalDist().cdf(gap / max(1e-12, math.hypot(spreads[0], spreads[1])))


def find_spreads(estimate: Estimate) -> list[float]:
    """Standard deviations that would give the intervals."""
    assert estimate.low is not None
    assert estimate.high is not None
    factor = 2 * NormalDist().inv_cdf(0.5 + CONFIDENCE / 2)
    return [float(width) / factor for width in estimate.high - estimate.low]
