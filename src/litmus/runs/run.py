"""One training, read back: its configuration, metrics, policy and evaluator."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from litmus.algorithms import read_config
from litmus.config import TrainConfig
from litmus.errors import BadInput
from litmus.files import read_own_json
from litmus.runs.directory import RunDirectory
from litmus.runs.final import compute_final_return
from litmus.runs.metrics import Event, check_metrics

if TYPE_CHECKING:
    from litmus.evaluators.base import Evaluator
    from litmus.policies.policy import Policy

Status = Literal["finished", "unfinished"]

CONFIG_HINT = (
    "; to change a run, use 'litmus resume' with --steps or --workers, or begin another with "
    "'litmus train --config'"
)


class Run(RunDirectory):
    """One training, on disk."""

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        try:
            is_run, exists = self.config_path.is_file(), self.path.exists()
        except OSError as error:  # a name that is too long, say
            raise BadInput(f"{self.path} cannot be read: {error.strerror}") from error
        if not is_run:
            what = "is not a run directory" if exists else "does not exist"
            raise BadInput(f"{self.path} {what} (no {self.config_path.name} there)")

    @cached_property
    def config(self) -> TrainConfig:
        values = read_own_json(self.config_path, CONFIG_HINT)
        algorithm = values.pop("algorithm", None)
        if not isinstance(algorithm, str):
            raise BadInput(f"{self.config_path} does not name its algorithm")
        return read_config(algorithm, values)

    @property
    def metrics(self) -> list[Event]:
        """All events so far, oldest first; whatever is damaged is left out with a warning."""
        found, least = check_metrics(self.metrics_path), 0
        if not found.is_finished:
            least = self.count_kept("metrics_bytes")
            found = check_metrics(self.metrics_path)  # again: of a run at work it only grows
        for problem in found.describe_problems(0 if found.is_finished else least):
            self.warn(f"{self.metrics_path}: {problem}")
        return found.events

    @property
    def evaluations(self) -> list[Event]:
        return [event for event in self.metrics if event["event"] == "evaluation"]

    @property
    def final_return(self) -> float | None:
        """The mean over the last evaluations (`runs/final.py`); None where there are none."""
        return compute_final_return(self.metrics)

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

        if self._has_results and self.has_evaluator:
            return load_evaluator(self.evaluator_path)
        return restore_evaluator(self)

    @property
    def has_evaluator(self) -> bool:
        """False where the algorithm learns none."""
        from litmus.runs.restore import learns_evaluator

        return self.evaluator_path.exists() or learns_evaluator(self)

    def read_probing_snapshots(self) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
        """How the probing states moved: steps [S] and states [S, K, *state], normalised."""
        from litmus.runs.snapshots import read_snapshots

        states = self.evaluator.probing_states
        if states is None:
            return np.empty(0), np.empty((0, 0), np.float32)
        shape, least = tuple(states.shape), self.count_kept("snapshots_taken")
        return read_snapshots(self.snapshots_path, shape, least)

    def count_kept(self, counter: str) -> int:
        """How many of something the newest checkpoint counts on: no fewer may be there."""
        from litmus.runs.checkpoint import list_checkpoints, read_newest_values

        counters = (read_newest_values(self.checkpoints_path) or {}).get("counters")
        found = counters.get(counter) if isinstance(counters, dict) else None
        if isinstance(found, int):
            return found
        if list_checkpoints(self.checkpoints_path):
            self.warn(
                f"no checkpoint in {self.checkpoints_path} is whole: nothing tells what is lost"
            )
        return 0

    @property
    def _has_results(self) -> bool:
        if self.status != "finished":
            return False
        if self.policy_path.exists() or self.policy_path.is_symlink():
            return True
        self.warn(f"{self.policy_path} is missing: the newest checkpoint takes its place")
        return False

    def __repr__(self) -> str:
        return f"Run('{self.path}', {self.status})"
