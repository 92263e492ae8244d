"""A run directory: what lies where in it, making a new one, one process at a time.

config.json  provenance.json  metrics.jsonl  checkpoints/  history/
policy.safetensors + .json  evaluator.safetensors + .json      (when finished)
"""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path
from typing import IO, Any

from litmus.config import TrainConfig
from litmus.errors import BadInput, command, option
from litmus.files import read_json, write_json

SPARE_BYTES = 64 * 2**20
"""Free space without which a run is not started."""


class RunDirectory:
    """Where things are."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @property
    def config_path(self) -> Path:
        return self.path / "config.json"

    @property
    def metrics_path(self) -> Path:
        return self.path / "metrics.jsonl"

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
    def evaluator_path(self) -> Path:
        return self.path / "evaluator.safetensors"

    def make_folders(self) -> None:
        """The places that training writes to."""
        self.checkpoints_path.mkdir(exist_ok=True)
        self.history_path.mkdir(exist_ok=True)

    @property
    def provenance(self) -> dict[str, Any]:
        return read_json(self.path / "provenance.json")

    def add_provenance(self, process: dict[str, Any]) -> None:
        """Record the process that works on the run: the first one, and each that resumed it."""
        try:
            known = self.provenance
        except BadInput:  # there is none yet, or it is damaged: no reason not to train
            known = process
        else:
            known = {**known, "resumed": [*known.get("resumed", []), process]}
        write_json(self.path / "provenance.json", known)


def create_run(path: Path, config: TrainConfig) -> RunDirectory:
    """Make a new run directory; every reason that it cannot be one is told before training."""
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            is_run = (path / "config.json").exists()
            hint = f"; go on with: {command('resume', path)}" if is_run else ""
            raise BadInput(f"{path} exists already{hint}, or choose another {option('out')}")
        _check_free_space(path)
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / "config.json", config.to_dict())
        run = RunDirectory(path)
        run.make_folders()
    except OSError as error:
        raise BadInput(f"cannot write to {path}: {error.strerror}") from error
    return run


def _check_free_space(path: Path) -> None:
    existing = next(
        place for place in (path.absolute(), *path.absolute().parents) if place.exists()
    )
    free = shutil.disk_usage(existing).free
    if free < SPARE_BYTES:
        raise BadInput(f"only {free / 2**20:.0f} MB are free at {path}; a run needs more than that")


def lock_run(run: RunDirectory) -> IO[str]:
    """Make sure that one process at a time works on a run; closing the file lets go."""
    try:
        file = (run.path / ".lock").open("w")
    except OSError as error:
        raise BadInput(f"cannot write to {run.path}: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        file.close()
        raise BadInput(f"another process is working on {run.path}") from error
    return file
