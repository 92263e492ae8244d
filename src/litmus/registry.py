"""Things that are chosen by name: ours by a short one, a user's own class as 'package:Class'."""

from __future__ import annotations

import dataclasses
import importlib
import operator
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import reduce
from types import ModuleType
from typing import Any

from litmus.errors import BadInput, one_line, suggest


@dataclass(frozen=True)
class NoOptions:
    """Nothing to choose."""


@dataclass(frozen=True)
class Entry:
    """One thing that can be chosen."""

    factory: str
    """'package.module:name' of the class, imported when it is used."""
    summary: str
    options: type | None = None
    """A dataclass: each field is an option of the command line and a keyword of the library.
    Without one, what the class's attribute `Options` says or, if it is a dataclass, its fields."""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    """Values that differ from the fields' own."""
    side_by_side: bool = False
    """Of an algorithm: on a GPU, runs that differ in their seeds alone learn faster in one process
    (`training/side_by_side.py`)."""

    def load(self) -> Any:
        return import_named(self.factory, "class")

    def find_options(self) -> type:
        if self.options is not None:
            return self.options
        own: Any = self.load()
        found: type = getattr(own, "Options", own)
        return found if dataclasses.is_dataclass(found) else NoOptions


class Registry(dict[str, Entry]):
    """What there is of one kind. `provided` are fields that litmus fills in itself."""

    def __init__(self, kind: str, entries: dict[str, Entry], provided: tuple[str, ...] = ()):
        super().__init__(entries)
        self.kind, self.provided = kind, provided

    def find(self, name: str) -> Entry:
        if name in self:
            return self[name]
        if ":" not in name:
            raise BadInput(f"unknown {self.kind} '{name}'{suggest(name, self)}")
        own = import_named(name, self.kind)
        return Entry(name, (own.__doc__ or name).splitlines()[0])

    def name_of(self, thing: object) -> str:
        """The name by which `find` finds the class of this object again."""
        own = f"{type(thing).__module__}:{type(thing).__qualname__}"
        return next((name for name, entry in self.items() if entry.factory == own), own)

    def require_findable(self, thing: object) -> None:
        """What cannot be found again by its name could be trained, but never resumed or judged."""
        name = self.name_of(thing)
        try:
            is_found = self.find(name).load() is type(thing)
        except BadInput:
            is_found = False
        if not is_found:
            raise BadInput(
                f"{self.kind} '{name}' cannot be found again by its name: define it at the top "
                "level of a module"
            )


def import_named(name: str, kind: str) -> Any:
    """What 'package.module:name' stands for."""
    module, attribute = import_module_of(name, kind)
    try:
        return reduce(getattr, attribute.split("."), module)
    except AttributeError as error:
        near = suggest(attribute, [word for word in vars(module or object) if word[:1] != "_"])
        where = name.rpartition(":")[0]
        raise BadInput(f"{kind} '{name}': '{where}' has no '{attribute}'{near}") from error


def import_module_of(name: str, kind: str) -> tuple[ModuleType | None, str]:
    """Import the module of a name 'package.module:name', if it has one; return it, and the rest."""
    module, _, rest = name.rpartition(":")
    if not module:
        return None, rest
    try:
        return importlib.import_module(module), rest
    except ModuleNotFoundError as error:
        missing = error.name or module
        raise BadInput(f"{kind} '{name}': the module '{missing}' is not installed") from error
    except (Exception, SystemExit) as error:
        raise BadInput(
            f"{kind} '{name}': importing '{module}' failed: {one_line(error)}"
        ) from error


def why_only_here(thing: Any) -> str:
    """Why no other process can import a class or function by its name; empty where one can."""
    name, module = getattr(thing, "__qualname__", ""), getattr(thing, "__module__", "")
    if not name or "<" in name:
        return f"{thing!r} has no name that another process could import"
    if module == "__main__":
        return f"'{name}' is defined in the script or notebook itself"
    loaded = sys.modules.get(module)
    try:
        is_found = operator.attrgetter(name)(loaded) is thing
    except AttributeError:
        is_found = False
    if not is_found or getattr(loaded, "__spec__", None) is None:
        return f"'{name}' cannot be imported from a module '{module}'"
    return ""
