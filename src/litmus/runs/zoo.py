"""A zoo: policies with their measured returns, on disk.

    zoo.json                                what task they are measured in
    000000.safetensors + 000000.json        a policy, as `Policy.save` writes it
    000000.record.json                      what it earned, and where it comes from

A policy counts once its record is there: whoever is killed before that loses this one policy.
Writing takes a lock for some milliseconds, measuring does not, so that several processes can add at
once.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from litmus.errors import BadInput, command, option
from litmus.files import TENSORS_CHECKSUM, is_folder, open_plain, read_own_json, write_json
from litmus.policies.architecture import architecture_to_json
from litmus.policies.policy import Policy
from litmus.runs.directory import LOCK, as_bad_input
from litmus.runs.measured import (
    MeasuredPolicies,
    MeasuredPolicy,
    TaskChoice,
    name_lineage,
    read_run,
)
from litmus.runs.run import Run

FORMAT = 1
DESCRIPTION = "zoo.json"


@dataclass(frozen=True)
class Record:
    """What is known of a policy in a zoo."""

    number: int
    returns: tuple[float, ...]
    training_returns: tuple[float, ...]
    seed: int
    """Of the episodes, which are numbered from 0."""
    lineage: str
    algorithm: str
    source: str
    """The file that it came from, or how it was made."""
    content: str
    """SHA-256 of parameters and normaliser."""
    provenance: dict[str, Any]

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))


@dataclass
class Known:
    """Policies that a zoo holds, as far as somebody has looked."""

    contents: set[str] = field(default_factory=set)
    newest: int = -1


class Zoo:
    """Policies measured in one task."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not Zoo.exists(self.path):
            raise BadInput(f"there is no zoo at {self.path}")
        description = read_own_json(self.path / DESCRIPTION)
        if description.get("format") != FORMAT:
            raise BadInput(f"{self.path}: a zoo of format {description.get('format')}")
        try:
            self.task = TaskChoice.from_json(description.get("task"))
        except (TypeError, ValueError) as error:
            raise BadInput(f"{self.path / DESCRIPTION} does not describe a zoo") from error

    @staticmethod
    def exists(path: Path | str) -> bool:
        return is_folder(Path(path)) and (Path(path) / DESCRIPTION).exists()

    @staticmethod
    def open(path: Path | str, task: TaskChoice | None = None) -> Zoo:
        """The zoo that is there, or a new one for this task."""
        path = Path(path)
        if not (path / DESCRIPTION).exists():
            if task is None:
                raise BadInput(
                    f"there is no zoo at {path} yet: name its task with {option('task')}"
                )
            with as_bad_input(path):
                path.mkdir(parents=True, exist_ok=True)
                with _lock(path):
                    if not (path / DESCRIPTION).exists():
                        _refuse_occupied(path)
                        write_json(path / DESCRIPTION, {"format": FORMAT, "task": task.to_json()})
        zoo = Zoo(path)
        if task is not None and zoo.task != task:
            raise BadInput(
                f"{path} holds policies measured in {zoo.task.task}, with other options or another "
                f"task than {task.task}"
            )
        return zoo

    def add(
        self,
        policy: Policy,
        returns: tuple[float, ...],
        training_returns: tuple[float, ...],
        seed: int,
        lineage: str,
        algorithm: str,
        source: str,
        provenance: dict[str, Any],
        known: Known | None = None,
    ) -> Record | None:
        """Store a measured policy, whole or not at all; None where it is there already. `known`
        spares whoever adds many to look at all of them each time."""
        if not all(map(math.isfinite, (*returns, *training_returns))) or not returns:
            raise BadInput(f"{source}: its returns are not all finite numbers")
        with as_bad_input(self.path), _lock(self.path):
            number, content = self._next_number(), digest_policy(policy)
            known = known or Known()
            self.look(known)
            if content in known.contents:
                return None
            record = Record(
                *(number, returns, training_returns, seed, lineage, algorithm, source),
                content,
                provenance,
            )
            policy.save(self._policy_path(number))
            tensors = read_own_json(self._policy_path(number).with_suffix(".json"))
            write_json(
                self._record_path(number),
                {**vars(record), "tensors": tensors[TENSORS_CHECKSUM]},
            )
        return record

    def look(self, known: Known) -> None:
        """Add what is new."""
        for path in self._record_paths():
            if int(path.name.partition(".")[0]) > known.newest:
                record, _ = self._read_record(path)
                known.contents.add(record.content)
                known.newest = record.number

    def records(self) -> list[Record]:
        """What is known of each, oldest first."""
        return [self._read_record(path)[0] for path in self._record_paths()]

    @property
    def parent(self) -> Path:
        """What lineages are named from."""
        return self.path.resolve().parent

    def load(self, number: int) -> Policy:
        """BadInput where it is damaged, or not the one that was measured."""
        record_path = self._record_path(number)
        if not record_path.exists():
            raise BadInput(f"{self.path} holds no policy {number}")
        _, tensors = self._read_record(record_path)
        path = self._policy_path(number)
        described = read_own_json(path.with_suffix(".json"))
        if described.get(TENSORS_CHECKSUM) != tensors:
            raise BadInput(f"{path} is not the policy that was measured")
        return Policy.load(path)

    def read(self) -> MeasuredPolicies:
        policies = []
        for record in self.records():
            policy = self.load(record.number)
            lineage = self.name_lineage(record, Path())
            flat_params: NDArray[np.float32] = policy.flat_params.numpy()
            policies.append(
                MeasuredPolicy(
                    self.name(record.number),
                    policy.architecture,
                    policy.normalizer,
                    partial(_keep, flat_params),
                    record.returns,
                    record.training_returns,
                    lineage,
                    record.algorithm,
                )
            )
        if not policies:
            raise BadInput(
                f"{self.path} holds no policies yet; add some: {command('zoo_add', self.path)}"
            )
        return MeasuredPolicies(self.task, policies)

    def name_lineage(self, record: Record, near: Path) -> str:
        """As a zoo beside which `near` is would call it."""
        folder = self.parent / record.lineage
        return name_lineage(folder, near) if folder.is_dir() else record.lineage

    def _read_record(self, path: Path) -> tuple[Record, str]:
        values = read_own_json(path)
        try:
            tensors = str(values.pop("tensors"))
            values["returns"] = tuple(map(float, values["returns"]))
            values["training_returns"] = tuple(map(float, values["training_returns"]))
            record = Record(**values)
            if record.number != int(path.name.partition(".")[0]) or not record.returns:
                raise ValueError("it is another one's")
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"{path} is not the record of a policy") from error
        return record, tensors

    def _next_number(self) -> int:
        names = (path.name.partition(".")[0] for path in self.path.glob("*.safetensors"))
        return 1 + max((int(name) for name in names if name.isdecimal()), default=-1)

    def _record_paths(self) -> list[Path]:
        found = self.path.glob("*.record.json")
        return sorted(path for path in found if path.name.partition(".")[0].isdecimal())

    @staticmethod
    def name(number: int) -> str:
        return f"{number:06d}"

    def _policy_path(self, number: int) -> Path:
        return self.path / f"{self.name(number)}.safetensors"

    def _record_path(self, number: int) -> Path:
        return self.path / f"{self.name(number)}.record.json"


