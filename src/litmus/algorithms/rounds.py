"""A round before and after it is run: what algorithms of perturbed policies ask for and keep."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
        )
