"""Writes the tables of docs/results.md anew from results/*.json, without training anything.

    .venv/bin/litmus experiment anywhere --results results/anywhere.json
    .venv/bin/litmus experiment control --results results/control.json
    .venv/bin/litmus experiment learning-curves --results results/learning_curves.json
    .venv/bin/python docs/make_results.py

(With `--redraw` the experiments train nothing either, and write up what is finished.) Whatever
stands on the page between `<!-- results/NAME.json -->` and `<!-- end -->` is replaced, and the
picture of the learning curves drawn.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.comparison import OVERALL, Comparison
from litmus.analysis.statistics import Curve, average_curves
from litmus.experiments.learning_curves import PAPER
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
from litmus.reports.plots import PALETTE, STYLE
from litmus.reports.reaching import REACHING, find_median
from litmus.tasks.names import base_name

ROOT = Path(__file__).parents[1]
MARKED = re.compile(r"(<!-- (results/\w+\.json) -->\n).*?(<!-- end -->)", re.DOTALL)
OURS = "pssvf"
COLUMNS = {OURS: "litmus", "untrained": "untrained", "random": "random", "sb3-ars": "sb3 ARS"}
PAPERS = {"pssvf-paper": "PSSVF", "ars": "ARS", "ddpg": "DDPG"}
"""The paper's own settings; beside them the paper's own figures."""


def write_page(page: str, root: Path) -> str:
    def replace(found: re.Match[str]) -> str:
        return f"{found[1]}\n{write_block(root, found[2])}\n\n{found[3]}"

    return MARKED.sub(replace, page)


def write_block(root: Path, name: str) -> str:
    path = root / name
    if not path.is_file():
        command = f"litmus experiment {path.stem.replace('_', '-')} --results {name}"
        return f"Not measured yet; the command is `{command}`."
    results = parse_json(path.read_bytes())
    if any(name in row for row in results.values() for name in PAPERS):
        return write_beside_paper(results)
    return write_results(results)


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


def write_beside_paper(results: dict[str, dict[str, Any]]) -> str:
    """The default, and each algorithm of the paper beside what the paper reports of it."""
    comparison = Comparison.from_json(results)
    head = ["task", "steps", "default"]
    head += [f"{one}, {whose}" for one in PAPERS.values() for whose in ("here", "paper")]
    rows = []
    for task in comparison.tasks:
        row = [show_cell(comparison, task, OURS)]
        for name in PAPERS:
            figure = PAPER.get(base_name(task), {}).get(name.removesuffix("-paper"))
            row += [show_cell(comparison, task, name), show_mean(*figure) if figure else "–"]
        steps = max((one["steps"] for one in results[task].values()), default=0)
        rows.append([shorten_task(task), f"{steps:,}", *row])
    words = "Mean ± standard deviation over seeds, and in brackets how many:"
    return f"{words}\n\n{write_markdown_table(head, rows)}"


def show_cell(comparison: Comparison, task: str, name: str) -> str:
    found = comparison.find(task, name)
    if found is None:
        return "–"
    return f"{show_mean(found.mean.value, found.std)} ({len(found.seeds)})"


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


def draw_curves(results: dict[str, dict[str, Any]], path: Path) -> None:
    """As in the paper: a panel for each task, means over seeds with 95% intervals."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = {OURS: "PSSVF, default", **{one: f"{name}, paper's" for one, name in PAPERS.items()}}
    tasks = [task for task in results if task != OVERALL]
    with plt.rc_context(STYLE):
        drawn, axes = plt.subplots(2, 3, figsize=(9.6, 5.2), squeeze=False)
        for place, task in zip(axes.flat, tasks, strict=False):
            for color, name in enumerate(names):
                found = results[task].get(name, {}).get("curves", {}).values()
                curves = [
                    Curve(np.array(one["steps"]) / 1e6, np.array(one["returns"])) for one in found
                ]
                if (band := average_curves(curves)) is None:
                    continue
                look = {"color": PALETTE[color]}
                place.plot(band.x, band.mean, lw=1.4, label=names[name], **look)
                place.fill_between(band.x, band.low, band.high, alpha=0.18, lw=0, **look)
            place.set_title(task)
        for place in axes.flat[len(tasks) :]:
            place.set_axis_off()
        for place in axes.flat[max(0, len(tasks) - 3) : len(tasks)]:
            place.set_xlabel("million steps")
        lines: dict[str, Any] = {}
        for place in axes.flat:  # not every algorithm is on each task
            for line, label in zip(*place.get_legend_handles_labels(), strict=True):
                lines.setdefault(label, line)
        shown = [name for name in names.values() if name in lines]
        drawn.legend(
            [lines[name] for name in shown], shown, loc="outside lower center", ncols=len(shown)
        )
        drawn.tight_layout(rect=(0, 0.05, 1, 1))
        drawn.savefig(path, metadata={"Date": None})
        plt.close(drawn)


def main(root: Path) -> None:
    page, curves = root / "docs/results.md", root / "results/learning_curves.json"
    page.write_text(write_page(page.read_text(encoding="utf-8"), root), encoding="utf-8")
    if curves.is_file():
        picture = root / "docs/images/learning_curves.svg"
        draw_curves(parse_json(curves.read_bytes()), picture)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
