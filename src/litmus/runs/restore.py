"""From a run directory back to live objects: the newest checkpoint that can be trusted."""

from __future__ import annotations

import logging
import shutil
from dataclasses import dataclass

from litmus.algorithms.base import Round
from litmus.errors import BadInput
from litmus.evaluators.base import Evaluator, build_evaluator
from litmus.files import take_prefixed
from litmus.policies.architecture import Architecture, architecture_from_json
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.runs.checkpoint import Checkpoint, read_newest_first
from litmus.runs.directory import Run
from litmus.runs.journal import Journal

logger = logging.getLogger("litmus")


@dataclass(frozen=True)
class Restored:
    checkpoint: Checkpoint
    architecture: Architecture
    history: list[Round]


def open_journal(run: Run, architecture: Architecture) -> Journal:
    size = Normalizer.identity(architecture.state_shape).mean.size
    return Journal(run.history_path, architecture.num_params, size)


def find_checkpoint(run: Run) -> Checkpoint:
    """The newest undamaged checkpoint, with a warning for each that is damaged."""
    for found in read_newest_first(run.checkpoints_path):
        if isinstance(found, Checkpoint):
            return found
        _warn(run, *found)
    raise BadInput(f"{run.path} holds no checkpoint that can be used")


def restore(run: Run) -> Restored | None:
    """The newest checkpoint that is whole and whose part of the history is whole.

    None for a run that was stopped before its first checkpoint was: it has measured nothing yet,
    and starts at its beginning.
    """
    problem = "there is none"
    for found in read_newest_first(run.checkpoints_path):
        if not isinstance(found, Checkpoint):
            _warn(run, *found)
            problem = "none is whole"
            continue
        architecture = architecture_from_json(found.counters["architecture"])
        try:
            history = open_journal(run, architecture).read(found.counters["rounds"])
        except BadInput as error:
            _warn(run, found.path, str(error))
            problem = str(error)
            continue
        return Restored(found, architecture, history)
    if not run.metrics and not _has_history(run):
        _forget_beginning(run)
        return None
    raise BadInput(f"{run.path} holds no checkpoint that can be used: {problem}")


def _has_history(run: Run) -> bool:
    """Whether any round was ever measured: that is never thrown away."""
    lines = run.history_path / "rounds.jsonl"
    return lines.exists() and lines.stat().st_size > 0


def _forget_beginning(run: Run) -> None:
    for path in (run.checkpoints_path, run.history_path):
        shutil.rmtree(path, ignore_errors=True)
    run.metrics_path.unlink(missing_ok=True)
    run.make_folders()


def restore_policy(run: Run) -> Policy:
    """The policy of an unfinished run."""
    checkpoint = find_checkpoint(run)
    tensors = checkpoint.tensors
    return Policy(
        architecture_from_json(checkpoint.counters["architecture"]),
        tensors["policy.flat_params"],
        Normalizer(tensors["policy.mean"].numpy(), tensors["policy.std"].numpy()),
    )


def restore_evaluator(run: Run) -> Evaluator:
    """The evaluator of an unfinished run."""
    checkpoint = find_checkpoint(run)
    description = checkpoint.counters["evaluator"]
    if description is None:
        raise BadInput(f"{run.path} was trained by an algorithm that learns no evaluator")
    evaluator = build_evaluator(description["kind"], description["options"])
    evaluator.load_state_dict(take_prefixed("algorithm.evaluator.", checkpoint.tensors))
    return evaluator


def _warn(run: Run, path: object, problem: str) -> None:
    logger.warning("checkpoint %s cannot be used (%s); trying the one before", path, problem)
