"""Figures, described once: the page draws them with its own script, `plots.py` with matplotlib."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

Kind = Literal["line", "points"]

DIGITS = 5
MOST_POINTS = 600
"""Of a series: more cannot be told apart on a screen."""


@dataclass(frozen=True)
class Series:
    """One line or cloud; NaN is a gap."""

    name: str
    x: ArrayLike
    y: ArrayLike
    low: ArrayLike | None = None
    high: ArrayLike | None = None
    kind: Kind = "line"
    color: int = 0
    """Place in the palette; equal colours belong together."""
    is_quiet: bool = False
    """Drawn thin and left out of the legend: single runs behind their mean."""

    def to_json(self) -> dict[str, Any]:
        places = thin(len(np.asarray(self.x)), MOST_POINTS)
        described: dict[str, Any] = {
            "name": self.name,
            "kind": self.kind,
            "color": self.color,
            "x": shorten(np.asarray(self.x)[places]),
            "y": shorten(np.asarray(self.y)[places]),
        }
        if self.low is not None and self.high is not None:
            described["low"] = shorten(np.asarray(self.low)[places])
            described["high"] = shorten(np.asarray(self.high)[places])
        if self.is_quiet:
            described["quiet"] = True
        return described


@dataclass(frozen=True)
class Panel:
    """One pair of axes; panels of a view share x."""

    y_label: str
    series: Sequence[Series]
    is_logarithmic: bool = False
    has_diagonal: bool = False
    """Draw y = x: where predictions would lie if they were right."""


@dataclass(frozen=True)
class View:
    name: str
    x_label: str
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Chart:
    """A figure with axes; several views are ways to look at the same thing."""

    id: str
    title: str
    sentence: str
    """What to see."""
    views: Sequence[View]
    is_tall: bool = False

    def to_json(self) -> dict[str, Any]:
        return {
            "views": [
                {
                    "name": view.name,
                    "x": view.x_label,
                    "panels": [
                        {
                            "y": panel.y_label,
                            "log": panel.is_logarithmic,
                            "diagonal": panel.has_diagonal,
                            "series": [series.to_json() for series in panel.series],
                        }
                        for panel in view.panels
                    ],
                }
                for view in self.views
            ]
        }


@dataclass(frozen=True)
class Bar:
    label: str
    value: float
    note: str = ""


@dataclass(frozen=True)
class BarChart:
    """Named amounts, the largest first or in their own order."""

    id: str
    title: str
    sentence: str
    value_label: str
    bars: Sequence[Bar]


Figure = Chart | BarChart


def thin(count: int, limit: int) -> Any:
    """Evenly spaced places, first and last included."""
    if count <= limit:
        return np.arange(count)
    return np.unique(np.linspace(0, count - 1, limit).round().astype(int))


def shorten(values: Iterable[float]) -> list[float | None]:
    """Numbers with as many digits as a screen shows; what is not finite is None."""
    return [_shorten_one(float(value)) for value in values]


def _shorten_one(value: float) -> float | None:
    if not math.isfinite(value):
        return None
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
