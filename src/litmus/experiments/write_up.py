"""From the folder of a grid to its tables, figures and page."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeAlias

from litmus.analysis.comparison import Comparison
from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord, read_record
from litmus.errors import BadInput
from litmus.experiments.fill_table import fill, make_untrained_cells
from litmus.experiments.jobs import Job, TrainJob, find_problem
from litmus.experiments.random_policy import RANDOM, RandomJob
from litmus.experiments.sb3_ars import SB3_ARS, Sb3ArsJob
from litmus.experiments.seed_results import (
    CellResults,
    SeedResult,
    read_cell,
    select_options,
    sort_seeds,
)
from litmus.experiments.table_file import read_table, write_table
from litmus.reports.comparison import ComparisonReport
from litmus.reports.comparison_markdown import Summary, write_markdown
from litmus.reports.comparison_table import Figures
from litmus.reports.progress import ReportProgress
from litmus.runs.directory import METRICS

logger = logging.getLogger("litmus")

Entitle: TypeAlias = Callable[[Sequence[str], Sequence[str]], str]
"""The title of what is there: of these tasks and algorithms."""


@dataclass(frozen=True)
class Subject:
    """What an experiment is about, whatever of it was chosen."""

    entitle: Entitle
    paper: Figures = field(default_factory=Figures)
    tasks: Sequence[str] = ()
    algorithms: Sequence[str] = ()
    """Its own, in its own order."""


def write_up_grid(
    subject: Subject,
    jobs: Sequence[Job],
    folder: Path,
    results: Path | None,
    progress: ReportProgress,
) -> list[Path]:
    """Write everything; BadInput where no run is finished yet."""
    report, cells = read_grid(subject, jobs, folder, progress)
    progress.tell("drawing", len(jobs), len(jobs))
    written = report.write(folder)
    if results is not None:
        fill_results(results, subject, report, cells)
        written.append(results)
    return written


def fill_results(
    path: Path, subject: Subject, report: ComparisonReport, cells: Sequence[CellResults]
) -> None:
    """Put the folder's seeds into the file, and write the Markdown beside it anew."""
    known = read_table(path) if path.exists() else []
    filled = fill(known, cells, subject.tasks, subject.algorithms)
    comparison = filled.comparison
    summary = Summary(
        subject.entitle(comparison.tasks, comparison.algorithms),
        comparison,
        filled.paper,
        filled.algorithms,
        filled.reaching,
        filled.select_missing(report.missing),
        [*report.remarks, *report.images.problems],
        filled.origins,
        filled.left_out,
    )
    write_table(path, filled.cells, write_markdown(summary))
    for line in filled.left_out:
        logger.warning("left out of %s: %s", path, line)


def read_grid(
    subject: Subject, jobs: Sequence[Job], folder: Path, progress: ReportProgress
) -> tuple[ComparisonReport, list[CellResults]]:
    """What is finished, as a report and seed by seed."""
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
    beside = _read_sb3_ars(jobs, folder, missing)
    cells = [read_cell(group, subject.paper) for group in (*groups, *beside)]
    for one in jobs:
        cells += _read_random(one, folder, missing) if isinstance(one, RandomJob) else []
    if len(cells) > len(groups):
        cells += make_untrained_cells(cells)
    order = list(dict.fromkeys(job.task for job in trained))
    cells.sort(key=lambda cell: order.index(cell.task))
    comparison = Comparison(tuple(one.cell for one in cells))
    title = subject.entitle(comparison.tasks, comparison.algorithms)
    return (
        ComparisonReport(title, comparison, groups, subject.paper, missing, remarks, beside),
        cells,
    )


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
        problem = find_problem(folder / job.folder)
        return None, problem or f"at {standing.done / job.steps:.0%}"
    record = read_record(folder / job.folder)
    # Where evaluations may be lost, what is left of them is not how the run ended.
    lost = any(problem.startswith(METRICS) for problem in record.problems)
    if lost or record.final_return is None or "steps" not in record.config:
        return None, "; ".join(record.problems) or "it was never evaluated"
    return replace(record.without_rounds(), name=job.name), "; ".join(record.problems)


def _read_random(job: RandomJob, folder: Path, missing: list[str]) -> list[CellResults]:
    found = job.read_returns(folder / job.folder)
    missing += [
        f"{job.name}, seed {seed}: not measured" for seed, mean in found.items() if mean is None
    ]
    known = [SeedResult(seed, mean, 0) for seed, mean in found.items() if mean is not None]
    cell = CellResults(job.task, RANDOM, sort_seeds(known), select_options(job.describe()))
    return [cell] if known else []
