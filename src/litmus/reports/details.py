"""Everything a report says of one run beyond its metrics: knowledge, probing states, behaviour.

Each part stands alone: what cannot be made is a line among the notes, and the rest is still shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray

from litmus.analysis.behaviour import Behaviour, NoSingleSteps, run_behaviour
from litmus.analysis.judgement import Judgement
from litmus.analysis.knowledge import (
    AskingEvaluator,
    PolicySample,
    ProbingKnowledge,
    choose_fresh_count,
    examine_probing_states,
    find_constant_components,
    judge,
    measure_fresh,
    sample_buffer,
)
from litmus.analysis.records import RunRecord
from litmus.analysis.statistics import Floats
from litmus.analysis.stopping import IsStopped, Stopped, never
from litmus.errors import BadInput, one_line
from litmus.evaluators.base import Evaluator
from litmus.evaluators.flat import FlatEvaluator
from litmus.evaluators.gaussian_process import GaussianProcessEvaluator
from litmus.policies.policy import Policy
from litmus.reports.render import CannotRender, NoRenderer, RenderedState, Rendering
from litmus.rollouts.base import Round
from litmus.runs.restore import open_journal
from litmus.runs.run import Run
from litmus.tasks import find_task
from litmus.tasks.names import name_action_components, name_state_components

SHOWN_STATES = (6, 4, 3)
"""Probing states with pictures, the most important ones: of one run, of each of two, of more."""

PARTS = (
    "reading the run",
    "looking at the probing states",
    "running one episode",
    "judging policies that V learned from",
    "measuring policies that V has not seen",
)
"""What is told while a run is looked into, in this order; pictures come after all runs."""

Tell = Callable[[str], None]

T = TypeVar("T")


@dataclass
class RunDetails:
    """What is known of one run. Parts that could not be made are None, and a note says why."""

    record: RunRecord
    shown_states: int = SHOWN_STATES[0]
    notes: list[str] = field(default_factory=list)
    """What went wrong."""
    remarks: list[str] = field(default_factory=list)
    """What there is not to show, though nothing went wrong."""
    policy: Policy | None = None
    evaluator: Evaluator | None = None
    buffer: Judgement | None = None
    fresh: Judgement | None = None
    probing: ProbingKnowledge | None = None
    behaviour: Behaviour | None = None
    constant: NDArray[np.bool_] | None = None  # [D]
    snapshot_steps: Floats | None = None  # [S]
    snapshots: NDArray[np.float32] | None = None  # [S, K, D]
    rendered: list[RenderedState] = field(default_factory=list)
    """Of the first probing states of the ranking."""
    rendering_note: str | None = None

    @property
    def key(self) -> str:
        """The run's name as part of an anchor or a file name."""
        return re.sub(r"[^A-Za-z0-9]+", "-", self.record.name).strip("-") or "run"

    @property
    def state_shape(self) -> tuple[int, ...]:
        return () if self.policy is None else tuple(self.policy.architecture.state_shape)

    @property
    def state_names(self) -> list[str]:
        shape = self.state_shape
        if len(shape) > 1:
            return [f"component {', '.join(map(str, place))}" for place in np.ndindex(*shape)]
        return name_state_components(self.record.task, int(np.prod(shape)))

    @property
    def action_names(self) -> list[str]:
        assert self.policy is not None
        head = self.policy.architecture.head
        return name_action_components(self.record.task, head.size, head.distribution)


