"""The folder of an experiment: one experiment's, and one process's at a time.

experiment.json  runs/TASK/ALGORITHM/seed-N/  random/  logs/
table.md  table.json  figures/  report.html  drawn.json
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator, Sequence
from pathlib import Path

from litmus.errors import BadInput, option
from litmus.experiments.jobs import SECONDS_TO_LET_GO
from litmus.experiments.plan import Plan
from litmus.files import read_own_json, write_json
from litmus.runs.directory import LOCK, RunDirectory, as_bad_input, wait_for_lock

logger = logging.getLogger("litmus")

DESCRIPTION = "experiment.json"
DRAWN = "drawn.json"
"""Which figures the last drawing wrote: those that the next one does not write are out of date."""
PICTURES = (".png", ".svg")


@contextlib.contextmanager
def claim_folder(folder: Path, plan: Plan) -> Iterator[int]:
    """Keep the folder for this process and for this experiment; the descriptor holds it."""
    with as_bad_input(folder):
        _refuse_other(folder, plan)
        folder.mkdir(parents=True, exist_ok=True)
    with wait_for_lock(RunDirectory(folder), SECONDS_TO_LET_GO) as lock:
        with as_bad_input(folder):
            _refuse_other(folder, plan)  # again: now nobody else can be about to write
            described = {"experiment": plan.name, "title": plan.title}
            write_json(folder / DESCRIPTION, described)
        yield lock.fileno()


def refuse_other_experiment(folder: Path, plan: Plan) -> None:
    """BadInput where the folder is another experiment's."""
    path = folder / DESCRIPTION
    if path.exists():
        hint = "; remove it, and the same command goes on with the runs that are there"
        other = read_own_json(path, hint).get("experiment")
        if not isinstance(other, str):
            raise BadInput(f"{path} does not say which experiment this is{hint}")
        if other != plan.name:
            raise BadInput(
                f"{folder} holds the experiment {other}, not {plan.name}; choose another "
                f"{option('out')}"
            )


def _refuse_other(folder: Path, plan: Plan) -> None:
    """BadInput for that, or for a folder that holds something else than what these jobs left."""
    if (folder / DESCRIPTION).exists():
        refuse_other_experiment(folder, plan)
    elif any((folder / job.folder).exists() for job in plan.jobs):
        return  # its description was lost; whether the runs fit is checked by each job
    elif folder.exists() and any(one.name != LOCK for one in folder.iterdir()):
        raise BadInput(f"{folder} exists already; choose another {option('out')}")


def forget_old_figures(folder: Path, written: Sequence[Path]) -> None:
    """Remove figures that the last drawing wrote into the folder, and this one did not."""
    inside = [path for path in written if path.is_relative_to(folder) and path.suffix in PICTURES]
    drawn, before = [str(path.relative_to(folder)) for path in inside], _read_drawn(folder)
    if drawn == before:
        return
    with as_bad_input(folder):
        for path in (folder / name for name in before if name not in drawn):
            is_inside = path.resolve().is_relative_to(folder.resolve())
            if is_inside and path.suffix in PICTURES:
                path.unlink(missing_ok=True)
        write_json(folder / DRAWN, {"drawn": drawn})


def _read_drawn(folder: Path) -> list[str]:
    path = folder / DRAWN
    if not path.exists():
        return []
    try:
        names = read_own_json(path).get("drawn")
    except BadInput as error:  # no reason not to draw
        logger.warning("%s; figures of earlier drawings stay", error)
        return []
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []
