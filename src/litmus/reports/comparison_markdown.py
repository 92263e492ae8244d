"""The table of an experiment as Markdown, with what is said about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from litmus.analysis.comparison import Comparison
from litmus.reports.comparison_table import (
    HEAD,
    WIDEST,
    Figures,
    shorten_task,
    write_markdown_table,
    write_rows,
    write_wide,
)
from litmus.reports.comparison_words import say_all_gains, say_intervals, say_last
from litmus.reports.html import show_number
from litmus.reports.overall import say_scores, write_overall
from litmus.reports.provenance import list_origins
from litmus.reports.reaching import REACHING, Reaching, write_reaching
from litmus.runs.final import DEFINITION


@dataclass(frozen=True)
class Summary:
    title: str
    comparison: Comparison
    paper: Figures
    algorithms: Sequence[str]
    """Those of litmus."""
    reaching: Sequence[Reaching]
    missing: Sequence[str]
    """Runs that are planned and not in it, in words."""
    remarks: Sequence[str]
    """What is wrong with runs that are in it."""
    origins: Sequence[Mapping[str, Any]]
    left_out: Sequence[str] = ()
    """What the file had before and has no longer, in words."""


def write_markdown(summary: Summary) -> str:
    comparison, paper = summary.comparison, summary.paper
    parts = [f"# {summary.title}"]
    if len(comparison.algorithms) <= WIDEST:
        parts.append("Final return, mean ± standard deviation over seeds:")
        parts.append(write_markdown_table(*write_wide(comparison, paper)))
    parts.append(write_markdown_table(HEAD, write_rows(comparison, paper)))
    parts.append(f"Final return: {DEFINITION}. {say_intervals(comparison)}")
    parts += [said] if (said := say_last(comparison)) else []
    parts.append("Every seed:\n\n" + _list_seeds(comparison))
    parts += say_all_gains(comparison, summary.algorithms)
    if reached := write_reaching(summary.reaching):
        parts += [REACHING, write_markdown_table(*reached)]
    if overall := write_overall(comparison):
        parts.append("Over all tasks. " + say_scores(comparison))
        parts += [write_markdown_table(head, rows) for _, head, rows in overall]
    lists = {
        "Not in these figures": summary.missing,
        "Left out of what this file had": summary.left_out,
        "What could not be read": summary.remarks,
    }
    parts += [f"{head}:\n\n{_list(lines)}" for head, lines in lists.items() if lines]
    parts.append("Made by:\n\n" + "\n".join(list_origins(summary.origins)))
    return "\n\n".join(parts) + "\n"


def _list_seeds(comparison: Comparison) -> str:
    lines = [
        f"- {shorten_task(cell.task)}, {cell.algorithm}: "
        + " ".join(f"{show_number(r)} ({s})" for s, r in zip(cell.seeds, cell.returns, strict=True))
        for cell in comparison.cells
    ]
    return "\n".join([*lines, "\nThe seed stands in brackets."])


def _list(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)
