"""From a run directory back to live objects: the newest checkpoint that can be trusted."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from litmus.errors import BadInput, one_line
from litmus.evaluators.base import Evaluator
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.rollouts.base import Round
from litmus.runs.checkpoint import Checkpoint, name_checkpoint, read_newest_first
from litmus.runs.directory import RunDirectory
from litmus.runs.journal import Journal
from litmus.runs.metrics import read_metrics
from litmus.runs.state import RunState

MALFORMED = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, MemoryError),
    *(RuntimeError, TypeError, ValueError),
)
"""What comes of building things from a file whose checksum matches and whose content does not."""


@dataclass(frozen=True)
class Restored:
    checkpoint: Path
    state: RunState
    rounds: list[Round]


def open_journal(
    run: RunDirectory, architecture: Architecture, rounds_per_file: int = 0
) -> Journal:
    size = Normalizer.identity(architecture.state_shape).mean.size
    return Journal(run.history_path, architecture.num_params, size, rounds_per_file)


def restore(run: RunDirectory) -> Restored | None:
    """The newest checkpoint that is whole and whose part of the journal is whole.

    None for a run that was stopped before its first checkpoint was: it has measured nothing yet,
    and starts at its beginning.
    """
    problem = "there is none"
    for found in read_newest_first(run.checkpoints_path):
        state = _read_state(run, found)
        if state is None or not isinstance(found, Checkpoint):
            problem = "none is whole"
            continue
        journal = open_journal(run, state.policy.build_architecture())
        try:
            rounds = journal.read(state.counters.rounds, first=state.counters.first_round)
        except BadInput as error:
            _warn(run, found.path, str(error))
            problem = str(error)
            continue
        if damage := journal.find_damage(state.counters.rounds):
            run.warn(f"{damage}; the run goes on, which needs none of it")
        return Restored(found.path, state, rounds)
    if not read_metrics(run.metrics_path) and not _has_rounds(run):
        _forget_beginning(run)
        return None
    raise BadInput(f"{run.path} holds no checkpoint that can be used: {problem}")


def restore_policy(run: RunDirectory) -> Policy:
    """The policy of an unfinished run."""
    return _read_newest_state(run).policy.build()


def restore_evaluator(run: RunDirectory) -> Evaluator:
    """The evaluator of an unfinished run."""
    state = _read_newest_state(run).evaluator
    if state is None:
        raise BadInput(f"{run.path} was trained by an algorithm that learns no evaluator")
    try:
        return state.build()
    except MALFORMED as error:
        reason = one_line(error)
        raise BadInput(f"the evaluator of {run.path} cannot be built: {reason}") from error


def learns_evaluator(run: RunDirectory) -> bool:
    """Whether the run's algorithm has one; a run that cannot be read may have."""
    try:
        return _read_newest_state(run).evaluator is not None
    except BadInput:
        return True


def _read_newest_state(run: RunDirectory) -> RunState:
    """Of the newest undamaged checkpoint, with a warning for each that is damaged."""
    for found in read_newest_first(run.checkpoints_path, may_be_written=True):
        state = _read_state(run, found)
        if state is not None:
            return state
    raise BadInput(f"{run.path} holds no checkpoint that can be used")


def _read_state(run: RunDirectory, found: Checkpoint | tuple[Path, str]) -> RunState | None:
    """What a checkpoint holds; None, with a warning, where it cannot be used."""
    if not isinstance(found, Checkpoint):
        _warn(run, *found)
        return None
    try:
        state = RunState.from_tree(found.tree)
        state.check()
        if found.path.name != name_checkpoint(state.counters.iterations):
            raise ValueError("it is of another round than its name says")
    except MALFORMED as error:
        _warn(run, found.path, f"it does not hold the state of a run: {one_line(error)}")
        return None
    return state


def _has_rounds(run: RunDirectory) -> bool:
    """Whether any round or transition was ever kept: that is never thrown away."""
    patterns = ("rounds*.jsonl", "transitions*.bin")
    found = [path for pattern in patterns for path in run.history_path.glob(pattern)]
    return any(not path.is_file() or path.stat().st_size > 0 for path in found)


def _forget_beginning(run: RunDirectory) -> None:
    for path in (run.checkpoints_path, run.history_path):
        shutil.rmtree(path, ignore_errors=True)
    run.make_folders()
    try:
        run.metrics_path.unlink(missing_ok=True)
    except OSError as error:
        raise BadInput(f"cannot work in {run.path}: {error.strerror}") from error


def _warn(run: RunDirectory, path: Path, problem: str) -> None:
    run.warn(f"checkpoint {path} cannot be used ({problem}); trying the one before")
