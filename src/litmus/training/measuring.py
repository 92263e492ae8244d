"""To measure a policy: roll it out, unperturbed, and see what it earns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from litmus.errors import BadInput, one_line, option
from litmus.fields import MOST_EPISODES, check_whole
from litmus.policies.foreign import read_policy
from litmus.policies.foreign_layers import Spaces
from litmus.policies.policy import Policy
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.machine import check_workers
from litmus.rollouts.make import make_collector
from litmus.runs.run import Run
from litmus.seeding import Stream
from litmus.tasks import make_task_spec
from litmus.tasks.base import Actions, DiscreteActions, TaskSpec


@dataclass(frozen=True)
class Measurement:
    """What a policy earned in a number of episodes."""

    returns: list[float]
    """As the environment pays them."""
    steps: list[int]
    training_returns: list[float]
    """What evaluators learn to predict: without the survival bonus, where that is removed."""

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    @property
    def std(self) -> float:
        """NaN for a single episode: one says nothing about how they vary."""
        return float(np.std(self.returns, ddof=1)) if len(self.returns) > 1 else float("nan")

    @property
    def standard_error(self) -> float:
        return float(self.std / np.sqrt(len(self.returns)))


@dataclass(frozen=True)
class Subject:
    """A policy, and the task that it is measured in."""

    policy: Policy
    task: TaskSpec
    task_name: str
    run: Run | None
    """The run that the policy is of, where it is known."""


def evaluate(
    policy: Policy | Run | Path | str,
    *,
    task: str | None = None,
    episodes: float = 10,
    env_kwargs: Mapping[str, Any] | None = None,
    data: str | None = None,
    seed: float = 0,
    workers: float | None = None,
) -> Measurement:
    """Roll a policy out, unperturbed, and measure its returns.

    `policy` is a policy, a run, or the path of a policy file or a run directory. A run knows its
    task; a policy does not, so `task` is needed, with its options in `env_kwargs`; for a run, these
    are put in the place of its own of the same names. `data` is a folder with a set of images.
    """
    return measure(find_subject(policy, task, env_kwargs, data), episodes, seed, workers)


def find_subject(
    policy: Policy | Run | Path | str,
    task: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    data: str | None = None,
) -> Subject:
    """What is to be measured; raises BadInput where policy and task do not fit."""
    if isinstance(policy, str | Path):
        path = Path(policy)
        policy = _read_file(path, task, env_kwargs, data) if path.is_file() else Run(path)
    if not isinstance(policy, Run | Policy):
        kind = type(policy).__name__
        raise BadInput(f"what is measured is a policy, a run, or the path of one, not a {kind}")
    run = policy if isinstance(policy, Run) else None
    if task is None and run is None:
        raise BadInput(
            "a policy does not know the task that it is for; name it, such as "
            + option("task", "Swimmer-v5")
        )
    bonus = run.config.survival_bonus if run is not None else "auto"
    own_kwargs = run.config.env_kwargs if run is not None and task is None else {}
    name = task if task is not None else run.config.task if run is not None else ""
    limit = run.config.max_episode_steps if run is not None else None
    if data is None and run is not None and task is None:
        data = run.config.data
    spec = make_task_spec(name, bonus, {**own_kwargs, **(env_kwargs or {})}, limit, data)
    subject = Subject(run.policy if run is not None else _as_policy(policy), spec, name, run)
    if run is None or task is not None or env_kwargs is not None:
        _check_fit(subject)
    return subject


def _read_file(
    path: Path, task: str | None, env_kwargs: Mapping[str, Any] | None, data: str | None
) -> Policy:
    """Another library's files say little: what a task shows and takes belongs to reading them."""
    if path.suffix == ".safetensors" or task is None:
        return Policy.load(path)
    built = make_task_spec(task, "auto", env_kwargs, data=data).build()
    built.close()
    return read_policy(path, Spaces(tuple(built.state_shape), built.actions)).policy


def _as_policy(policy: Policy | Run) -> Policy:
    assert isinstance(policy, Policy)
    return policy


def _check_fit(subject: Subject) -> None:
    task, policy, name = subject.task.build(), subject.policy, subject.task_name
    task.close()
    if tuple(task.state_shape) != policy.state_shape:
        raise BadInput(
            f"the policy takes observations of shape {policy.state_shape}, and task '{name}' has "
            f"{tuple(task.state_shape)}"
        )
    own = policy.architecture.head.actions
    if own != task.actions:
        raise BadInput(
            f"the policy's actions are {_describe(own)}, and task '{name}' takes "
            f"{_describe(task.actions)}"
        )


def _describe(actions: Actions) -> str:
    if isinstance(actions, DiscreteActions):
        return f"one of {actions.count} choices from {actions.start} on"
    shape = actions.shape if actions.shape is not None else (actions.size,)
    low, high = (sorted(set(bound)) for bound in (actions.low, actions.high))
    ends = f"from {', '.join(f'{x:g}' for x in low)} to {', '.join(f'{x:g}' for x in high)}"
    return f"{actions.dtype} of shape {shape} {ends}"


def measure(
    subject: Subject, episodes: float = 10, seed: float = 0, workers: float | None = None
) -> Measurement:
    episodes = check_whole("episodes", episodes, 1, MOST_EPISODES)
    seed = check_whole("seed", seed, 0, 2**32 - 1)
    if workers is not None:
        workers = check_whole("workers", workers, 0)
        check_workers(workers)
    policy = subject.policy
    setting = Setting(subject.task, policy.architecture, seed)
    try:
        collector = make_collector(setting, workers, capacity=episodes)
    except (MemoryError, OSError) as error:
        raise BadInput(f"cannot run {episodes:,} episodes at once: {one_line(error)}") from error
    try:
        finished = collector.start(
            Request(
                policy.flat_params.cpu().numpy(),
                policy.normalizer,
                0.0,
                Stream.MEASUREMENT,
                range(episodes),
            )
        ).result()
    finally:
        collector.close()
    return Measurement(
        [episode.return_ for episode in finished],
        [episode.steps for episode in finished],
        [episode.training_return for episode in finished],
    )
