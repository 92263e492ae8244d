"""A job that leaves one JSON file: it takes minutes, and begins anew where it was stopped."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from litmus.errors import BadInput, option
from litmus.experiments.jobs import Standing
from litmus.fields import Values
from litmus.files import read_own_json, write_json

RESULT = "result.json"
PROGRESS = "progress.json"
"""How far a job at work is; it is there for that long."""


@dataclass(frozen=True)
class ResultJob(ABC):
    label: str
    seed: int
    folder: str
    settings: Values

    @property
    def name(self) -> str:
        return f"{self.group}, seed {self.seed}"

    @property
    def group(self) -> str:
        return f"{self.subject}, {self.label}"

    @property
    @abstractmethod
    def subject(self) -> str:
        """For people: what it is about."""

    @property
    def steps(self) -> int:
        return 0

    def look(self, folder: Path) -> Standing:
        if (folder / RESULT).is_file():
            return Standing("finished", self.steps)
        try:
            return Standing("unfinished", int(read_own_json(folder / PROGRESS)["done"]))
        except BadInput:  # it is not at work
            return Standing("missing")

    def check(self, folder: Path) -> None:
        if self.look(folder).state == "finished":
            self.read(folder)

    def read(self, folder: Path) -> dict[str, Any]:
        found = read_own_json(folder / RESULT)
        if found.get("settings") != self.describe():
            raise BadInput(
                f"{folder} holds a result of other settings: choose another {option('out')}"
            )
        return found

    def work(self, folder: Path) -> None:
        if self.look(folder).state == "finished":
            return
        folder.mkdir(parents=True, exist_ok=True)
        try:
            found = self.find(folder)
        finally:
            (folder / PROGRESS).unlink(missing_ok=True)
        write_json(folder / RESULT, {"settings": self.describe(), **found})

    def tell(self, folder: Path, done: int) -> None:
        """That so many steps are done."""
        write_json(folder / PROGRESS, {"done": done})

    @abstractmethod
    def find(self, folder: Path) -> dict[str, Any]:
        """Do it; what is to be written down."""

    def describe(self) -> dict[str, Any]:
        """What the result depends on."""
        return {"seed": self.seed, **self.settings}
