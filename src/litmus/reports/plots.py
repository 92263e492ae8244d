"""The page's figures as PNG and SVG files, for papers and slides."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from litmus.reports.figures import BarChart, Chart, Figure, Panel, View

PALETTE = (
    "#3b62b0", "#c04f48", "#2f8f6b", "#a9741a", "#7a55a8", "#33869c", "#b0567f", "#6b6f76",
)  # fmt: skip
STYLE: Any = {
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "svg.fonttype": "none",
    "legend.frameon": False,
    "legend.fontsize": 8,
}


def write_figures(figures: Sequence[Figure], directory: Path) -> list[Path]:
    """Write each figure as NAME.png and NAME.svg; a chart with several views, one of each."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    directory.mkdir(parents=True, exist_ok=True)
    written = []
    with plt.rc_context(STYLE):
        for figure in figures:
            for name, drawn in _draw(plt, figure):
                for suffix in ("png", "svg"):
                    path = directory / f"{file_name(name)}.{suffix}"
                    drawn.savefig(path, dpi=160, bbox_inches="tight", metadata=_undated(suffix))
                    written.append(path)
                plt.close(drawn)
    return written


def _draw(plt: Any, figure: Figure) -> list[tuple[str, Any]]:
    if isinstance(figure, BarChart):
        return [(figure.id, _draw_bars(plt, figure))]
    several = len(figure.views) > 1
    return [
        (f"{figure.id}-{view.name}" if several else figure.id, _draw_view(plt, figure, view))
        for view in figure.views
    ]


def _draw_view(plt: Any, chart: Chart, view: View) -> Any:
    heights = [2.2] * len(view.panels) if len(view.panels) > 1 else [3.6]
    drawn, axes = plt.subplots(
        len(view.panels), 1, sharex=True, figsize=(6.4, sum(heights)), squeeze=False
    )
    for place, panel in zip(axes[:, 0], view.panels, strict=True):
        _draw_panel(place, panel)
    axes[0, 0].set_title(chart.title)
    axes[-1, 0].set_xlabel(view.x_label)
    return drawn


def _draw_panel(place: Any, panel: Panel) -> None:
    for series in panel.series:
        color = PALETTE[series.color % len(PALETTE)]
        label = None if series.is_quiet else series.name
        if series.kind == "points":
            place.scatter(series.x, series.y, s=9, color=color, alpha=0.6, lw=0, label=label)
            continue
        width, alpha = (0.7, 0.45) if series.is_quiet else (1.5, 1.0)
        place.plot(series.x, series.y, color=color, lw=width, alpha=alpha, label=label)
        if series.low is not None and series.high is not None:
            place.fill_between(series.x, series.low, series.high, color=color, alpha=0.18, lw=0)
    if panel.has_diagonal:
        place.axline((0, 0), slope=1, color="#888888", lw=0.8, ls="--")
        values = [v for s in panel.series for v in (*np.asarray(s.x), *np.asarray(s.y))]
        finite = [v for v in values if math.isfinite(v)]
        if finite:
            margin = 0.05 * (max(finite) - min(finite)) or 1.0
            place.set_xlim(min(finite) - margin, max(finite) + margin)
            place.set_ylim(min(finite) - margin, max(finite) + margin)
    if panel.is_logarithmic:
        place.set_yscale("log")
    place.set_ylabel(panel.y_label)
    named = [series for series in panel.series if not series.is_quiet]
    if len(named) > 1:
        place.legend(ncols=1 if len(named) < 5 else 2, loc="best")


def _draw_bars(plt: Any, chart: BarChart) -> Any:
    bars = list(reversed(chart.bars))
    drawn, place = plt.subplots(figsize=(6.4, 0.8 + 0.24 * len(bars)))
    place.barh([bar.label for bar in bars], [bar.value for bar in bars], color=PALETTE[0])
    place.set_title(chart.title)
    place.set_xlabel(chart.value_label)
    place.grid(axis="y", visible=False)
    return drawn


def _undated(suffix: str) -> dict[str, None]:
    """The same run gives the same file."""
    return {"Date": None} if suffix == "svg" else {}


def file_name(name: str) -> str:
    """Letters, digits and a few signs that every file can have in its name."""
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
