"""Checkpoints of a run: everything that decides what happens next, written and restored."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from litmus.algorithms.base import Algorithm, ForgetsRounds
from litmus.config import TrainConfig
from litmus.errors import BadInput, RunFailed, one_line
from litmus.files import open_plain
from litmus.policies.architecture import Architecture
from litmus.runs.checkpoint import forget_newer, write_checkpoint
from litmus.runs.journal import Journal
from litmus.runs.metrics import MetricsFile
from litmus.runs.restore import MALFORMED, Restored
from litmus.runs.run import Run
from litmus.runs.snapshots import cut_snapshots
from litmus.runs.state import Counters, EvaluatorState, PolicyState, RunState
from litmus.training.evaluations import Evaluations
from litmus.training.memory import is_out_of_memory
from litmus.training.selection import Selection


@dataclass
class Checkpoints:
    run: Run
    config: TrainConfig
    architecture: Architecture
    algorithm: Algorithm
    journal: Journal
    selection: Selection
    evaluations: Evaluations
    counters: Counters
    cores: int
    _written: float = field(default_factory=time.monotonic)

    @property
    def is_due(self) -> bool:
        return time.monotonic() - self._written >= self.config.checkpoint_seconds

    @property
    def policy(self) -> PolicyState:
        """θ now."""
        algorithm = self.algorithm
        return PolicyState.of(self.architecture, algorithm.flat_params, algorithm.normalizer)

    def save(self, metrics: MetricsFile) -> None:
        """Write one; what it counts on is brought to the disk first."""
        metrics.sync()
        self.journal.sync()
        counters, algorithm = self.counters, self.algorithm
        counters.metrics_bytes = metrics.size
        still_needed = counters.first_round  # by the checkpoint before, which is kept too
        if isinstance(algorithm, ForgetsRounds):
            counters.first_round = algorithm.oldest_round
        evaluator = algorithm.evaluator
        state = RunState(
            counters,
            self.cores,
            self.policy,
            None if evaluator is None else EvaluatorState.of(evaluator),
            self.evaluations.running,
            self.selection.state,
            dict(algorithm.state_dict()),
        )
        try:
            write_checkpoint(self.run.checkpoints_path, counters.iterations, state.to_tree())
        except (TypeError, ValueError) as error:
            raise RunFailed(f"the algorithm's state cannot be kept: {one_line(error)}") from error
        if self.config.history_rounds:
            self.journal.forget(min(still_needed, counters.rounds - self.config.history_rounds))
        self._written = time.monotonic()

    def restore(self, restored: Restored) -> None:
        """Go back to one: whatever was written after it is written again."""
        try:
            self._load(restored)
        except MALFORMED as error:
            if isinstance(error, BadInput) or is_out_of_memory(error):
                raise
            where, reason = restored.checkpoint, one_line(error)
            raise BadInput(f"{where} does not fit its run: {reason}") from error

    def _load(self, restored: Restored) -> None:
        state, evaluator = restored.state, self.algorithm.evaluator
        if (evaluator is None) != (state.evaluator is None):
            raise ValueError("it is of another algorithm")
        if evaluator is not None and state.evaluator is not None:
            evaluator.load_state_dict(state.evaluator.tensors)
        self.algorithm.load_state_dict(state.algorithm, restored.rounds)
        self._cut_back(restored)
        self.selection.state = state.selection
        self.evaluations.restore(state.evaluation)

    def _cut_back(self, restored: Restored) -> None:
        """Forget what was written after a checkpoint that could be loaded."""
        forget_newer(restored.checkpoint)
        with open_plain(self.run.metrics_path, "ab") as file:
            if file.tell() < self.counters.metrics_bytes:
                raise BadInput(f"{self.run.metrics_path} is shorter than its checkpoint says")
            file.truncate(self.counters.metrics_bytes)
        if self.algorithm.keeps_rounds:
            self.journal.cut(self.counters.rounds)
        evaluator = self.algorithm.evaluator
        if evaluator is not None and evaluator.probing_states is not None:
            shape = tuple(evaluator.probing_states.shape)
            cut_snapshots(self.run.snapshots_path, self.counters.snapshots_taken, shape)
