"""Writes the tables of docs/results.md anew from results/*.json, without training anything.

    .venv/bin/litmus experiment anywhere --results results/anywhere.json
    .venv/bin/litmus experiment control --results results/control.json
    .venv/bin/python docs/make_results.py

(With `--redraw` the first two train nothing either, and write up what is finished.) Whatever stands
on the page between `<!-- results/NAME.json -->` and `<!-- end -->` is replaced.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from litmus.analysis.comparison import Comparison
from litmus.files import parse_json
from litmus.reports.comparison_table import (
    Figures,
    say_above_untrained,
    shorten_task,
    show_mean,
    write_markdown_table,
)
from litmus.reports.comparison_words import say_gains
from litmus.reports.html import show_number
from litmus.reports.reaching import REACHING, find_median
from litmus.tasks.names import base_name

ROOT = Path(__file__).parents[1]
MARKED = re.compile(r"(<!-- (results/\w+\.json) -->\n).*?(<!-- end -->)", re.DOTALL)
OURS = "pssvf"
COLUMNS = {OURS: "litmus", "untrained": "untrained", "random": "random", "sb3-ars": "sb3 ARS"}


def write_page(page: str, root: Path) -> str:
    def replace(found: re.Match[str]) -> str:
        return f"{found[1]}\n{write_block(root, found[2])}\n\n{found[3]}"

    return MARKED.sub(replace, page)


def write_block(root: Path, name: str) -> str:
    path = root / name
    if not path.is_file():
        command = f"litmus experiment {path.stem} --results {name}"
        return f"Not measured yet; the command is `{command}`."
    return write_results(parse_json(path.read_bytes()))


def write_results(results: dict[str, dict[str, Any]]) -> str:
    comparison = Comparison.from_json(results)
    reported = {task: row[OURS]["paper"] for task, row in results.items() if has_paper(row)}
    paper = Figures({base_name(task): {OURS: figure} for task, figure in reported.items()})
    shown = [name for name in COLUMNS if name in comparison.algorithms]
    head = ["task", "steps", "seeds", *(COLUMNS[name] for name in shown)]
    head += [*(["paper"] if paper.reported else []), "above untrained"]
    rows = []
    for task in comparison.tasks:
        ours = comparison.find(task, OURS)
        if ours is None:
            continue
        cells = [comparison.find(task, name) for name in shown]
        row = [shorten_task(task), f"{ours.steps:,}", str(len(ours.seeds))]
        row += ["–" if one is None else show_mean(one.mean.value, one.std) for one in cells]
        if paper.reported:
            figure = paper.find(ours)
            row.append("–" if figure is None else show_mean(*figure))
        rows.append([*row, say_above_untrained(ours)])
    parts = ["Mean ± standard deviation over seeds:", write_markdown_table(head, rows)]
    parts += [said] if (said := say_gains(comparison, OURS)) else []
    if reached := write_steps_to_paper(results):
        parts += [reached, REACHING]
    return "\n\n".join(parts)


def write_steps_to_paper(results: dict[str, dict[str, Any]]) -> str:
    rows = []
    for task, row in results.items():
        if OURS in row and "steps_to_paper" in row[OURS]:
            steps = list(row[OURS]["steps_to_paper"].values())
            middle = find_median(steps)
            shown = "never" if middle is None else f"{middle:,.0f}"
            reached = f"{sum(one is not None for one in steps)} of {len(steps)}"
            rows.append([shorten_task(task), show_number(row[OURS]["paper"][0]), shown, reached])
    head = ["task", "paper's mean", "median steps to it", "seeds that reached it"]
    return write_markdown_table(head, rows) if rows else ""


def has_paper(row: dict[str, Any]) -> bool:
    return "paper" in row.get(OURS, {})


def main(root: Path) -> None:
    page = root / "docs/results.md"
    page.write_text(write_page(page.read_text(encoding="utf-8"), root), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
