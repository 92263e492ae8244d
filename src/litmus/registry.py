"""Things that are chosen by name: ours by a short one, a user's own class as 'package:Class'."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from litmus.errors import BadInput, suggest


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

    def load(self) -> Any:
        return import_named(self.factory, "class")

    def find_options(self) -> type:
        if self.options is not None:
            return self.options
        own: Any = self.load()
        found: type = getattr(own, "Options", own)
        return found if dataclasses.is_dataclass(found) else NoOptions


class Registry(Mapping[str, Entry]):
    """What there is of one kind. `provided` are fields that litmus fills in itself."""

    def __init__(self, kind: str, entries: dict[str, Entry], provided: tuple[str, ...] = ()):
        self.kind, self.entries, self.provided = kind, entries, provided

    def __getitem__(self, name: str) -> Entry:
        return self.entries[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def find(self, name: str) -> Entry:
        if name in self.entries:
            return self.entries[name]
        if ":" not in name:
            raise BadInput(f"unknown {self.kind} '{name}'{suggest(name, self.entries)}")
        own = import_named(name, self.kind)
        return Entry(name, (own.__doc__ or name).splitlines()[0])

    def name_of(self, thing: object) -> str:
        """The name by which `find` finds the class of this object again."""
        own = f"{type(thing).__module__}:{type(thing).__qualname__}"
        return next((name for name, entry in self.items() if entry.factory == own), own)


def import_named(name: str, kind: str) -> Any:
    """What 'package.module:name' stands for."""
    module, _, attribute = name.partition(":")
    try:
        loaded = importlib.import_module(module) if module else None
    except ModuleNotFoundError as error:
        missing = error.name or module
        raise BadInput(f"{kind} '{name}': the module '{missing}' is not installed") from error
    except (Exception, SystemExit) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise BadInput(f"{kind} '{name}': importing '{module}' failed: {reason}") from error
    if not attribute or not hasattr(loaded, attribute):
        near = suggest(attribute, [word for word in vars(loaded or object) if word[:1] != "_"])
        raise BadInput(f"{kind} '{name}': '{module}' has no '{attribute}'{near}")
    return getattr(loaded, attribute)
