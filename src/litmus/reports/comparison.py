"""What an experiment comes to: tables, figures and a page, from its run directories alone."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.comparison import OVERALL, TEST, Comparison
from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord
from litmus.analysis.statistics import FEWEST_FOR_INTERVAL, standard_deviation
from litmus.counts import say_count
from litmus.errors import BadInput
from litmus.files import write_bytes
from litmus.reports.comparison_figures import MOST_CURVES, draw_curves, draw_profiles
from litmus.reports.comparison_table import HEAD as TABLE_HEAD
from litmus.reports.comparison_table import (
    WIDEST,
    Figures,
    shorten_task,
    show_mean,
    write_html,
    write_markdown_table,
    write_rows,
    write_wide,
)
from litmus.reports.headline import write_tiles
from litmus.reports.html import note, paragraph, show_number, table, tag
from litmus.reports.image_runs import INTRODUCTION, ImageRuns
from litmus.reports.overall import describe_overall, say_scores, write_overall
from litmus.reports.page import Content, write_page
from litmus.reports.plots import write_figures
from litmus.reports.provenance import write_configuration, write_run_table
from litmus.reports.reaching import REACHING, describe_reaching, write_reaching
from litmus.reports.sections import Sections
from litmus.reports.words import write_glossary
from litmus.runs.final import DEFINITION

UNTRAINED = "untrained"
MOST_CONFIGURATIONS = 24
"""That are written out whole on the page."""


@dataclass(frozen=True)
class ComparisonReport:
    title: str
    comparison: Comparison
    groups: Sequence[Group]
    """The runs that the comparison is made of, one group per task and algorithm."""
    paper: Figures = field(default_factory=Figures)
    missing: Sequence[str] = ()
    """Runs that are planned and not finished, or that cannot be read, in words."""
    remarks: Sequence[str] = ()
    """What is wrong with runs that are in it."""
    beside: Sequence[Group] = ()
    """Trainings of other software: with curves, but no runs of litmus."""

    @property
    def records(self) -> list[RunRecord]:
        return [record for group in self.groups for record in group.records]

    @cached_property
    def images(self) -> ImageRuns:
        """What there is of runs on sets of images."""
        return ImageRuns.read(self.groups)

    def write(self, folder: Path) -> list[Path]:
        """table.md, table.json, report.html and figures/; of images, pictures/."""
        charts = draw_curves(self.comparison, [*self.groups, *self.beside]) + self.images.draw()
        profile = draw_profiles(self.comparison)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            written = [folder / name for name in ("table.md", "table.json", "report.html")]
            page = write_page(self._make_page(charts, profile))
            for path, text in zip(
                written, (self.to_markdown(), to_text(self.to_json()), page), strict=True
            ):
                write_bytes(path, text.encode())
            figures = [*charts, *([profile] if profile is not None else [])]
            written += write_figures(figures, folder / "figures")
            return written + self.images.write_files(folder / "pictures")
        except OSError as error:
            raise BadInput(f"cannot write to {folder}: {error.strerror}") from error

    def to_json(self) -> dict[str, Any]:
        """The table by task and algorithm, of sets of images with their curves, and beside the
        tasks what it comes to over all."""
        cells, overall = self.comparison.to_json(), describe_overall(self.comparison)
        for group in self.groups:
            cells[group.task][group.label] |= self.images.describe(group)
        return {**cells, **({OVERALL: overall} if overall else {})}

    def write_results(self, path: Path) -> None:
        """The table with every seed's curve as one JSON file, and the Markdown beside it."""
        results = self.to_json()
        for cell in self.comparison.cells:
            if (figure := self.paper.find(cell)) is not None:
                results[cell.task][cell.algorithm]["paper"] = list(figure)
        for group in (*self.groups, *self.beside):
            found = results.get(group.task, {}).get(group.label)
            if found is not None:
                curves = {str(record.seed): _read_curve(record) for record in group.records}
                found |= {"curves": curves, **describe_reaching(group, self.paper)}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_bytes(path, to_text(results, indent=None).encode())
            write_bytes(path.with_suffix(".md"), self.to_markdown().encode())
        except OSError as error:
            raise BadInput(f"cannot write {path}: {error.strerror}") from error

    def to_markdown(self) -> str:
        parts = [f"# {self.title}"]
        if len(self.comparison.algorithms) <= WIDEST:
            parts.append("Final return, mean ± standard deviation over seeds:")
            parts.append(write_markdown_table(*write_wide(self.comparison, self.paper)))
        parts.append(write_markdown_table(TABLE_HEAD, write_rows(self.comparison, self.paper)))
        parts.append(f"Final return: {DEFINITION}. {say_intervals(self.comparison)}")
        parts += [said] if (said := say_last(self.comparison)) else []
        parts.append("Every seed:\n\n" + self._list_seeds())
        parts += self._say_all_gains()
        if reached := write_reaching(self.groups, self.paper):
            parts.append(REACHING)
            parts.append(write_markdown_table(*reached))
        if overall := write_overall(self.comparison):
            parts.append("Over all tasks. " + say_scores(self.comparison))
            parts += [write_markdown_table(head, rows) for _, head, rows in overall]
        if self.missing:
            parts.append("Not in these figures:\n\n" + _list(self.missing))
        if remarks := [*self.remarks, *self.images.problems]:
            parts.append("What could not be read:\n\n" + _list(remarks))
        parts.append(self._write_provenance())
        return "\n\n".join(parts) + "\n"

    def _say_all_gains(self) -> list[str]:
        """A sentence for each algorithm of litmus; of many, one for each task."""
        names = list(dict.fromkeys(group.label for group in self.groups))
        if len(names) > WIDEST:
            return [say_best(self.comparison, task) for task in self.comparison.tasks]
        said = [say_gains(self.comparison, name) for name in names]
        return [sentence for sentence in said if sentence]

    def _list_seeds(self) -> str:
        lines = [
            f"- {shorten_task(cell.task)}, {cell.algorithm}: "
            + " ".join(
                f"{show_number(r)} ({s})" for s, r in zip(cell.seeds, cell.returns, strict=True)
            )
            for cell in self.comparison.cells
        ]
        return "\n".join([*lines, "\nThe seed stands in brackets."])

    def _write_provenance(self) -> str:
        """What the runs themselves say of where they come from."""
        beside = [record for group in self.beside for record in group.records]
        origins = [record.provenance for record in (*self.records, *beside)]
        return "Made by:\n\n" + "\n".join(list_origins(origins))

    def _make_page(self, charts: Sequence[Any], profile: Any) -> Content:
        sections, records = Sections(), self.records
        body = write_html(self.comparison, self.paper)
        body += paragraph(f"Final return: {DEFINITION}. {say_intervals(self.comparison)}", "small")
        body += paragraph(said, "small") if (said := say_last(self.comparison)) else ""
        body += "".join(map(paragraph, self._say_all_gains()))
        if reached := write_reaching(self.groups, self.paper):
            head, rows = reached
            cells = [[escape(text) for text in row] for row in rows]
            body += table(head, cells, "Steps to the paper's mean", numbers=range(2, len(head)))
            body += paragraph(REACHING, "small")
        body += note(self.missing, "Not in these figures") if self.missing else ""
        remarks = [*self.remarks, *self.images.problems]
        body += note(remarks, "What could not be read") if remarks else ""
        sections.add("returns", "Final returns", "What each algorithm ended with.", body)
        chosen = ""
        if len(self.comparison.trained) > MOST_CURVES:
            chosen = f" Of {len(self.comparison.trained)} algorithms, the best {MOST_CURVES}."
        sections.add(
            "learning",
            "Learning curves",
            "How the return of the policy changed during training." + chosen,
            sections.draw(charts, "figures single" if len(charts) == 1 else "figures"),
        )
        images = self.images.write_html()
        sections.add("probing-images", "Probing images", INTRODUCTION, images)
        overall = "".join(
            table(head, [[escape(text) for text in row] for row in rows], caption, numbers=(1, 2))
            for caption, head, rows in write_overall(self.comparison)
        )
        overall += sections.draw([profile], "figures single") if profile is not None else ""
        sections.add("overall", "Over all tasks", say_scores(self.comparison), overall)
        sections.add("runs", "Runs", "Every run.", write_run_table(records, self.groups, ()))
        groups = self.groups[:MOST_CONFIGURATIONS]
        firsts = [group.records[0] for group in groups]
        introduction = "What the first run of each configuration was made with."
        if len(self.groups) > len(groups):
            introduction += f" Of {len(self.groups)} configurations, {len(groups)} are shown."
        sections.add(
            "configuration",
            "Configuration and provenance",
            introduction,
            write_configuration(firsts, groups),
        )
        return Content(
            self.title,
            self._write_lead(),
            write_tiles(records, self.groups, ()),
            sections.written,
            sections.figures,
            write_glossary([*self.images.words, *WORDS]),
        )

    def _write_lead(self) -> str:
        comparison = self.comparison
        runs = say_count(len(self.records), "run")
        algorithms = say_count(len(comparison.trained), "algorithm")
        lines = [f"{runs}: {algorithms} on {say_count(len(comparison.tasks), 'task')}."]
        lines += [say_beside_paper(comparison, self.paper, name) for name in comparison.algorithms]
        if self.missing:
            lines.append(f"{say_count(len(self.missing), 'run')} not finished.")
        return "".join(tag("p", escape(line), class_="lead") for line in lines if line)


WORDS = (
    (
        "Return",
        "The sum of all rewards of one episode. An evaluation is the mean return of the policy "
        "without noise, over some episodes.",
    ),
    ("Final return", f"It is {DEFINITION}."),
    (
        "Interval, range",
        "A 95% interval of the mean says where the mean of other runs like these may lie; it is "
        f"bootstrapped over seeds. Fewer than {FEWEST_FOR_INTERVAL} seeds are too few for one: "
        "then it is the lowest and the highest seed.",
    ),
    (
        "Above untrained",
        "Whether the policies of all seeds together earn more than before their training, by more "
        f"than luck: {TEST}.",
    ),
    (
        "Interquartile mean",
        "The mean of the middle half of the values: one run that went wrong does not move it much.",
    ),
    (
        "Score",
        "A return on a scale on which tasks can be averaged: 0 is what the untrained policies earn "
        "in the task, 1 the mean of the algorithm that is best there.",
    ),
    (
        "Probability that a run ends above another",
        "For two runs by chance of the two algorithms, in the same task; every task counts alike.",
    ),
)


def say_intervals(comparison: Comparison) -> str:
    few = any(cell.mean.is_range for cell in comparison.cells)
    words = "Intervals are bootstrapped over seeds."
    if few:
        words += f" With fewer than {FEWEST_FOR_INTERVAL} seeds the range is shown instead."
    return words


def say_gains(comparison: Comparison, name: str) -> str:
    """In how many tasks an algorithm is better than before training, and than each other one."""
    cells = [cell for cell in comparison.cells if cell.algorithm == name]
    tested = [cell for cell in cells if cell.p_untrained is not None]
    parts = []
    if tested:
        better = [cell for cell in tested if cell.is_above_untrained]
        parts.append(
            f"significantly better than the untrained policy on {len(better)} of "
            f"{say_count(len(tested), 'task')} ({TEST})"
        )
    for other in comparison.algorithms:
        pairs = [(cell, comparison.find(cell.task, other)) for cell in cells if other != name]
        known = [(ours, theirs) for ours, theirs in pairs if theirs is not None]
        if known and other != UNTRAINED:
            above = sum(ours.mean.value >= theirs.mean.value for ours, theirs in known)
            parts.append(f"a mean at or above that of {other} on {above} of {len(known)}")
    return f"{name}: {'; '.join(parts)}." if parts else ""


def say_last(comparison: Comparison) -> str:
    """What algorithms that hand over their best policy have beside others that hand over their
    last: nothing where there are none."""
    last = [
        f"{shorten_task(cell.task)}, {cell.algorithm} "
        + show_mean(float(np.mean(cell.last)), standard_deviation(cell.last))
        for cell in comparison.cells
        if cell.last
    ]
    told = "The mean over the last evaluations, of runs that hand over another policy than the last"
    return f"{told}: {'; '.join(last)}." if last else ""


def say_best(comparison: Comparison, task: str) -> str:
    """Which algorithm has the best mean in a task, and which comes next."""
    cells = [cell for cell in comparison.cells if cell.task == task and cell.is_trained]
    cells.sort(key=lambda cell: cell.mean.value, reverse=True)
    named = [f"{cell.algorithm} ({show_mean(cell.mean.value, cell.std)})" for cell in cells[:2]]
    return (
        f"{shorten_task(task)}: the best mean of {len(cells)} is that of {', then '.join(named)}."
    )


def say_beside_paper(comparison: Comparison, paper: Figures, algorithm: str) -> str:
    """Where an algorithm's mean is below what the paper reports, less its standard deviation."""
    cells = [cell for cell in comparison.cells if cell.algorithm == algorithm]
    known = [(cell, found) for cell in cells if (found := paper.find(cell)) is not None]
    if not known:
        return ""
    below = [c for c, (mean, std) in known if c.mean.value < mean - (std or 0.0)]
    words = f"{algorithm}: within or above the paper's mean ± standard deviation on "
    words += f"{len(known) - len(below)} of {say_count(len(known), 'task')}"
    names = ", ".join(shorten_task(cell.task) for cell in below)
    return f"{words}; below it on {names}." if below else f"{words}."


def list_origins(origins: Sequence[Mapping[str, Any]]) -> list[str]:
    """What code, with what, on what machines, from what provenance tells; each said once."""
    commands = _unique(shlex.join(map(str, one.get("command", []))) for one in origins)
    commits = _unique(str(one.get("commit")) for one in origins)
    versions = _unique(_join(one.get("versions")) for one in origins)
    hardware = _unique(_join(one.get("hardware")) for one in origins)
    lines = [f"- command: `{one}`" for one in commands[:4] if one]
    lines += [f"- commit: {', '.join(commits)}"]
    lines += [f"- versions: {one}" for one in versions]
    lines += [f"- hardware: {one}" for one in hardware]
    return lines


def to_text(data: Any, indent: int | None = 2) -> str:
    return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False) + "\n"


def _read_curve(record: RunRecord) -> dict[str, list[float]]:
    curve = record.evaluation_curve("steps")
    return {"steps": [int(x) for x in curve.x], "returns": curve.y.tolist()}


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _unique(texts: Any) -> list[str]:
    return list(dict.fromkeys(texts))


def _join(values: object) -> str:
    if not isinstance(values, dict):
        return "unknown"
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