class DetailsInProgress:
    """Details whose pictures are still being made by another process."""

    def __init__(
        self,
        record: RunRecord,
        number_of_runs: int = 1,
        is_stopped: IsStopped = never,
        tell: Tell = lambda part: None,
    ) -> None:
        self._is_stopped, self._tell = is_stopped, tell
        shown = SHOWN_STATES[min(number_of_runs, len(SHOWN_STATES)) - 1]
        self.details = RunDetails(record, shown)
        self._rendering: Rendering | None = None
        run = record.run
        if run is None:
            return
        threads = torch.get_num_threads()
        torch.set_num_threads(1)  # the renderer needs the other cores
        try:
            self._examine(run)
            known = record.problems
            self.details.notes += [one for one in run.warnings if one not in known]
        except Stopped:
            if self._rendering is not None:
                self._rendering.cancel()
            raise
        finally:
            torch.set_num_threads(threads)

    @property
    def is_rendering(self) -> bool:
        return self._rendering is not None

    def finish(self) -> RunDetails:
        """Wait for the pictures."""
        if self._rendering is not None:
            try:
                self.details.rendered = self._rendering.result(self._is_stopped)
            except CannotRender as error:
                self.details.rendering_note = str(error)
        return self.details

    def _examine(self, run: Run) -> None:
        details, record = self.details, self.details.record
        self._tell(PARTS[0])
        details.policy = self._try("the policy", lambda: run.policy)
        if run.has_evaluator:
            details.evaluator = self._try("the evaluator", lambda: run.evaluator)
        else:
            details.remarks.append(f"run {record.name} was trained without an evaluator")
        if details.policy is None:
            return
        policy = details.policy
        rounds, sample = self._read_policies(run, policy)
        self._look_at_probing_states(run, policy, sample)
        self._tell(PARTS[2])
        try:
            details.behaviour = self._try(
                "one episode",
                lambda: run_behaviour(find_task(run.config), policy, run.config.seed),
            )
        except NoSingleSteps:
            details.remarks.append(
                f"no episode of run {record.name} is shown: its task gives no single steps"
            )
        visited = details.behaviour.states if details.behaviour else None
        is_normalized = bool(record.config.get("normalize_observations", True))
        details.constant = find_constant_components(rounds, visited, is_normalized)
        self._start_rendering()
        if details.evaluator is not None:
            perturbed = [one.noise for one in rounds if one.noise]
            noise = perturbed[-1] if perturbed else float(record.config.get("noise", 0))
            self._judge(run, details.evaluator, policy, sample, noise)

    def _read_policies(self, run: Run, policy: Policy) -> tuple[list[Round], PolicySample | None]:
        """The rounds that were measured, and policies out of them; of an algorithm that learns no
        evaluator nobody needs either."""
        if self.details.evaluator is None:
            return [], None
        record = self.details.record
        rounds = self._try("the history of policies", lambda: _read_history(run, policy)) or []
        evaluator = self.details.evaluator
        return rounds, self._try("the buffer", lambda: _sample(record, rounds, evaluator))

    def _look_at_probing_states(
        self, run: Run, policy: Policy, sample: PolicySample | None
    ) -> None:
        details, evaluator = self.details, self.details.evaluator
        if evaluator is None:
            return
        if not isinstance(evaluator, AskingEvaluator):
            details.remarks.append(_explain_no_probing_states(details.record, evaluator))
            return
        self._tell(PARTS[1])
        known = sample or _no_policies(policy)
        details.probing = self._try(
            "the probing states", lambda: examine_probing_states(evaluator, policy, known)
        )
        if evaluator.learns_probing_states:
            self._read_snapshots(run)

    def _read_snapshots(self, run: Run) -> None:
        found = self._try("how the probing states moved", run.read_probing_snapshots)
        if found is not None and len(found[0]):
            steps, states = found
            self.details.snapshot_steps = steps
            self.details.snapshots = states.reshape(*states.shape[:2], -1)

    def _judge(
        self,
        run: Run,
        evaluator: Evaluator,
        policy: Policy,
        sample: PolicySample | None,
        noise: float,
    ) -> None:
        details = self.details
        if sample is not None and len(sample.measured):
            self._tell(PARTS[3])
            details.buffer = self._try(
                "what V predicts for policies it learned from",
                lambda: judge(evaluator, policy.architecture, sample),
            )
        if noise:
            self._tell(PARTS[4])
            details.fresh = self._try(
                "what V predicts for unseen policies",
                lambda: self._judge_fresh(run, evaluator, policy, noise),
            )

    def _judge_fresh(
        self, run: Run, evaluator: Evaluator, policy: Policy, noise: float
    ) -> Judgement:
        sample = measure_fresh(
            find_task(run.config),
            policy,
            noise,
            run.config.seed,
            choose_fresh_count(self.details.record.steps_per_episode),
            is_stopped=self._is_stopped,
        )
        return judge(evaluator, policy.architecture, sample)

    def _start_rendering(self) -> None:
        details = self.details
        if details.probing is None or details.policy is None:
            return
        shown = details.probing.ranking[: details.shown_states]
        nearest = None
        if details.behaviour is not None:
            distances = details.behaviour.distances(details.probing.states[shown])
            nearest = details.behaviour.states[distances.argmin(axis=0)]
        if len(details.state_shape) > 1:
            return  # shown as an image or in the table
        try:
            self._rendering = Rendering(
                details.record.task,
                details.policy,
                details.probing.raw_states[shown],
                nearest,
                details.record.config.get("env_kwargs"),
            )
        except NoRenderer as error:
            details.remarks.append(str(error))
        except CannotRender as error:
            details.rendering_note = str(error)

    def _try(self, what: str, make: Callable[[], T]) -> T | None:
        """Make one part; a run that is damaged there, or a task that is missing, is a note."""
        if self._is_stopped():
            raise Stopped
        try:
            return make()
        except (NoSingleSteps, Stopped):
            raise
        except (Exception, SystemExit) as error:  # the task's own code may do what it likes
            self.details.notes.append(f"{what} cannot be shown: {one_line(error)}")
            return None


def _read_history(run: Run, policy: Policy) -> list[Round]:
    if not run.history_path.is_dir():
        raise BadInput("the run has none")
    return open_journal(run, policy.architecture).read(least=run.count_kept("rounds"))


def _sample(record: RunRecord, rounds: list[Round], evaluator: Evaluator) -> PolicySample:
    """Policies that the evaluator learned from, as it stands now."""
    seed = record.config["seed"]
    if isinstance(evaluator, GaussianProcessEvaluator):  # it forgets all when learning goes back
        known = set(evaluator.earned[: len(evaluator)].tolist())
        return sample_buffer(rounds, len(evaluator), seed, known)
    return sample_buffer(rounds, int(record.config.get("buffer_size", 10_000)), seed)


def _explain_no_probing_states(record: RunRecord, evaluator: Evaluator) -> str:
    how = " and reads the policy's parameters" if isinstance(evaluator, FlatEvaluator) else ""
    return f"the evaluator of run {record.name} has no probing states{how}"


def _no_policies(policy: Policy) -> PolicySample:
    return PolicySample(np.empty((0, policy.flat_params.numel()), np.float32), np.empty(0))
