"""A round before and after it is run: what algorithms of perturbed policies ask for and keep."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from litmus.config import PssvfConfig
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Outcome, Request, Round
from litmus.seeding import Stream
from litmus.tasks.base import Episode


@dataclass(frozen=True)
class RoundPlan:
    """The next round: from which θ and normaliser, and which episodes."""

    number: int
    flat_params: NDArray[np.float32]  # [P]
    normalizer: Normalizer
    noise: float
    first_episode: int
    size: int
    antithetic: bool = False
    shared_start: bool = False
    most_steps: int | None = None

    @property
    def request(self) -> Request:
        indices = range(self.first_episode, self.first_episode + self.size)
        return Request(
            self.flat_params,
            self.normalizer,
            self.noise,
            Stream.TRAINING,
            indices,
            self.antithetic,
            self.first_episode if self.shared_start else None,
            self.most_steps,
        )

    def record(self, episodes: Sequence[Episode]) -> Round:
        return Round(
            self.number,
            self.flat_params,
            self.normalizer,
            self.noise,
            self.first_episode,
            [Outcome.of(episode) for episode in episodes],
            self.antithetic,
            self.most_steps,
        )


NOISE_FALLS_FROM, LEAST_STEPS = 0.3, 300_000
"""Of the run, and steps before which it never falls: till then noise finds a way to act, and less
and less of it makes the best of that way."""


@dataclass(frozen=True)
class Pace:
    """How far a round of Algorithm 1 goes: what falls over the rounds since its beginning."""

    config: PssvfConfig
    age: int
    """Rounds since the beginning."""
    step_factor: float
    """Of θ's steps."""
    noise_factor: float
    """Of the noise."""
    steps: int
    """Of the run that are done."""

    def find_fall(self, decay: float) -> float:
        """What is divided by, where something falls over so many rounds; 0: it does not fall."""
        return math.sqrt(1 + self.age / decay) if decay else 1.0

    def find_rest(self, settled: float) -> float:
        """What is left of something that is gone after this share of the run; 0: it stays."""
        late = self.steps / (settled * self.config.steps) if settled else 0.0
        return (1 + math.cos(math.pi * min(late, 1))) / 2

    def is_past(self, share: float) -> bool:
        """Whether this share of the run is done; 0: it never is."""
        return bool(share) and self.steps >= share * self.config.steps

    @property
    def noise(self) -> float:
        """The standard deviation of the perturbations."""
        return self.noise_factor * self.config.noise * self.noise_share

    @property
    def noise_change(self) -> float:
        """By how much the noise shall change what a policy does; 0: by whatever it does."""
        wanted: float = self.config.evaluator_options.get("noise_change", 0.0)
        return wanted * self.noise_share

    @property
    def noise_share(self) -> float:
        """Of the noise, what is left by now."""
        config = self.config
        first = max(NOISE_FALLS_FROM, LEAST_STEPS / config.steps)
        late = (self.steps / config.steps - first) / (1 - first) if first < 1 else 0.0
        left: float = config.final_noise ** min(max(late, 0), 1)
        return left / self.find_fall(config.noise_decay)

    @property
    def keeps_noise(self) -> bool:
        """Whether the noise is the same in each round."""
        config = self.config
        return not (config.noise_decay or self.noise_change or config.final_noise < 1)

    @property
    def policy_step(self) -> float:
        """How far θ may move after the round, in standard deviations of its noise."""
        config = self.config
        step = self.step_factor * config.policy_step if config.policy_updates else 0.0
        return step / self.find_fall(config.policy_step_decay)
