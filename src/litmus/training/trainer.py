"""The loop around an algorithm: steps, evaluations, metrics, checkpoints, interruptions.

Everything that decides what happens next is in a checkpoint, so that a run killed at any moment
and resumed is the run that was never interrupted. An evaluation runs in the pool beside the round
that follows it, and is written down after that round.
"""

from __future__ import annotations

import contextlib
import errno
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

from litmus.algorithms import ALGORITHMS
from litmus.algorithms.base import Algorithm, Progress, Resources
from litmus.algorithms.together import Together
from litmus.errors import BadInput, RunFailed, command, one_line
from litmus.files import describe_os_error
from litmus.rollouts.base import Round, Setting
from litmus.rollouts.machine import count_learning_cores
from litmus.rollouts.make import Cluster, make_collector
from litmus.runs.metrics import MetricsFile
from litmus.runs.provenance import describe_process, find_kernels
from litmus.runs.restore import Restored, open_journal
from litmus.runs.run import Run
from litmus.runs.snapshots import append_snapshot
from litmus.runs.state import Counters, PolicyState
from litmus.tasks import find_task
from litmus.training.callbacks import Callback, CallbackRaised, Teller
from litmus.training.checkpoints import Checkpoints
from litmus.training.display import Display
from litmus.training.evaluations import Evaluations
from litmus.training.interrupts import Interrupted, InterruptFlag
from litmus.training.memory import is_out_of_memory
from litmus.training.selection import Choice, Measured, Selection, count_at_once
from litmus.training.setup import choose_device, design_policy, torch_threads
from litmus.training.tensorboard import make_tensorboard

SNAPSHOTS = 100
"""How often in a run the probing states are kept, to show later how they moved."""


