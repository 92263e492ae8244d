"""The folder of an experiment: one experiment's, and one process's at a time.

experiment.json  runs/TASK/ALGORITHM/seed-N/  random/  logs/
table.md  table.json  figures/  report.html
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

from litmus.errors import BadInput, option
from litmus.experiments.plan import Plan
from litmus.files import read_own_json, write_json
from litmus.runs.directory import LOCK, RunDirectory, lock_run

DESCRIPTION = "experiment.json"


@contextlib.contextmanager
def claim_folder(folder: Path, plan: Plan) -> Iterator[None]:
    """Keep the folder for this process, and for this experiment."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise BadInput(f"cannot write to {folder}: {reason}") from error
    with lock_run(RunDirectory(folder)):
        path = folder / DESCRIPTION
        if path.exists():
            other = read_own_json(path).get("experiment")
            if other != plan.name:
                raise BadInput(
                    f"{folder} holds the experiment {other}, not {plan.name}; choose another "
                    f"{option('out')}"
                )
        elif any(one.name != LOCK for one in folder.iterdir()):
            raise BadInput(f"{folder} exists already; choose another {option('out')}")
        else:
            write_json(path, {"experiment": plan.name, "title": plan.title})
        yield
