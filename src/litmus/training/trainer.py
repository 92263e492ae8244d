"""The loop around an algorithm: steps, evaluations, metrics, checkpoints, interruptions.

Everything that decides what happens next is in a checkpoint, so that a run killed at any moment
and resumed is the run that was never interrupted. An evaluation runs in the pool beside the round
that follows it, and is written down after that round.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from litmus.algorithms import ALGORITHMS
from litmus.algorithms.base import Progress
from litmus.errors import BadInput, RunFailed
from litmus.files import take_prefixed
from litmus.policies.architecture import architecture_to_json
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.rollouts.base import Pending, Request, Setting
from litmus.rollouts.make import make_collector
from litmus.runs.checkpoint import forget_newer, write_checkpoint
from litmus.runs.directory import Run, write_provenance
from litmus.runs.metrics import MetricsFile
from litmus.runs.provenance import describe_process, find_kernels
from litmus.runs.snapshots import append_snapshot, cut_snapshots
from litmus.seeding import Stream
from litmus.tasks import make_task_spec
from litmus.training.display import Display
from litmus.training.interrupts import Interrupted, InterruptFlag
from litmus.runs.restore import Restored, open_journal
from litmus.training.setup import (
    choose_device,
    count_episodes_under_way,
    design_policy,
    torch_threads,
)
from litmus.training.tensorboard import make_tensorboard

SNAPSHOTS = 100
"""How often in a run the probing states are kept, to show later how they moved."""


@dataclass(frozen=True)
class Evaluation:
    """An evaluation that is being run: of which policy, and what it will be written down as."""

    flat_params: np.ndarray
    normalizer: Normalizer
    steps: int
    episodes_done: int
    first_index: int


@dataclass
class Counters:
    """Where a run is. Saved with every checkpoint."""

    steps: int = 0
    episodes: int = 0
    rounds: int = 0
    dropped: int = 0
    evaluations: int = 0
    evaluated_at: int = -1
    wall_s: float = 0.0
    metrics_bytes: int = 0
    snapshots_due: int = 0
    snapshots_taken: int = 0


class Trainer:
    def __init__(self, run: Run, display: Display, restored: Restored | None = None) -> None:
        self.run, self.config, self.display = run, run.config, display
        self.counters = Counters()
        spec = make_task_spec(self.config.task, self.config.survival_bonus)
        if restored is None:
            self.architecture = design_policy(self.config, spec)
        else:
            self.architecture = restored.architecture
        self.device = choose_device(self.config.device)
        self.collector = make_collector(
            Setting(spec, self.architecture, self.config.seed),
            self.config.workers,
            capacity=count_episodes_under_way(self.config),
        )
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self.collector.close)
            self._prepare(restored)
            on_failure.pop_all()

    def _prepare(self, restored: Restored | None) -> None:
        """Everything that stands on a collector."""
        run = self.run
        self.algorithm = ALGORITHMS[self.config.algorithm].load()(
            self.config, self.architecture, self.collector, self.device
        )
        self.history = open_journal(run, self.architecture)
        self._evaluation: Evaluation | None = None
        self._evaluation_pending: Pending | None = None
        self._latest_return: float | None = None
        if restored is not None:
            self._load(restored)
            self._compare_kernels()
        self.metrics = MetricsFile(run.metrics_path)
        self.tensorboard = make_tensorboard(run, self.config, self.counters.steps)
        self._started = time.monotonic() - self.counters.wall_s
        self._checkpointed = time.monotonic()
        self._interrupt = InterruptFlag()
        write_provenance(run, describe_process())

    def _compare_kernels(self) -> None:
        """Say so where a resumed run will not do to the last bit what it would have done."""
        try:
            before = self.run.provenance["hardware"]["kernels"]
        except (BadInput, KeyError, TypeError):
            return
        now = find_kernels()
        if (before is None) != (now is None):  # AVX2 and AVX-512 give the same bits
            self.display.note(
                "warning: this run began with compiled kernels and goes on without, or the other "
                "way round: its numbers will differ in their last bits"
            )

    def train(self) -> None:
        """Train until the steps are reached; raises Interrupted on Ctrl-C, resumable."""
        try:
            with self._interrupt.catching(self.display.note), torch_threads(self.device):
                if self.counters.rounds == 0:
                    self._take_snapshot_if_due()
                    self._save()
                    self._start_evaluation_if_due()
                while self.counters.steps < self.config.steps:
                    self._iterate()
                self._finish()
        except MemoryError as error:
            raise RunFailed(f"out of memory: {error}") from error
        except OSError as error:
            raise RunFailed(
                f"cannot write to {self.run.path}: {error.strerror or error}; free some space "
                f"and go on with: litmus resume {self.run.path}"
            ) from error
        finally:
            self.close()

    def close(self) -> None:
        self.display.close()
        self.collector.close()
        self.tensorboard.close()
        for file in (self.metrics, self.history):
            # A full disk may refuse the last buffered bytes; the checkpoint does not count on them.
            with contextlib.suppress(OSError):
                file.close()

    def _iterate(self) -> None:
        progress = self.algorithm.iterate()
        self._record_round(progress)
        self._take_snapshot_if_due()
        self._finish_evaluation()
        self._start_evaluation_if_due()
        self.display.update(self.counters.steps, self._latest_return)
        if self._interrupt.is_set:
            self._save()
            raise Interrupted
        if time.monotonic() - self._checkpointed >= self.config.checkpoint_seconds:
            self._save()

    def _record_round(self, progress: Progress) -> None:
        counters, outcomes = self.counters, progress.round.episodes
        counters.rounds += 1
        counters.steps += progress.steps
        counters.episodes += len(outcomes)
        kept = [outcome for outcome in outcomes if outcome.return_ is not None]
        dropped = len(outcomes) - len(kept)
        counters.dropped += dropped
        if dropped:
            self.display.note(
                f"warning: {dropped} of {len(outcomes)} episodes in round "
                f"{progress.round.number} had a NaN or infinite reward or observation: dropped"
            )
        self.history.append(progress.round)
        returns = [outcome.return_ for outcome in kept if outcome.return_ is not None]
        training = [
            outcome.training_return for outcome in kept if outcome.training_return is not None
        ]
        self._write(
            "round",
            round=progress.round.number,
            steps=counters.steps,
            episodes_done=counters.episodes,
            mean=float(np.mean(returns)) if returns else None,
            training_mean=float(np.mean(training)) if training else None,
            dropped=counters.dropped,
            **progress.metrics,
        )

    def _take_snapshot_if_due(self) -> None:
        """Keep the probing states of the start and of each hundredth of the run."""
        counters = self.counters
        evaluator = self.algorithm.evaluator
        if evaluator is None or evaluator.probing_states is None:
            return
        if counters.steps * SNAPSHOTS >= counters.snapshots_due * self.config.steps:
            states = evaluator.probing_states.detach().cpu().numpy()
            append_snapshot(self.run.snapshots_path, counters.steps, states)
            counters.snapshots_due = counters.steps * SNAPSHOTS // self.config.steps + 1
            counters.snapshots_taken += 1

    def _start_evaluation_if_due(self) -> None:
        config, counters = self.config, self.counters
        if config.evaluate_every == 0:
            return
        last, every = counters.evaluated_at, config.evaluate_every
        if last >= 0 and counters.steps // every == last // every:
            return
        self._start_evaluation()

    def _start_evaluation(self) -> None:
        counters = self.counters
        self._evaluation = Evaluation(
            self.algorithm.flat_params,
            self.algorithm.normalizer,
            counters.steps,
            counters.episodes,
            counters.evaluations * self.config.evaluate_episodes,
        )
        counters.evaluated_at = counters.steps
        counters.evaluations += 1
        self._submit_evaluation(self._evaluation)

    def _submit_evaluation(self, evaluation: Evaluation) -> None:
        first = evaluation.first_index
        self._evaluation_pending = self.collector.start(
            Request(
                evaluation.flat_params,
                evaluation.normalizer,
                0.0,
                Stream.EVALUATION,
                range(first, first + self.config.evaluate_episodes),
            )
        )

    def _finish_evaluation(self) -> None:
        if self._evaluation is None or self._evaluation_pending is None:
            return
        episodes = self._evaluation_pending.result()
        returns = [episode.return_ for episode in episodes]
        finite = [return_ for return_ in returns if np.isfinite(return_)]
        mean = float(np.mean(finite)) if finite else None
        if len(finite) < len(returns):
            self.display.note(
                f"warning: {len(returns) - len(finite)} of {len(returns)} evaluation episodes had "
                "a NaN or infinite return: left out of the mean"
            )
        self._latest_return = mean
        self._write(
            "evaluation",
            steps=self._evaluation.steps,
            episodes_done=self._evaluation.episodes_done,
            mean=mean,
            returns=returns,
        )
        self._evaluation = self._evaluation_pending = None

    def _finish(self) -> None:
        """The last evaluation, the results, the closing event."""
        self._finish_evaluation()
        if self.config.evaluate_every and self.counters.evaluated_at != self.counters.steps:
            self._start_evaluation()
            self._finish_evaluation()
        self._save()
        policy = Policy(
            self.architecture,
            torch.from_numpy(self.algorithm.flat_params),
            self.algorithm.normalizer,
        )
        policy.save(self.run.policy_path)
        if self.algorithm.evaluator is not None:
            self.algorithm.evaluator.save(self.run.evaluator_path)
        self._write(
            "finished",
            steps=self.counters.steps,
            episodes_done=self.counters.episodes,
            mean=self._latest_return,
            dropped=self.counters.dropped,
        )
        self.metrics.sync()

    def _write(self, event: str, **values: Any) -> None:
        line = self.metrics.write(event, **values, wall_s=round(self._wall(), 3))
        self.tensorboard.write(line)

    def _wall(self) -> float:
        return time.monotonic() - self._started

    def _save(self) -> None:
        """Write a checkpoint; what it counts on is brought to the disk first."""
        self.metrics.sync()
        self.history.sync()
        self.counters.wall_s = self._wall()
        self.counters.metrics_bytes = self.metrics.size
        tensors: dict[str, Tensor] = {
            f"algorithm.{name}": tensor for name, tensor in self.algorithm.state_dict().items()
        }
        normalizer = self.algorithm.normalizer
        tensors["policy.flat_params"] = torch.from_numpy(self.algorithm.flat_params)
        tensors["policy.mean"] = torch.from_numpy(normalizer.mean)
        tensors["policy.std"] = torch.from_numpy(normalizer.std)
        evaluation = self._evaluation
        if evaluation is not None:
            tensors["evaluation.flat_params"] = torch.from_numpy(evaluation.flat_params)
            tensors["evaluation.mean"] = torch.from_numpy(evaluation.normalizer.mean)
            tensors["evaluation.std"] = torch.from_numpy(evaluation.normalizer.std)
        evaluator = self.algorithm.evaluator
        description = {
            **vars(self.counters),
            "latest_return": self._latest_return,
            "architecture": architecture_to_json(self.architecture),
            "evaluator": evaluator and {"kind": evaluator.kind, "options": evaluator.options()},
            "evaluation": evaluation
            and {
                "steps": evaluation.steps,
                "episodes_done": evaluation.episodes_done,
                "first_index": evaluation.first_index,
            },
        }
        write_checkpoint(self.run.checkpoints_path, self.counters.rounds, tensors, description)
        self._checkpointed = time.monotonic()

    def _load(self, restored: Restored) -> None:
        """Go back to a checkpoint: whatever was written after it is written again."""
        tensors, saved = restored.checkpoint.tensors, restored.checkpoint.counters
        self.counters = Counters(**{name: saved[name] for name in vars(Counters())})
        forget_newer(restored.checkpoint.path)
        self._latest_return = saved["latest_return"]
        with self.run.metrics_path.open("ab") as file:
            if file.tell() < self.counters.metrics_bytes:
                raise BadInput(f"{self.run.metrics_path} is shorter than its checkpoint says")
            file.truncate(self.counters.metrics_bytes)
        self.history.cut(self.counters.rounds)
        evaluator = self.algorithm.evaluator
        if evaluator is not None and evaluator.probing_states is not None:
            shape = tuple(evaluator.probing_states.shape)
            cut_snapshots(self.run.snapshots_path, self.counters.snapshots_taken, shape)
        self.algorithm.load_state_dict(take_prefixed("algorithm.", tensors), restored.history)
        if saved["evaluation"] is not None:
            self._evaluation = Evaluation(
                tensors["evaluation.flat_params"].numpy(),
                Normalizer(tensors["evaluation.mean"].numpy(), tensors["evaluation.std"].numpy()),
                **saved["evaluation"],
            )
            self._submit_evaluation(self._evaluation)
