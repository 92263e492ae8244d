"""Augmented random search (Mania et al. 2018), the baseline of the paper.

    initialise θ
    repeat:
        for each of N directions δ ~ N(0, I):           # 2 N episodes, collected in parallel
            r⁺, r⁻ = training returns of π_θ+νδ and π_θ-νδ
        update the observation normaliser with what was seen
        keep the b directions with the largest max(r⁺, r⁻)
        θ ← θ + α / (b s) Σ (r⁺ - r⁻) δ,  s = standard deviation of their 2 b returns

No evaluator is learned. Without hidden units (`--hidden` with nothing behind it) the policy is
linear; unlike the original's it has a bias and begins as it is drawn, not at zero.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from litmus.algorithms.base import Progress, Resources
from litmus.algorithms.initial import drawing_networks
from litmus.algorithms.rounds import RoundPlan
from litmus.algorithms.running_normalizer import RunningNormalizer
from litmus.algorithms.saved import SavesAttributes
from litmus.config import ArsConfig
from litmus.errors import RunFailed
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import flatten
from litmus.rollouts.base import Round
from litmus.seeding import draw_direction


class Ars(SavesAttributes):
    keeps_rounds = True
    evaluator = None
    saved = ("flat_params", "running_normalizer", "rounds")

    def __init__(self, resources: Resources) -> None:
        self.config = config = cast(ArsConfig, resources.config)
        self.architecture, self.collector = resources.architecture, resources.collector
        with drawing_networks(config.seed):
            self.flat_params: NDArray[np.float32] = flatten(self.architecture.build()).numpy()
        size = int(np.prod(self.architecture.state_shape))
        self.running_normalizer = RunningNormalizer.empty(size)
        self.rounds = 0

    def iterate(self) -> Progress:
        plan = self._plan_round()
        episodes = self.collector.start(plan.request).result()
        for episode in episodes:
            if episode.is_finite:
                self.running_normalizer.merge(episode.moments)
        measured = plan.record(episodes)
        metrics = self._step(measured)
        self.rounds += 1
        steps = sum(episode.steps for episode in episodes)
        return Progress(steps, len(episodes), metrics, measured)

    @property
    def normalizer(self) -> Normalizer:
        if not self.config.normalize_observations:
            return Normalizer.identity(self.architecture.state_shape)
        return self.running_normalizer.freeze()

    def _plan_round(self) -> RoundPlan:
        config, size = self.config, self.config.episodes_at_once
        return RoundPlan(
            self.rounds,
            self.flat_params,
            self.normalizer,
            config.noise,
            first_episode=self.rounds * size,
            size=size,
            antithetic=True,
        )

    def _step(self, measured: Round) -> dict[str, float]:
        """Move θ along the best directions, each by what its two returns differ."""
        config, size = self.config, self.flat_params.size
        returns = dict(measured.kept)
        first = measured.first_episode
        pairs = {  # from a direction's number; one with a dropped episode is left out
            number // 2: (_return(returns[number]), _return(returns[number + 1]))
            for number in range(first, first + len(measured.episodes), 2)
            if number in returns and number + 1 in returns
        }
        best = sorted(pairs, key=lambda number: max(pairs[number]), reverse=True)
        best = best[: config.top_directions]
        spread = float(np.std([pairs[number] for number in best])) if best else 0.0
        if spread == 0:
            return {"return_spread": spread}
        step = np.zeros(size, dtype=np.float32)
        for number in best:
            plus, minus = pairs[number]
            step += np.float32((plus - minus) / spread) * draw_direction(config.seed, number, size)
        step *= np.float32(config.step_size / len(best))
        self.flat_params = self.flat_params + step
        if not np.isfinite(self.flat_params).all():
            raise RunFailed(f"learning diverged in round {measured.number}: θ is not finite")
        return {"return_spread": spread, "step_length": float(np.linalg.norm(step))}

    @property
    def oldest_round(self) -> int:
        return self.rounds  # none is needed


def _return(outcome: Any) -> float:
    return float(outcome.training_return)