Source: TypeAlias = Zoo | Run | Path | str


def read_measured(given: Source) -> MeasuredPolicies:
    """The policies of a zoo or a run."""
    if isinstance(given, Zoo):
        return given.read()
    path = given.path if isinstance(given, Run) else Path(given)
    if Zoo.exists(path):
        return Zoo(path).read()
    if not is_folder(path):
        raise BadInput(f"there is no zoo or run at {path}")
    if not (path / "config.json").exists():
        raise BadInput(f"{path} is neither a zoo nor a run")
    return read_run(path)


def find_record(path: Path) -> Record | None:
    """What is known of the policy in this file, if it is one of a zoo."""
    if not Zoo.exists(path.parent):
        return None
    zoo = Zoo(path.parent)
    return next((one for one in zoo.records() if zoo.name(one.number) == path.stem), None)


def digest_policy(policy: Policy) -> str:
    architecture = architecture_to_json(policy.architecture)
    return digest_tensors(policy.state_dict(), json.dumps(architecture, sort_keys=True))


def digest_tensors(tensors: Mapping[str, Tensor], about: str = "") -> str:
    found = hashlib.sha256(about.encode())
    for name, tensor in sorted(tensors.items()):
        found.update(name.encode())
        found.update(tensor.cpu().numpy().tobytes())
    return found.hexdigest()


def _keep(flat_params: NDArray[np.float32]) -> NDArray[np.float32]:
    return flat_params


def _refuse_occupied(path: Path) -> None:
    others = [entry.name for entry in path.iterdir() if entry.name != LOCK]
    if others:
        raise BadInput(f"{path} is no zoo: it holds '{sorted(others)[0]}'")


@contextlib.contextmanager
def _lock(path: Path) -> Iterator[None]:
    """One process at a time writes; it lets go when it dies."""
    with open_plain(path / LOCK, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