class Trainer:
    def __init__(
        self,
        run: Run,
        display: Display,
        restored: Restored | None = None,
        callback: Callback | None = None,
        interrupt: InterruptFlag | None = None,
        place: tuple[Together, int] | None = None,
    ) -> None:
        """`place`: where runs that learn side by side meet, and this one's number there."""
        self.run, self.config, self.display = run, run.config, display
        self._interrupt = interrupt or InterruptFlag()
        self.teller = Teller(callback, run.path)
        config, spec = self.config, find_task(self.config)
        self.counters, self.cores = Counters(), count_learning_cores()
        self.architecture = design_policy(config, spec)
        if restored is not None:
            self.counters, self.cores = restored.state.counters, restored.state.cores
            if self.architecture != restored.state.policy.build_architecture():
                raise BadInput(
                    f"{restored.checkpoint} is of another policy network than the configuration "
                    "and the task describe"
                )
        self.device = choose_device(config.wanted_device)
        self.collector = make_collector(
            Setting(spec, self.architecture, config.seed),
            config.workers,
            # The round being learned from frees its places before the next but one is started.
            capacity=2 * config.episodes_at_once
            + 2 * config.evaluate_episodes
            + count_at_once(config),
            device=self.device.type,
            tell=display.note,
            cluster=Cluster(config.ray_address) if config.collector == "ray" else None,
        )
        with contextlib.ExitStack() as on_failure:
            on_failure.callback(self.collector.close)
            self.algorithm: Algorithm = ALGORITHMS.find(config.algorithm).load()(
                Resources(
                    config,
                    spec,
                    self.architecture,
                    self.collector,
                    self.device,
                    self.cores,
                    run.history_path,
                    place,
                )
            )
            self._prepare(restored)
            on_failure.pop_all()

    def _prepare(self, restored: Restored | None) -> None:
        """Everything that stands on an algorithm."""
        run = self.run
        self.journal = open_journal(run, self.architecture, self.config.history_rounds)
        self.selection = Selection(self.config, self.collector, self.algorithm)
        self.evaluations = Evaluations(self.config, self.collector, self.algorithm, self.counters)
        self.checkpoints = Checkpoints(
            run,
            self.config,
            self.architecture,
            self.algorithm,
            self.journal,
            self.selection,
            self.evaluations,
            self.counters,
            self.cores,
        )
        if restored is not None:
            self.checkpoints.restore(restored)
            self._compare_kernels()
        self.metrics = MetricsFile(run.metrics_path)
        self.tensorboard = make_tensorboard(run, self.config, self.counters.steps)
        self._started = time.monotonic() - self.counters.wall_s
        run.add_provenance(describe_process())

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
        raised: BaseException | None = None
        try:
            with torch_threads(self.device, self.cores):
                if self.counters.iterations == 0:
                    self.selection.begin()
                    self._take_snapshot_if_due()
                    self.evaluations.start_if_due()
                    self._save()
                if self._interrupt.is_set:
                    raise Interrupted
                while self.counters.steps + self.selection.reserve < self.config.steps:
                    self._iterate()
                self._finish()
        except CallbackRaised as error:
            raised = error.error
        except (MemoryError, OSError, RuntimeError) as error:
            self._explain(error)
            raise
        finally:
            self.close()
        if raised is not None:
            raise raised

    def _explain(self, error: Exception) -> None:
        """Raise what is known of an error in words; do nothing where nothing is."""
        go_on = f"go on with: {command('resume', self.run.path)}"
        if is_out_of_memory(error):
            raise RunFailed(f"out of memory: {one_line(error)}; {go_on}") from error
        if isinstance(error, OSError):
            is_full = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
            advice = "free some space and " if is_full else ""
            reason = describe_os_error(error)
            raise RunFailed(
                f"cannot write to {self.run.path}: {reason}; {advice}{go_on}"
            ) from error

    def close(self) -> None:
        self.display.close()
        self.algorithm.close()
        self.collector.close()
        self.tensorboard.close()
        for file in (self.metrics, self.journal):
            # A full disk may refuse the last buffered bytes; the checkpoint does not count on them.
            with contextlib.suppress(OSError):
                file.close()

    def _iterate(self) -> None:
        self._record(self.algorithm.iterate())
        self._take_snapshot_if_due()
        self._finish_evaluation()
        self._measure_if_due()
        self.evaluations.start_if_due()
        self.display.update(self.counters.steps, self.counters.latest_return)
        self._tell()
        if self._interrupt.is_set:
            self._save()
            raise Interrupted
        if self.checkpoints.is_due:
            self._save()

    def _tell(self) -> None:
        """Call the user's function; what it raises ends the run, which can be resumed."""
        try:
            self.teller.tell()
        except CallbackRaised:
            self._save()
            raise

    def _record(self, progress: Progress) -> None:
        counters, number = self.counters, self.counters.iterations
        counters.iterations += 1
        counters.steps += progress.steps
        counters.episodes += progress.episodes
        counted = {"round": number, "steps": counters.steps, "episodes_done": counters.episodes}
        measured = {} if progress.round is None else self._record_round(progress.round)
        if taken := progress.metrics.keys() & (counted | measured).keys():
            raise RunFailed(f"metrics of the algorithm have names that are taken: {sorted(taken)}")
        self._write("round", **counted, **measured, **progress.metrics)

    def _record_round(self, measured: Round) -> dict[str, Any]:
        """Put it into the journal; what is told of its episodes."""
        counters, kept = self.counters, [outcome for _, outcome in measured.kept]
        dropped = len(measured.episodes) - len(kept)
        if measured.number != counters.rounds:
            raise RunFailed(
                f"the algorithm calls this round {measured.number}, and it is {counters.rounds}"
            )
        counters.rounds += 1
        counters.dropped += dropped
        if dropped:
            self.display.note(
                f"warning: {dropped} of {len(measured.episodes)} episodes in round "
                f"{measured.number} had a NaN or infinite reward or observation: dropped"
            )
        self.journal.append(measured)
        if measured.most_steps is not None:  # the beginning of an episode is no return
            return {"most_steps": measured.most_steps, "dropped": counters.dropped}
        return {
            "mean": _mean([outcome.return_ for outcome in kept]),
            "training_mean": _mean([outcome.training_return for outcome in kept]),
            "dropped": counters.dropped,
        }

    def _measure_if_due(self) -> None:
        has_begun = self.selection.state is not None
        measured = self.selection.measure_if_due(self.counters)
        if measured is not None:
            self._record_measurement(measured)
        elif has_begun and self.selection.state is None:
            self.display.note(
                "the run is too short to measure which policy is best: the last is handed over"
            )

    def _record_measurement(self, measured: Measured) -> None:
        counters, steps = self.counters, self.counters.steps
        counters.steps += measured.steps
        counters.episodes += measured.episodes
        self._write(
            "measurement",
            steps=steps,
            mean=_mean(measured.returns.tolist()),
            returns=measured.returns.tolist(),
            is_best=measured.is_best,
            went_back=measured.went_back,
            **({"most_steps": measured.cut.most_steps} if measured.cut else {}),
        )
        if measured.went_back:
            self.display.note(
                f"θ has become worse than it was: back to the best measured policy, step {steps}"
            )

    def _take_snapshot_if_due(self) -> None:
        """Keep the probing states of the start and of each hundredth of the run."""
        counters = self.counters
        evaluator = self.algorithm.evaluator
        if evaluator is None or not evaluator.learns_probing_states:
            return
        if counters.steps * SNAPSHOTS >= counters.snapshots_due * self.config.steps:
            assert evaluator.probing_states is not None
            states = evaluator.probing_states.detach().cpu().numpy()
            append_snapshot(self.run.snapshots_path, counters.steps, states)
            counters.snapshots_due = counters.steps * SNAPSHOTS // self.config.steps + 1
            counters.snapshots_taken += 1

    def _finish_evaluation(self) -> None:
        finished = self.evaluations.finish()
        if finished is None:
            return
        evaluation, episodes = finished
        returns = [episode.return_ for episode in episodes]
        finite = [return_ for return_ in returns if np.isfinite(return_)]
        if len(finite) < len(returns):
            self.display.note(
                f"warning: {len(returns) - len(finite)} of {len(returns)} evaluation episodes had "
                "a NaN or infinite return: left out of the mean"
            )
        self.counters.latest_return = _mean(finite)
        self._write(
            "evaluation",
            steps=evaluation.steps,
            episodes_done=evaluation.episodes_done,
            mean=self.counters.latest_return,
            training_mean=_mean([e.training_return for e in episodes if e.is_finite]),
            returns=returns,
        )

    def _finish(self) -> None:
        """The last evaluation, the results, the closing event."""
        self._finish_evaluation()
        if self.config.evaluate_every and self.counters.evaluated_at != self.counters.steps:
            self.evaluations.start()
            self._finish_evaluation()
        self._save()
        choice = self.selection.choose(self.counters.steps)
        if choice is None:
            self.checkpoints.policy.build().save(self.run.policy_path)
        else:
            self._hand_over(choice)
        if self.algorithm.evaluator is not None:
            self.algorithm.evaluator.save(self.run.evaluator_path)
        self._write(
            "finished",
            steps=self.counters.steps,
            episodes_done=self.counters.episodes,
            mean=self.counters.latest_return,
            dropped=self.counters.dropped,
        )
        self.metrics.sync()
        self.teller.tell()

    def _hand_over(self, choice: Choice) -> None:
        """Save the better of best and last, and measure it on episodes that nothing chose it by."""
        counters, chosen = self.counters, choice.handed_over
        counters.steps += choice.steps
        counters.episodes += choice.episodes
        for one, path in ((chosen, self.run.policy_path), (choice.last, self.run.last_policy_path)):
            state = PolicyState.of(self.architecture, one.flat_params, one.normalizer)
            state.build().save(path)
        episodes = self.evaluations.measure(chosen)
        returns = [one.return_ for one in episodes if np.isfinite(one.return_)]
        counters.latest_return = _mean(returns)
        self._write(
            "handed_over",
            steps=chosen.steps,
            episodes_done=counters.episodes,
            mean=counters.latest_return,
            returns=returns,
            is_last=chosen is choice.last,
            is_improvement=choice.is_improvement,
            last_mean=_mean(choice.last.returns.tolist()),
            untrained_mean=_mean(choice.untrained.returns.tolist()),
        )
        if not choice.is_improvement:
            self.display.note(
                "warning: this run did not improve: on fresh episodes its best policy is not "
                "clearly better than the untrained one"
            )

    def _write(self, event: str, **values: Any) -> None:
        line = self.metrics.write(event, **values, wall_s=round(self._wall(), 3))
        self.tensorboard.write(line)
        self.teller.add(line)

    def _wall(self) -> float:
        return time.monotonic() - self._started

    def _save(self) -> None:
        self.counters.wall_s = self._wall()
        self.checkpoints.save(self.metrics)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
