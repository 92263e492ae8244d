"""Evaluations: θ without noise, measured beside the round that follows."""

from __future__ import annotations

from dataclasses import dataclass

from litmus.algorithms.base import Algorithm
from litmus.config import TrainConfig
from litmus.rollouts.base import Collector, Pending, Request
from litmus.runs.state import Candidate, Counters, Evaluation
from litmus.seeding import Stream
from litmus.tasks.base import Episode


@dataclass
class Evaluations:
    config: TrainConfig
    collector: Collector
    algorithm: Algorithm
    counters: Counters
    running: Evaluation | None = None
    """What a checkpoint keeps of it."""
    _pending: Pending | None = None

    def start_if_due(self) -> None:
        last, every = self.counters.evaluated_at, self.config.evaluate_every
        if every and (last < 0 or self.counters.steps // every != last // every):
            self.start()

    def start(self) -> None:
        counters = self.counters
        self.running = Evaluation(
            self.algorithm.flat_params,
            self.algorithm.normalizer,
            counters.steps,
            counters.episodes,
            counters.evaluations * self.config.evaluate_episodes,
        )
        counters.evaluated_at = counters.steps
        counters.evaluations += 1
        self._pending = self._submit(self.running)

    def restore(self, running: Evaluation | None) -> None:
        """Go on with the one that a checkpoint was written beside."""
        self.running = running
        self._pending = None if running is None else self._submit(running)

    def finish(self) -> tuple[Evaluation, list[Episode]] | None:
        """Wait for the one that is running; None where there is none."""
        if self.running is None or self._pending is None:
            return None
        finished = (self.running, self._pending.result())
        self.running = self._pending = None
        return finished

    def measure(self, chosen: Candidate) -> list[Episode]:
        """Episodes of another policy, from those that no evaluation has used."""
        first = self.counters.evaluations * self.config.evaluate_episodes
        one = Evaluation(chosen.flat_params, chosen.normalizer, chosen.steps, 0, first)
        return self._submit(one).result()

    def _submit(self, evaluation: Evaluation) -> Pending:
        first = evaluation.first_index
        indices = range(first, first + self.config.evaluate_episodes)
        return self.collector.start(
            Request(evaluation.flat_params, evaluation.normalizer, 0.0, Stream.EVALUATION, indices)
        )
