"""What the user names, as objects: an evaluator or a run, a policy in any form."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from litmus.errors import BadInput, option
from litmus.evaluators.base import Evaluator, load_evaluator
from litmus.evaluators.kernel import KernelEvaluator
from litmus.files import is_folder, refuse_read_only
from litmus.policies.foreign import Reading, read_policy
from litmus.policies.foreign_layers import Spaces
from litmus.policies.judgeable import Judgeable
from litmus.policies.policy import Policy
from litmus.runs.directory import as_bad_input
from litmus.runs.measured import TaskChoice
from litmus.runs.run import Run

GivenEvaluator = Evaluator | Run | Path | str
GivenPolicy = Judgeable | Run | Path | str

Predicts = Literal["return", "training_return"]


@dataclass(frozen=True)
class Judge:
    """An evaluator, and what is known of the task that it is for."""

    evaluator: Evaluator
    task: TaskChoice | None
    predicts: Predicts
    """The return as the environment pays it; a run's V predicts the training return."""

    @property
    def unit(self) -> str:
        return self.predicts.replace("_", " ")

    def find_spaces(self) -> Spaces | None:
        return None if self.task is None else find_spaces(self.task)

    def require_task(self) -> TaskChoice:
        if self.task is None:
            raise BadInput(f"this evaluator does not know its task: name it with {option('task')}")
        return self.task


def find_judge(given: GivenEvaluator, task: TaskChoice | str | None = None) -> Judge:
    """An evaluator, a run, or the path of either. `task`: instead of the one that it knows."""
    if isinstance(task, str):
        task = TaskChoice(task)
    if isinstance(given, str | Path):
        path = Path(given)
        given = Run(path) if is_folder(path) else load_evaluator(path)
    if isinstance(given, Run):
        own = TaskChoice.of(given.config)
        if task is not None:  # its V counts a survival bonus as it learned to
            task = replace(task, survival_bonus=own.survival_bonus)
        return Judge(given.evaluator, task or own, "training_return")
    if not isinstance(given, Evaluator):
        raise BadInput(f"what judges is an evaluator or a run, not a {type(given).__name__}")
    if isinstance(given, KernelEvaluator) and given.card:
        try:
            return Judge(given, task or TaskChoice.from_json(given.card.get("task")), "return")
        except (TypeError, ValueError) as error:
            raise BadInput(f"the card of this evaluator is damaged: {error}") from error
    return Judge(given, task, "training_return")


def find_spaces(task: TaskChoice) -> Spaces:
    built = task.spec.build()
    try:
        return Spaces(tuple(built.state_shape), built.actions)
    finally:
        built.close()


def find_policy(
    given: GivenPolicy, spaces: Spaces | None, reading: Reading | None = None
) -> Judgeable:
    """A policy, a module or function, a run, or the path of a run or of any policy file."""
    if isinstance(given, str | Path):
        path = Path(given)
        given = Run(path) if is_folder(path) else read_policy(path, spaces, reading).policy
    if isinstance(given, Run):
        given = given.policy
    if not callable(given):
        raise BadInput(f"a policy, a run or the path of one is judged, not {type(given).__name__}")
    if isinstance(given, Policy) and spaces is not None:
        check_fit(given, spaces)
    return given


def find_policies(
    given: Sequence[GivenPolicy] | GivenPolicy, judge: Judge, reading: Reading | None = None
) -> list[Judgeable]:
    listed = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not listed:
        raise BadInput("no policy given")
    spaces = judge.find_spaces()
    return [find_policy(one, spaces, reading) for one in listed]


def check_fit(policy: Policy, spaces: Spaces) -> None:
    if policy.state_shape != spaces.state_shape:
        raise BadInput(
            f"the policy takes observations of shape {policy.state_shape}, and the task has "
            f"{spaces.state_shape}"
        )
    if policy.architecture.head.actions != spaces.actions:
        raise BadInput("the policy takes other actions than the task")
    if not bool(policy.flat_params.isfinite().all()):
        raise BadInput("the policy has weights that are not finite numbers")


def check_out(out: Path | str) -> Path:
    """Where a network and the JSON beside it can be written, and nothing is yet."""
    path = Path(out)
    if path.suffix != ".safetensors":
        raise BadInput(f"{option('out')} takes a file that ends in .safetensors, not '{out}'")
    if not is_folder(path.absolute().parent):
        raise BadInput(f"there is no folder {path.parent} to write {path.name} to")
    for taken in (path, path.with_suffix(".json")):
        if os.path.lexists(taken):
            raise BadInput(f"{taken} exists already: choose another {option('out')}")
    with as_bad_input(path):
        refuse_read_only(path)
    return path


def load_policy(
    path: Path | str,
    *,
    task: str | None = None,
    activation: str | None = None,
    output: str | None = None,
    prefix: str = "",
    normalizer: Path | str | None = None,
) -> Policy:
    """Read a policy from a run or any file: litmus' own, Stable-Baselines3's .zip, a torch
    `state_dict`, safetensors. Nothing in it is executed.

    All but litmus' own need the `task`. A file of tensors alone needs `activation` (of the hidden
    layers) and `output` (tanh or clip); `prefix` picks one of several networks. `normalizer` is a
    JSON or npz file with the mean and std or var of observations.
    """
    if is_folder(Path(path)):
        return Run(path).policy
    spaces = None if task is None else find_spaces(TaskChoice(task))
    known = None if normalizer is None else str(normalizer)
    return read_policy(Path(path), spaces, Reading(activation, output, prefix, known)).policy
