"""A run directory: what is in it, making a new one, and reading one back.

config.json  provenance.json  metrics.jsonl  checkpoints/  history/
policy.safetensors + .json  evaluator.safetensors + .json      (when finished)
"""

from __future__ import annotations

import fcntl
import shutil
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from litmus.algorithms import read_config
from litmus.config import TrainConfig
from litmus.errors import BadInput
from litmus.files import read_json, write_json
from litmus.runs.metrics import Event, read_metrics

if TYPE_CHECKING:
    from litmus.evaluators.base import Evaluator
    from litmus.policies.policy import Policy

SPARE_BYTES = 64 * 2**20
"""Free space without which a run is not started."""

Status = Literal["finished", "unfinished"]


class Run:
    """One training, on disk."""

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        if not self.config_path.is_file():
            what = "is not a run directory" if self.path.exists() else "does not exist"
            raise BadInput(f"{self.path} {what} (no {self.config_path.name} there)")

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

    @cached_property
    def config(self) -> TrainConfig:
        values = read_json(self.config_path)
        algorithm = values.pop("algorithm", None)
        if not isinstance(algorithm, str):
            raise BadInput(f"{self.config_path} does not name its algorithm")
        return read_config(algorithm, values)

    @property
    def provenance(self) -> dict[str, Any]:
        return read_json(self.path / "provenance.json")

    @property
    def metrics(self) -> list[Event]:
        """All events so far, oldest first."""
        return read_metrics(self.metrics_path)

    @property
    def evaluations(self) -> list[Event]:
        return [event for event in self.metrics if event["event"] == "evaluation"]

    @property
    def status(self) -> Status:
        events = self.metrics
        return "finished" if events and events[-1]["event"] == "finished" else "unfinished"

    @cached_property
    def policy(self) -> Policy:
        """The learned policy: the final one, or the newest checkpoint's in an unfinished run."""
        from litmus.policies.policy import Policy
        from litmus.runs.restore import restore_policy

        return Policy.load(self.policy_path) if self._has_results else restore_policy(self)

    @cached_property
    def evaluator(self) -> Evaluator:
        """The learned evaluator: the final one, or the newest checkpoint's."""
        from litmus.evaluators.base import load_evaluator
        from litmus.runs.restore import restore_evaluator

        if self._has_results:
            return load_evaluator(self.evaluator_path)
        return restore_evaluator(self)

    def read_probing_snapshots(self) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """How the probing states moved: steps [S] and states [S, K, *state], normalised."""
        from litmus.runs.snapshots import read_snapshots

        states = self.evaluator.probing_states
        if states is None:
            return np.empty(0), np.empty((0, 0), np.float32)
        return read_snapshots(self.snapshots_path, tuple(states.shape))

    @property
    def _has_results(self) -> bool:
        return self.status == "finished" and self.policy_path.is_file()

    def __repr__(self) -> str:
        return f"Run('{self.path}', {self.status})"


def create_run(path: Path, config: TrainConfig) -> Run:
    """Make a new run directory; every reason that it cannot be one is told before training."""
    try:
        if path.exists() and (not path.is_dir() or any(path.iterdir())):
            hint = f"; go on with: litmus resume {path}" if (path / "config.json").exists() else ""
            raise BadInput(f"{path} exists already{hint}, or choose another --out")
        _check_free_space(path)
        path.mkdir(parents=True, exist_ok=True)
        write_json(path / "config.json", config.to_dict())
        run = Run(path)
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


def write_provenance(run: Run, process: dict[str, Any]) -> None:
    """Record the process that works on the run: the first one, and each that resumed it."""
    path = run.path / "provenance.json"
    try:
        known = read_json(path)
    except BadInput:  # there is none yet, or it is damaged: no reason not to train
        write_json(path, process)
        return
    write_json(path, {**known, "resumed": [*known.get("resumed", []), process]})


def lock_run(run: Run) -> IO[str]:
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
