"""A Gymnasium registration in words: a worker process registers the same environment again.

The words are a Python literal, which keeps tuples tuples where JSON makes lists of them.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from gymnasium.envs.registration import EnvSpec, WrapperSpec, registry

from litmus.registry import why_only_here

PLAIN = (
    *("id", "reward_threshold", "nondeterministic", "max_episode_steps"),
    *("order_enforce", "disable_env_checker"),
)


class OnlyHere(Exception):
    """No other process can make the same environment; the message says why."""


def describe_registration(spec: EnvSpec) -> str:
    """Everything that `gymnasium.make` reads of a registration; raises OnlyHere."""
    described = {name: getattr(spec, name) for name in PLAIN}
    described["entry_point"] = _name_entry(spec.entry_point)
    described["kwargs"] = _check_literals(spec.kwargs, "its registration")
    described["additional_wrappers"] = [
        (
            wrapper.name,
            _name_entry(wrapper.entry_point),
            _check_literals(wrapper.kwargs, f"the wrapper {wrapper.name}"),
        )
        for wrapper in spec.additional_wrappers
    ]
    return repr(described)


def register_again(registration: str) -> None:
    """Register what `describe_registration` described, unless this process has just that."""
    described: dict[str, Any] = ast.literal_eval(registration)
    known = registry.get(described["id"])
    if known is not None:
        try:
            if describe_registration(known) == registration:
                return
        except OnlyHere:
            pass
    wrappers = tuple(WrapperSpec(*words) for words in described.pop("additional_wrappers"))
    registry[described["id"]] = EnvSpec(**described, additional_wrappers=wrappers)


def _name_entry(entry: object) -> str:
    """'module:Class' of what makes an environment or a wrapper."""
    if isinstance(entry, str):
        if entry.startswith("__main__:"):
            name = entry.partition(":")[2]
            raise OnlyHere(f"'{name}' is defined in the script or notebook itself")
        return entry
    why = why_only_here(entry)
    if why:
        raise OnlyHere(why)
    made_by: Any = entry
    return f"{made_by.__module__}:{made_by.__qualname__}"


def _check_literals(kwargs: Mapping[str, Any] | None, whose: str) -> dict[str, Any] | None:
    for name, value in (kwargs or {}).items():
        try:
            is_literal = repr(ast.literal_eval(repr(value))) == repr(value)
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
            is_literal = False
        if not is_literal:
            raise OnlyHere(
                f"the option '{name}' of {whose} is a {type(value).__name__}, which cannot be "
                "written down for another process"
            )
    return None if kwargs is None else dict(kwargs)
