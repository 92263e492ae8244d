"""What a field of a configuration may hold: bounds that it declares, and checks of what is given.

This module does not import torch.
"""

from __future__ import annotations

import dataclasses
import json
import math
import numbers
import typing
from dataclasses import field
from typing import Any, Literal, TypeVar

from litmus.errors import BadInput, option, suggest

MOST_STEPS = 10**15
MOST_EPISODES = 10**6
MOST_WORKERS = 4096
MOST_UNITS = 10**6
"""Bounds beyond which no machine goes. What this one can hold is asked before a run starts."""

T = TypeVar("T")
Values = dict[str, Any]


def at_least(minimum: float, default: T) -> T:
    """A field with a lower bound."""
    return field(default=default, metadata={"minimum": minimum})


def between(minimum: float, maximum: float, default: T) -> T:
    """A field with both bounds."""
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum})


def above(minimum: float, default: T, maximum: float = math.inf) -> T:
    """A field with an open lower bound."""
    return field(default=default, metadata={"above": minimum, "maximum": maximum})


def options_of(choice: str) -> Values:
    """A field that holds the options of what the field `choice` names."""
    return field(default_factory=dict, metadata={"options_of": choice})


def check_type(name: str, value: Any, hint: Any) -> Any:
    """Return `value` as the type that a field declares, or say what it should be."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        if value not in arguments:
            raise BadInput(f"{option(name)} cannot be '{value}'{suggest(str(value), arguments)}")
        return value
    if type(None) in arguments:
        return None if value is None else check_type(name, value, arguments[0])
    if origin is dict:
        return _check_json_object(name, value)
    if origin is tuple:
        if not isinstance(value, list | tuple):
            kind = {int: "whole numbers", float: "numbers"}.get(arguments[0], "texts")
            raise BadInput(f"{option(name)} takes {kind}, not '{value}'")
        return tuple(check_type(name, item, arguments[0]) for item in value)
    if not isinstance(value, bool):  # numpy's numbers are welcome
        if hint is int and isinstance(value, numbers.Integral):
            return int(value)
        if hint is int and isinstance(value, numbers.Real) and float(value).is_integer():
            return int(float(value))  # 1e5
        if hint is float and isinstance(value, numbers.Real):
            try:
                return float(value)
            except OverflowError as error:
                raise BadInput(f"{option(name)} must be a finite number") from error
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
        raise BadInput(f"{option(name)} takes {words.get(hint, hint)}, not '{value}'")
    return value


def _check_json_object(name: str, value: Any) -> Values:
    if not isinstance(value, dict):
        raise BadInput(f"{option(name)} takes names with values, as {{\"x\": 1}}, not '{value}'")
    try:
        copied: Values = json.loads(json.dumps(value, allow_nan=False))
    except (TypeError, ValueError, RecursionError) as error:
        raise BadInput(f"{option(name)} takes values that JSON can hold: {error}") from error
    return copied


def check_whole(name: str, value: Any, least: int, most: int | None = None) -> int:
    """A whole number that is no field of a configuration."""
    number: int = check_type(name, value, int)
    if most is not None and not least <= number <= most:
        raise BadInput(f"{option(name)} must be between {least} and {most}, not {number}")
    if number < least:
        raise BadInput(f"{option(name)} must be at least {least}, not {number}")
    return number


def check_bounds(spec: dataclasses.Field[Any], value: Any) -> None:
    values = value if isinstance(value, tuple) else (value,)
    for number in values:
        if isinstance(number, float) and number - number != 0:
            raise BadInput(f"{option(spec.name)} must be a finite number, not {number}")
        if not isinstance(number, int | float) or isinstance(number, bool):
            continue
        if "minimum" in spec.metadata and number < spec.metadata["minimum"]:
            raise BadInput(
                f"{option(spec.name)} must be at least {spec.metadata['minimum']}, not {number}"
            )
        if "maximum" in spec.metadata and number > spec.metadata["maximum"]:
            raise BadInput(
                f"{option(spec.name)} must be at most {spec.metadata['maximum']}, not {number}"
            )
        if "above" in spec.metadata and number <= spec.metadata["above"]:
            raise BadInput(
                f"{option(spec.name)} must be above {spec.metadata['above']}, not {number}"
            )
