"""What an experiment comes to: tables, figures and a page, from its run directories alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path
from typing import Any

from litmus.analysis.comparison import OVERALL, Comparison
from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord
from litmus.counts import say_count
from litmus.errors import BadInput
from litmus.files import to_text, write_bytes
from litmus.reports.comparison_figures import MOST_CURVES, draw_curves, draw_profiles
from litmus.reports.comparison_markdown import Summary, write_markdown
from litmus.reports.comparison_table import Figures, write_html
from litmus.reports.comparison_words import (
    WORDS,
    say_all_gains,
    say_beside_paper,
    say_intervals,
    say_last,
)
from litmus.reports.headline import write_tiles
from litmus.reports.html import note, paragraph, table, tag
from litmus.reports.image_runs import INTRODUCTION, ImageRuns
from litmus.reports.overall import describe_overall, say_scores, write_overall
from litmus.reports.page import Content, write_page
from litmus.reports.plots import write_figures
from litmus.reports.provenance import write_configuration, write_run_table
from litmus.reports.reaching import REACHING, list_reaching, write_reaching
from litmus.reports.sections import Sections
from litmus.reports.words import write_glossary
from litmus.runs.final import DEFINITION

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

    def to_markdown(self) -> str:
        """What the runs themselves say of where they come from stands at its end."""
        beside = [record for group in self.beside for record in group.records]
        return write_markdown(
            Summary(
                self.title,
                self.comparison,
                self.paper,
                self.algorithms,
                list_reaching(self.groups, self.paper),
                self.missing,
                [*self.remarks, *self.images.problems],
                [record.provenance for record in (*self.records, *beside)],
            )
        )

    @property
    def algorithms(self) -> list[str]:
        """Those of litmus."""
        return list(dict.fromkeys(group.label for group in self.groups))

    def _make_page(self, charts: Sequence[Any], profile: Any) -> Content:
        sections, records = Sections(), self.records
        body = write_html(self.comparison, self.paper)
        body += paragraph(f"Final return: {DEFINITION}. {say_intervals(self.comparison)}", "small")
        body += paragraph(said, "small") if (said := say_last(self.comparison)) else ""
        body += "".join(map(paragraph, say_all_gains(self.comparison, self.algorithms)))
        if reached := write_reaching(list_reaching(self.groups, self.paper)):
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
