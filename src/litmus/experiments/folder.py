"""The folder of an experiment: one experiment's, and one process's at a time.

experiment.json  runs/TASK/ALGORITHM/seed-N/  random/  logs/
table.md  table.json  figures/  report.html
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from litmus.errors import BadInput, option
from litmus.experiments.plan import Plan
from litmus.files import read_own_json, write_json
from litmus.runs.directory import LOCK, RunDirectory, as_bad_input, lock_run

DESCRIPTION = "experiment.json"
SECONDS_TO_LET_GO = 15.0


@contextlib.contextmanager
def claim_folder(folder: Path, plan: Plan) -> Iterator[int]:
    """Keep the folder for this process and for this experiment; the descriptor holds it."""
    with as_bad_input(folder):
        _refuse_other(folder, plan)
        folder.mkdir(parents=True, exist_ok=True)
    with _lock(folder) as lock:
        with as_bad_input(folder):
            _refuse_other(folder, plan)  # again: now nobody else can be about to write
            described = {"experiment": plan.name, "title": plan.title}
            write_json(folder / DESCRIPTION, described)
        yield lock.fileno()


def _refuse_other(folder: Path, plan: Plan) -> None:
    if (folder / DESCRIPTION).exists():
        other = read_own_json(folder / DESCRIPTION).get("experiment")
        if other != plan.name:
            raise BadInput(
                f"{folder} holds the experiment {other}, not {plan.name}; choose another "
                f"{option('out')}"
            )
    elif folder.exists() and any(one.name != LOCK for one in folder.iterdir()):
        raise BadInput(f"{folder} exists already; choose another {option('out')}")


def _lock(folder: Path) -> BinaryIO:
    """Wait for jobs that have lost who started them: those stop by themselves within seconds."""
    deadline = time.monotonic() + SECONDS_TO_LET_GO
    while True:
        try:
            return lock_run(RunDirectory(folder))
        except BadInput as error:
            is_held = isinstance(error.__cause__, BlockingIOError)
            if not is_held or time.monotonic() >= deadline:
                raise
        time.sleep(0.1)
