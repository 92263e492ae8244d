"""A task's name, and what is known under it."""

from __future__ import annotations

import re

from litmus.tasks.classic import CLASSIC
from litmus.tasks.components import Components
from litmus.tasks.mujoco import BODIES, Body


def base_name(task: str) -> str:
    """'Hopper' for Hopper-v5 and my_package:Hopper-v0, but 'mine/Hopper' for mine/Hopper-v0.

    A class of the user's own keeps its whole name: my_package:Hopper is not MuJoCo's hopper.
    """
    short = re.sub(r"-v\d+$", "", task)
    return task if short == task else short.rpartition(":")[2]


def find_body(task: str) -> Body | None:
    """The MuJoCo body that a task is about, if it is about one."""
    return BODIES.get(base_name(task))


def name_state_components(task: str, count: int) -> list[str]:
    """One name per component; those of an unknown task are numbered."""
    known = _find_components(task)
    names = known.name_states(count) if known else None
    return names or [f"component {i}" for i in range(count)]


def name_action_components(task: str, count: int, distribution: str) -> list[str]:
    """One name per action parameter of a policy of this distribution."""
    known = _find_components(task)
    names = list(known.actions) if known else []
    if distribution == "gaussian":
        half = count // 2
        means = names if len(names) == half else [f"action {i}" for i in range(half)]
        return [f"{name}, mean" for name in means] + [f"{name}, log σ" for name in means]
    if len(names) == count:
        suffix = ", probability" if distribution == "categorical" else ""
        return [name + suffix for name in names]
    what = "choice" if distribution == "categorical" else "action"
    return [f"{what} {i}" for i in range(count)]


def _find_components(task: str) -> Components | None:
    body = find_body(task)
    return body.components if body else CLASSIC.get(base_name(task))
