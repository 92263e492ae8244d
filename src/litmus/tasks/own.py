"""An environment or a task of the user's own, named `package:Class` and registered nowhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import gymnasium
from gymnasium.envs.registration import registry

from litmus.errors import BadInput, option
from litmus.registry import import_module_of
from litmus.tasks.base import Task
from litmus.tasks.control import ControlTask
from litmus.tasks.gymnasium_registry import make_named

TASK = ("state_shape", "actions", "run_episode", "close")
"""What every task has (`Task`)."""


def is_own(name: str) -> bool:
    """Whether `name` is something in a module, and not an environment that the module registers."""
    module, short = import_module_of(name, "task")
    return module is not None and short not in registry and hasattr(module, short)


def why_own_only_here(name: str) -> str:
    """Why only this process can build it; empty where others can."""
    module, short = import_module_of(name, "task")
    if module is not None and module.__name__ == "__main__":
        return f"'{short}' is defined in the script or notebook itself"
    return ""


def build_own_task(
    name: str,
    remove_survival_bonus: bool = False,
    env_kwargs: Mapping[str, Any] | None = None,
    max_episode_steps: int | None = None,
) -> Task:
    """Call the class or function with the options; what it makes is an environment or a task."""
    module, short = import_module_of(name, "task")
    found = getattr(module, short, None)
    if not callable(found):
        raise BadInput(f"task '{name}' is neither a class nor a function")
    made = make_named(name, found, env_kwargs or {}, found)
    if isinstance(made, gymnasium.Env):
        return ControlTask(made, name, remove_survival_bonus, max_episode_steps)
    missing = [part for part in TASK if not hasattr(made, part)]
    if missing:
        raise BadInput(
            f"task '{name}' is neither a gymnasium.Env nor a task: it has no {', '.join(missing)}"
        )
    if remove_survival_bonus:
        raise BadInput(f"task '{name}' is no environment: it has no survival bonus to remove")
    if max_episode_steps is not None:
        raise BadInput(
            f"task '{name}' is no environment: its episodes cannot be ended by "
            f"{option('max_episode_steps')}"
        )
    return cast(Task, made)
