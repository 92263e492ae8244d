"""WHERE RETURNS COME FROM. `make_task_spec` finds a task by the name the user typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:  # numpy: `litmus --help` does without it
    from litmus.tasks.base import TaskSpec

SurvivalBonus = Literal["auto", "keep", "remove"]

TASKS: dict[str, str] = {}
"""Tasks that are not Gymnasium environments: name -> 'module:factory', called
without arguments. Every other name is a Gymnasium id."""


def make_task_spec(name: str, survival_bonus: SurvivalBonus = "auto") -> TaskSpec:
    """Return how to build the task called `name`; raise BadInput where there is no such task."""
    from litmus.tasks.base import TaskSpec

    if name in TASKS:
        return TaskSpec(TASKS[name])
    from litmus.tasks.gymnasium_registry import describe_environment
    from litmus.tasks.names import find_body

    environment = describe_environment(name)
    body = find_body(name)
    removed = survival_bonus == "remove" or (
        survival_bonus == "auto" and body is not None and bool(body.survival_bonus_removed)
    )
    return TaskSpec(
        "litmus.tasks.control:ControlTask",
        {
            "environment_id": name,
            "remove_survival_bonus": removed,
            "registration": environment.registration,
        },
        is_portable=environment.is_portable,
    )
