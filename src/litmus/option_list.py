"""Which options a configuration has: its fields, and those of what it chooses by name.

This module does not import torch.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Container, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from litmus.errors import BadInput, option, suggest
from litmus.fields import T, check_bounds, check_type
from litmus.registry import Registry


@dataclass(frozen=True)
class Option:
    """One option of a configuration, wherever it comes from."""

    owner: type
    """The dataclass that has it as a field."""
    spec: dataclasses.Field[Any]
    hint: Any
    default: Any
    group: str | None = None
    """The field of the configuration that it is kept in, where it is not one itself."""

    @property
    def is_ours(self) -> bool:
        """Whether a class of litmus defines it, or a user's own."""
        defining = next(
            c for c in self.owner.__mro__ if self.spec.name in vars(c).get("__annotations__", {})
        )
        return defining.__module__.startswith("litmus.")


def list_options(
    config: type, values: Mapping[str, Any], registries: Mapping[str, Registry]
) -> dict[str, Option]:
    """Every option of a configuration that begins with these values, by name.

    `registries`: by the field that chooses from it. What is chosen brings options of its own.
    """
    options: dict[str, Option] = {}
    for spec in dataclasses.fields(config):
        choice = spec.metadata.get("options_of")
        if choice is None:
            found = {
                spec.name: Option(config, spec, _read_hints(config)[spec.name], find_default(spec))
            }
        else:
            name = values.get(choice, find_default(find_field(config, choice)))
            if not isinstance(name, str):
                raise BadInput(f"{option(choice)} takes a name, not '{name}'")
            owner = registries[choice].find(name).find_options()
            found = {
                own.name: Option(
                    owner, own, _read_hints(owner)[own.name], find_default(own), spec.name
                )
                for own in dataclasses.fields(owner)
                if own.init and own.name not in registries[choice].provided
            }
        for name, one in found.items():
            if name in options or name in RESERVED:
                other = options[name].owner.__qualname__ if name in options else "the command"
                raise BadInput(f"{one.owner.__qualname__} and {other} both have an option '{name}'")
            _check_hint(one)
        options |= found
    return options


def name_owner(name: str, known: Container[str], registries: Mapping[str, Registry]) -> str:
    """Which choice among the known options would bring this one, as the end of a sentence; else
    nothing."""
    for choice, registry in registries.items():
        for one, entry in registry.items() if choice in known else ():
            names = {spec.name for spec in dataclasses.fields(entry.find_options())}
            if name in names.difference(registry.provided):
                return f"; {option(choice, one)} has it"
    return ""


def find_field(config: type, name: str) -> dataclasses.Field[Any]:
    return next(spec for spec in dataclasses.fields(config) if spec.name == name)


RESERVED = ("out", "config", "preset", "quiet", "run", "command")
"""Names that the commands and the library use themselves."""

PLAIN = (int, float, str, bool)


@lru_cache(maxsize=64)
def _read_hints(owner: type) -> dict[str, Any]:
    try:
        return typing.get_type_hints(owner)
    except NameError as error:
        raise BadInput(
            f"the types of {owner.__qualname__}'s options cannot be read: {error} "
            "(imported for type checking only?)"
        ) from error


def _check_hint(one: Option) -> None:
    """An option is a number, text, true or false, one of several texts, a tuple or a mapping."""
    origin, arguments = typing.get_origin(one.hint), typing.get_args(one.hint)
    if type(None) in arguments and len(arguments) == 2:
        origin, arguments = None, (arguments[0],)
    elif not origin:
        arguments = (one.hint,)
    is_text = origin is Literal and all(isinstance(choice, str) for choice in arguments)
    is_tuple = origin is tuple and arguments[1:] == (...,) and arguments[0] in (int, float, str)
    if not (is_text or is_tuple or origin is dict or (not origin and arguments[0] in PLAIN)):
        raise BadInput(
            f"{one.owner.__qualname__}: '{one.spec.name}' cannot be an option: its type must be "
            "int, float, str, bool, one of these or None, a Literal of texts, tuple[…, ...] or dict"
        )


def is_required(spec: dataclasses.Field[Any]) -> bool:
    return spec.default is dataclasses.MISSING and spec.default_factory is dataclasses.MISSING


def find_default(spec: dataclasses.Field[Any]) -> Any:
    if spec.default_factory is not dataclasses.MISSING:
        return spec.default_factory()
    return None if spec.default is dataclasses.MISSING else spec.default


def build_settings(kind: type[T], values: Mapping[str, Any]) -> T:
    """A dataclass of options from what a user gave; BadInput for what cannot be."""
    hints, specs = _read_hints(kind), {spec.name: spec for spec in dataclasses.fields(kind)}  # type: ignore[arg-type]
    checked = {}
    for name, value in values.items():
        if name not in specs:
            raise BadInput(f"unknown option '{name}'{suggest(name, specs)}")
        checked[name] = check_type(name, value, hints[name])
        check_bounds(specs[name], checked[name])
    return kind(**checked)
