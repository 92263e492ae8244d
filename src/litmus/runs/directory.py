"""A run directory: what lies where in it, making a new one, one process at a time.

config.json  provenance.json  metrics.jsonl  checkpoints/  history/
policy.safetensors + .json  evaluator.safetensors + .json      (when finished)
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from litmus.config import TrainConfig
from litmus.errors import BadInput, command, option
from litmus.files import open_plain, read_own_json, write_json

logger = logging.getLogger("litmus")

SPARE_BYTES = 64 * 2**20
"""Free space without which a run is not started."""

METRICS = "metrics.jsonl"
LOCK = ".lock"
OWN_NAMES = (
    *("config.json", "provenance.json", METRICS),
    *("checkpoints", "history", "tensorboard"),
)
"""What a run writes before its first round."""
FIRST_ROUND = "round-00000000."


class RunDirectory:
    """Where things are."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.warnings: list[str] = []
        """What was noticed so far, each once."""

    def warn(self, problem: str) -> None:
        if problem not in self.warnings:
            self.warnings.append(problem)
            logger.warning("%s", problem)

    @property
    def config_path(self) -> Path:
        return self.path / "config.json"

    @property
    def metrics_path(self) -> Path:
        return self.path / METRICS

    @property
    def checkpoints_path(self) -> Path:
        return self.path / "checkpoints"

    @property
    def history_path(self) -> Path:
        return self.path / "history"

    @property
    def snapshots_path(self) -> Path:
        return self.history_path / "probing.bin"

    @property
    def policy_path(self) -> Path:
        return self.path / "policy.safetensors"

    @property
    def last_policy_path(self) -> Path:
        """Of a run that handed over the best policy it measured: the one it ended with."""
        return self.path / "last_policy.safetensors"

    @property
    def evaluator_path(self) -> Path:
        return self.path / "evaluator.safetensors"

    def make_folders(self) -> None:
        """The places that training writes to."""
        with as_bad_input(self.path):
            self.checkpoints_path.mkdir(exist_ok=True)
            self.history_path.mkdir(exist_ok=True)

    @property
    def provenance(self) -> dict[str, Any]:
        return check_provenance(self.path / "provenance.json")

    def add_provenance(self, process: dict[str, Any]) -> None:
        """Record the process that works on the run: the first one, and each that resumed it."""
        try:
            known = self.provenance
        except BadInput as error:  # there is none yet, or it is damaged: no reason not to train
            known = process
            if (self.path / "provenance.json").exists():
                logger.warning("%s; it begins anew", error)
        else:
            known = {**known, "resumed": [*known.get("resumed", []), process]}
        write_json(self.path / "provenance.json", known)


def check_provenance(path: Path) -> dict[str, Any]:
    """Read what `add_provenance` wrote."""
    found = read_own_json(path)
    parts = (found.get("hardware", {}), found.get("versions", {}))
    lists = (found.get("command", []), found.get("resumed", []))
    if not all(isinstance(one, dict) for one in parts) or not all(
        isinstance(one, list) for one in lists
    ):
        raise BadInput(f"{path} does not hold what litmus writes there")
    return found


@contextlib.contextmanager
def create_run(path: Path, config: TrainConfig) -> Iterator[RunDirectory]:
    """Make a new run directory and keep it for this process alone.

    Every reason that it cannot be one is told before training, and before anything is written to
    it. A run that fails before its first checkpoint leaves nothing behind.
    """
    run = RunDirectory(path)
    with as_bad_input(path):
        _refuse_occupied(run)
        _check_free_space(path)
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
    with lock_run(run):
        with as_bad_input(path):
            _refuse_occupied(run)  # again: now nobody else can be about to write
        try:
            with as_bad_input(path):
                _forget(run)
                write_json(run.config_path, config.to_dict())
                run.make_folders()
            yield run
        except Exception:
            if not any(run.checkpoints_path.glob("*.sha256")):
                _forget(run)
                if is_new:
                    shutil.rmtree(path, ignore_errors=True)
            raise


@contextlib.contextmanager
def as_bad_input(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        if isinstance(error, BadInput):
            raise
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"cannot write to {path}: {reason}") from error


def _refuse_occupied(run: RunDirectory) -> None:
    path = run.path
    if path.exists() and (not path.is_dir() or not _is_vacant(run)):
        hint = f"; go on with: {command('resume', path)}" if run.config_path.exists() else ""
        raise BadInput(f"{path} exists already{hint}, or choose another {option('out')}")


def _is_vacant(run: RunDirectory) -> bool:
    """Whether there is nothing in it, or only a run that was stopped before its first round."""
    names = {entry.name.removesuffix(".tmp") for entry in run.path.iterdir()}
    if not names - {LOCK}:
        return True
    if not names <= {LOCK, *OWN_NAMES} or _has_size(run.metrics_path):
        return False
    measured = [one for one in _list(run.history_path) if one.name != run.snapshots_path.name]
    later = [one for one in _list(run.checkpoints_path) if not one.name.startswith(FIRST_ROUND)]
    return not later and not any(map(_has_size, measured)) and _is_own_or_none(run.config_path)


def _is_own_or_none(path: Path) -> bool:
    """A configuration that someone else put there is not ours to write over."""
    if not path.exists():  # first: another process may be about to write it
        return True
    try:
        read_own_json(path)
    except BadInput:
        return not path.exists()
    return True


def _list(path: Path) -> list[Path]:
    return list(path.iterdir()) if path.is_dir() else []


def _has_size(path: Path) -> bool:
    return path.exists() and (not path.is_file() or path.stat().st_size > 0)


def _forget(run: RunDirectory) -> None:
    """Remove what a run wrote that never began."""
    for name in OWN_NAMES:
        path = run.path / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        path.with_name(name + ".tmp").unlink(missing_ok=True)


def _check_free_space(path: Path) -> None:
    existing = next(
        place for place in (path.absolute(), *path.absolute().parents) if place.exists()
    )
    free = shutil.disk_usage(existing).free
    if free < SPARE_BYTES:
        raise BadInput(f"only {free / 2**20:.0f} MB are free at {path}; a run needs more than that")


def wait_for_lock(run: RunDirectory, seconds: float) -> BinaryIO:
    """The same, for processes that have been told to stop and take some seconds to."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            return lock_run(run)
        except BadInput as error:
            is_held = isinstance(error.__cause__, BlockingIOError)
            if not is_held or time.monotonic() >= deadline:
                raise
        time.sleep(0.1)


def lock_run(run: RunDirectory) -> BinaryIO:
    """Make sure that one process at a time works on a run; closing the file lets go."""
    path = run.path / LOCK
    try:
        file = open_plain(path, "ab")
    except OSError as error:
        raise BadInput(f"cannot write to {run.path}: {error.strerror}: {LOCK}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.stat().st_ino != os.fstat(file.fileno()).st_ino:
            raise OSError  # another one removed the directory a moment ago
    except OSError as error:
        file.close()
        raise BadInput(f"another process is working on {run.path}") from error
    return file
