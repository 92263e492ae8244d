"""WHERE RETURNS COME FROM. `make_task_spec` finds a task by the name the user typed."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from litmus.config import TrainConfig
from litmus.errors import BadInput, option

if TYPE_CHECKING:  # numpy: `litmus --help` does without it
    from litmus.tasks.base import TaskSpec

SurvivalBonus = Literal["auto", "idle", "keep", "remove"]


def make_task_spec(
    name: str,
    survival_bonus: SurvivalBonus = "auto",
    env_kwargs: Mapping[str, Any] | None = None,
    max_episode_steps: int | None = None,
    data: str | None = None,
) -> TaskSpec:
    """Return how to build the task called `name`; raise BadInput where there is no such task.

    A name is a Gymnasium id, `module:Id` for an id that a module registers, `module:Class` for an
    environment or a task of the user's own, or a set of images, whose files may be in `data`.
    `env_kwargs` are its options.
    """
    from litmus.tasks.base import TaskSpec
    from litmus.tasks.gymnasium_registry import describe_environment
    from litmus.tasks.idle import survives_idle
    from litmus.tasks.known_images import IMAGE_SETS
    from litmus.tasks.names import find_body
    from litmus.tasks.own import is_own, why_own_only_here

    options = _check_options(env_kwargs)
    if name in IMAGE_SETS:
        if survival_bonus == "remove" or max_episode_steps is not None:
            raise BadInput(
                f"task '{name}' has episodes of one step: it has no survival bonus to remove, and "
                f"no {option('max_episode_steps')}"
            )
        for taken in {"name", "data"} & options.keys():
            raise BadInput(
                f"task '{name}' has no option '{taken}'; its files are named with {option('data')}"
            )
        arguments = {**options, "name": name, "data": data}
        return TaskSpec("litmus.tasks.classification:make_image_task", arguments)
    if data is not None:
        raise BadInput(f"task '{name}' reads no files: {option('data')} is for sets of images")
    body = find_body(name)
    removed = survival_bonus == "remove" or (
        survival_bonus != "keep" and body is not None and bool(body.survival_bonus_removed)
    )
    arguments = {"remove_survival_bonus": removed, "env_kwargs": options}
    if max_episode_steps is not None:
        arguments |= {"max_episode_steps": max_episode_steps}
    if is_own(name):
        arguments |= {"name": name}
        return TaskSpec("litmus.tasks.own:build_own_task", arguments, why_own_only_here(name))
    environment = describe_environment(name)
    arguments |= {"environment_id": name, "registration": environment.registration}
    spec = TaskSpec("litmus.tasks.control:make_control_task", arguments, environment.only_here)
    if survival_bonus == "idle" and removed and survives_idle(spec):
        spec = replace(spec, arguments={**arguments, "remove_survival_bonus": False})
    return spec


def find_task(config: TrainConfig) -> TaskSpec:
    """The task of a run, with its options."""
    return make_task_spec(
        config.task,
        config.survival_bonus,
        config.env_kwargs,
        config.max_episode_steps,
        config.data,
    )


def _check_options(env_kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    """The options as they reach a worker: what JSON makes of them."""
    try:
        options = json.loads(json.dumps(dict(env_kwargs or {})))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(
            f"{option('env_kwargs')} takes names with values that JSON can hold: {error}"
        ) from None
    return dict(options)
