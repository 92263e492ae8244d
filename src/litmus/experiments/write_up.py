"""From the folder of a grid to its tables, figures and page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from litmus.analysis.comparison import Cell, Comparison
from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord, read_record
from litmus.errors import BadInput
from litmus.experiments.jobs import Job, TrainJob
from litmus.experiments.random_policy import RANDOM, UNTRAINED, RandomJob
from litmus.experiments.sb3_ars import SB3_ARS, Sb3ArsJob
from litmus.reports.comparison import ComparisonReport
from litmus.reports.comparison_table import Figures
from litmus.reports.progress import ReportProgress
from litmus.runs.directory import METRICS
from litmus.runs.final import compute_last_return, find_handed_over

Entitle: TypeAlias = Callable[[Sequence[str], Sequence[str]], str]
"""The title of what is there: of these tasks and algorithms."""


def write_up_grid(
    entitle: Entitle,
    paper: Figures,
    jobs: Sequence[Job],
    folder: Path,
    results: Path | None,
    progress: ReportProgress,
) -> list[Path]:
    """Write everything; BadInput where no run is finished yet."""
    report = read_grid(entitle, paper, jobs, folder, progress)
    progress.tell("drawing", len(jobs), len(jobs))
    written = report.write(folder)
    if results is not None:
        report.write_results(results)
        written.append(results)
    return written


def read_grid(
    entitle: Entitle, paper: Figures, jobs: Sequence[Job], folder: Path, progress: ReportProgress
) -> ComparisonReport:
    trained = [job for job in jobs if isinstance(job, TrainJob)]
    members: dict[tuple[str, str], list[RunRecord]] = {}
    missing: list[str] = []
    remarks: list[str] = []
    for place, job in enumerate(trained):
        progress.tell("reading the runs", place, len(jobs))
        record, problem = _read_finished(job, folder)
        known = members.setdefault((job.task, job.label), [])
        known += [record] if record is not None else []
        if problem:
            (missing if record is None else remarks).append(f"{job.name}: {problem}")
    groups = [
        Group(label, task, records[0].algorithm, tuple(records))
        for (task, label), records in members.items()
        if records
    ]
    if not groups:
        raise BadInput(f"no run in {folder} is finished yet")
    cells = [_make_cell(group) for group in groups]
    beside = _read_sb3_ars(jobs, folder, missing)
    cells += map(_make_cell, beside)
    for one in jobs:
        cells += _make_random_cell(one, folder / one.folder) if isinstance(one, RandomJob) else []
    if len(cells) > len(groups):
        cells += _make_untrained_cells(cells)
    order = list(dict.fromkeys(job.task for job in trained))
    cells.sort(key=lambda cell: order.index(cell.task))
    comparison = Comparison(tuple(cells))
    title = entitle(comparison.tasks, comparison.algorithms)
    return ComparisonReport(title, comparison, groups, paper, missing, remarks, beside)


def _read_sb3_ars(jobs: Sequence[Job], folder: Path, missing: list[str]) -> list[Group]:
    """Its trainings that are finished, by task; the others are named in `missing`."""
    members: dict[str, list[RunRecord]] = {}
    for job in jobs:
        if isinstance(job, Sb3ArsJob):
            record = job.read_record(folder / job.folder)
            if record is None or record.final_return is None:
                missing.append(f"{job.name}: not finished, or never evaluated")
            else:
                members.setdefault(job.task, []).append(record)
    return [Group(SB3_ARS, task, SB3_ARS, tuple(records)) for task, records in members.items()]


def _read_finished(job: TrainJob, folder: Path) -> tuple[RunRecord | None, str]:
    """The run, where it is finished and was evaluated, and what is wrong with it."""
    standing = job.look(folder / job.folder)
    if standing.state == "missing":
        return None, "not begun"
    if standing.state == "unfinished":
        return None, f"at {standing.done / job.steps:.0%}"
    record = read_record(folder / job.folder)
    # Where evaluations may be lost, what is left of them is not how the run ended.
    lost = any(problem.startswith(METRICS) for problem in record.problems)
    if lost or record.final_return is None or "steps" not in record.config:
        return None, "; ".join(record.problems) or "it was never evaluated"
    return replace(record.without_rounds(), name=job.name), "; ".join(record.problems)


def _make_cell(group: Group) -> Cell:
    untrained = [record.untrained_return for record in group.records]
    known = [value for value in untrained if value is not None]
    hands_over = any(find_handed_over(record.events) for record in group.records)
    last = [compute_last_return(record.events) for record in group.records if hands_over]
    return Cell(
        group.task,
        group.label,
        min(record.steps for record in group.records),
        tuple(int(record.seed or 0) for record in group.records),
        tuple(group.finals),
        tuple(known) if len(known) == len(untrained) else (),
        tuple(value for value in last if value is not None),
    )


def _make_random_cell(job: RandomJob, folder: Path) -> list[Cell]:
    found = job.read_returns(folder)
    known = {seed: mean for seed, mean in found.items() if mean is not None}
    return [Cell(job.task, RANDOM, 0, tuple(known), tuple(known.values()))] if known else []


def _make_untrained_cells(cells: Sequence[Cell]) -> list[Cell]:
    """What the policies of each task's first algorithm earned before training."""
    first: dict[str, Cell] = {}
    for cell in cells:
        if cell.untrained:
            first.setdefault(cell.task, cell)
    return [Cell(task, UNTRAINED, 0, c.seeds, c.untrained) for task, c in first.items()]
