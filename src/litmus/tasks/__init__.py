"""WHERE RETURNS COME FROM. `make_task_spec` finds a task by the name the user typed."""

from __future__ import annotations

from typing import Literal

from litmus.tasks.base import TaskSpec

SurvivalBonus = Literal["auto", "keep", "remove"]

TASKS: dict[str, str] = {}
"""Tasks that are not Gymnasium environments: name -> 'module:factory', called
without arguments. Every other name is a Gymnasium id."""

SURVIVAL_BONUS_REMOVED = ("Hopper", "Walker2d", "Ant", "Humanoid")
"""Where 'auto' removes the survival bonus: the paper's Hopper, Walker and Ant, and Humanoid as in
ARS (Mania et al. 2018). InvertedDoublePendulum also reports one, but there it *is* the goal."""


def make_task_spec(name: str, survival_bonus: SurvivalBonus = "auto") -> TaskSpec:
    """Return how to build the task called `name`; raise BadInput where there is no such task."""
    if name in TASKS:
        return TaskSpec(TASKS[name])
    from litmus.tasks.gymnasium_registry import describe_environment

    environment = describe_environment(name)
    removed = survival_bonus == "remove" or (
        survival_bonus == "auto" and environment.base_name in SURVIVAL_BONUS_REMOVED
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
