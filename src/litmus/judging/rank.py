"""`litmus.rank`: the best of many policies, with as few episodes as possible.

Before anything is measured, a policy's return is what the evaluator says, as far as its interval
goes; each episode sharpens that. Top-two Thompson sampling (Russo, 2016) says whom to measure next:
draw every return from what is known, measure the best one or, half of the time, draw again until
another one is best and measure that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from litmus.evaluators.base import Estimate
from litmus.evaluators.kernel import KernelEvaluator
from litmus.fields import MOST_EPISODES, check_whole
from litmus.judging.compare import find_spreads
from litmus.judging.episodes import EpisodeRunner, pick
from litmus.judging.subjects import (
    GivenEvaluator,
    GivenPolicy,
    Judge,
    Predicts,
    find_judge,
    find_policies,
)
from litmus.policies.foreign import Reading
from litmus.runs.measured import TaskChoice
from litmus.seeding import Stream, make_generator

Floats = NDArray[np.float64]

SURE = 0.95
DRAWS = 2000
NOISE_GUESS = 1.0
"""Of one episode, where nothing is known: of the standard deviation of what V predicts."""
LEAST_EPISODES = 2
"""Of a policy that is said to be the best: one tells nothing of how episodes vary."""
GUESS_COUNTS = 3
"""Episodes that a guess of the noise is worth."""
MOST_TRIES = 50


@dataclass
class Beliefs:
    """What is known of the mean return of each policy: a normal distribution each."""

    means: Floats  # [B], before any episode
    spreads: Floats  # [B]
    noise: float
    """Standard deviation of one episode of a policy, as a guess."""
    returns: list[list[float]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.returns = self.returns or [[] for _ in self.means]

    def find_noise(self) -> float:
        """The guess, and how the episodes of each policy vary."""
        several = [np.array(one) for one in self.returns if len(one) > 1]
        squares = sum(float(((one - one.mean()) ** 2).sum()) for one in several)
        freedom = sum(len(one) - 1 for one in several)
        return float(np.sqrt((GUESS_COUNTS * self.noise**2 + squares) / (GUESS_COUNTS + freedom)))

    def posterior(self) -> tuple[Floats, Floats]:
        """Means and standard deviations now."""
        noise = max(self.find_noise(), 1e-9)
        counts = np.array([len(one) for one in self.returns])
        sums = np.array([sum(one) for one in self.returns])
        precision = 1 / self.spreads**2 + counts / noise**2
        means = (self.means / self.spreads**2 + sums / noise**2) / precision
        return means, np.sqrt(1 / precision)

    def find_probabilities(self, generator: np.random.Generator) -> Floats:
        """How probably each is the best."""
        means, spreads = self.posterior()
        drawn = means + spreads * generator.standard_normal((DRAWS, len(means)))
        return np.bincount(drawn.argmax(1), minlength=len(means)) / DRAWS

    def choose_next(self, generator: np.random.Generator) -> int:
        means, spreads = self.posterior()
        best = int(np.argmax(means + spreads * generator.standard_normal(len(means))))
        if generator.random() < 0.5 or len(means) < 2:
            return best
        for _ in range(MOST_TRIES):
            other = int(np.argmax(means + spreads * generator.standard_normal(len(means))))
            if other != best:
                return other
        rest = means.copy()
        rest[best] = -np.inf
        return int(np.argmax(rest))


@dataclass(frozen=True)
class Ranking:
    order: tuple[int, ...]
    """Places of the policies, the best first."""
    means: Floats  # [B], in the order that the policies were given in
    spreads: Floats  # [B]
    probability: float
    """That the first in the order is the best of all."""
    returns: tuple[tuple[float, ...], ...]
    """What each earned."""
    estimate: Estimate
    predicts: Predicts

    @property
    def episodes(self) -> int:
        return sum(map(len, self.returns))


def rank(
    evaluator: GivenEvaluator,
    policies: Sequence[GivenPolicy],
    *,
    budget: float = 0,
    seed: float = 0,
    task: TaskChoice | str | None = None,
    reading: Reading | None = None,
) -> Ranking:
    """Order policies by what they earn, and find the best with at most `budget` real episodes.

    It stops earlier once the best is found with a probability of 95%.
    """
    budget = check_whole("budget", budget, 0, MOST_EPISODES)
    seed = check_whole("seed", seed, 0, 2**32 - 1)
    judge = find_judge(evaluator, task)
    found = find_policies(policies, judge, reading)
    estimate = judge.evaluator.predict(found)
    beliefs = start_beliefs(judge, estimate)
    generator = make_generator(seed, Stream.VERIFICATION, 2**40)
    probabilities = beliefs.find_probabilities(generator)
    if budget:
        with EpisodeRunner(judge.require_task(), seed, stream=Stream.VERIFICATION) as runner:
            for _ in range(budget):
                place = beliefs.choose_next(generator)
                index = len(beliefs.returns[place])
                episode = runner.run(found[place], [index])[0]
                beliefs.returns[place].append(pick(episode, judge.predicts))
                probabilities = beliefs.find_probabilities(generator)
                best = int(probabilities.argmax())
                has_shown = len(beliefs.returns[best]) >= LEAST_EPISODES
                if probabilities[best] >= SURE and has_shown:
                    break
    means, spreads = beliefs.posterior()
    order = tuple(int(place) for place in np.argsort(-means, kind="stable"))
    return Ranking(
        order,
        means,
        spreads,
        float(probabilities[order[0]]),
        tuple(map(tuple, beliefs.returns)),
        estimate,
        judge.predicts,
    )


def start_beliefs(judge: Judge, estimate: Estimate) -> Beliefs:
    means = estimate.mean.double().numpy()
    unit = float(judge.evaluator.return_std)
    if not unit > 0 or unit == 1.0:
        unit = max(float(means.std()), abs(float(means.mean())), 1e-6)
    spreads = np.full(len(means), unit)
    noise = NOISE_GUESS * unit
    if estimate.low is not None:
        spreads = np.maximum(np.array(find_spreads(estimate)), 1e-9 + 1e-6 * unit)
    if isinstance(judge.evaluator, KernelEvaluator):
        noise = judge.evaluator.card.get("episode_spread") or noise
    return Beliefs(means, spreads, float(noise))
