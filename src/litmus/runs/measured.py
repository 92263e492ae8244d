"""Policies with what they earned: those of a zoo, or every policy that a run measured."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.config import TrainConfig
from litmus.errors import BadInput, command
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Round
from litmus.runs.restore import open_journal
from litmus.runs.run import Run
from litmus.tasks import SurvivalBonus, make_task_spec
from litmus.tasks.base import TaskSpec


@dataclass(frozen=True)
class TaskChoice:
    """A task as the user chose it: what policies are measured in."""

    task: str
    env_kwargs: Mapping[str, Any] = field(default_factory=dict)
    survival_bonus: SurvivalBonus = "auto"
    max_episode_steps: int | None = None
    data: str | None = None

    @staticmethod
    def of(config: TrainConfig) -> TaskChoice:
        return TaskChoice(
            config.task,
            dict(config.env_kwargs),
            config.survival_bonus,
            config.max_episode_steps,
            config.data,
        )

    @staticmethod
    def from_json(data: Any) -> TaskChoice:
        if not isinstance(data, dict) or not isinstance(data.get("task"), str):
            raise ValueError("it names no task")
        return TaskChoice(**data)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def spec(self) -> TaskSpec:
        return make_task_spec(
            self.task, self.survival_bonus, self.env_kwargs, self.max_episode_steps, self.data
        )


@dataclass(frozen=True)
class MeasuredPolicy:
    """One policy, what it earned, and where it comes from."""

    name: str
    architecture: Architecture
    normalizer: Normalizer
    build: Callable[[], NDArray[np.float32]]
    """Its flat parameters [P]: rebuilt, or read, when they are needed."""
    returns: tuple[float, ...]
    """Of each episode, as the environment pays them."""
    training_returns: tuple[float, ...]
    lineage: str
    algorithm: str

    @property
    def mean_return(self) -> float:
        return float(np.mean(self.returns))


@dataclass(frozen=True)
class MeasuredPolicies:
    task: TaskChoice
    policies: Sequence[MeasuredPolicy]


def name_lineage(folder: Path, near: Path) -> str:
    """The training that left this folder, named alike however its path is written."""
    found, near = folder.resolve(), near.resolve()
    is_inside = found.is_relative_to(near) and found != near
    return str(found.relative_to(near) if is_inside else found)


def read_run(path: Path) -> MeasuredPolicies:
    """Every policy in a run's history that was measured in a whole episode, oldest first; all of
    them one lineage."""
    run = Run(path)
    architecture = run.policy.architecture
    rounds = open_journal(run, architecture).read()
    lineage = name_lineage(run.path, Path())
    found = [one for round_ in rounds for one in _list_round(run, architecture, round_, lineage)]
    if not found:
        raise BadInput(
            f"{path} keeps no measured policies: it has not begun, all episodes that it kept were "
            "cut short, or it is of an algorithm that measures one policy alone; add that to a "
            f"zoo: {command('zoo_add', 'ZOO')}"
        )
    return MeasuredPolicies(TaskChoice.of(run.config), found)


def _list_round(
    run: Run, architecture: Architecture, round_: Round, lineage: str
) -> list[MeasuredPolicy]:
    return [
        MeasuredPolicy(
            f"episode {index}",
            architecture,
            round_.normalizer,
            partial(round_.rebuild, run.config.seed, index),
            (float(outcome.return_),),
            (float(outcome.training_return),),
            lineage,
            run.config.algorithm,
        )
        for index, outcome in round_.whole
        if outcome.return_ is not None and outcome.training_return is not None
    ]
