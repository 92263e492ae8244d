"""Where the parts of a loop's description lie in one simulator."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from litmus.tasks.loops import Bound, Part

Floats = NDArray[np.float64]


class Numbers(NamedTuple):
    """A part: views of what the simulator writes, and what becomes of it."""

    values: Floats
    minus: Floats | None
    bend: Callable[..., Any] | None
    low: float
    high: float


class Unknown(Exception):
    """The simulator is not the one that was described."""


def locate(part: Part, environment: Any) -> Numbers:
    """The numbers of a part in an environment's simulator: views that it writes into."""
    values = _find_row(part, part.of, environment)
    minus = _find_row(part, part.minus, environment) if part.minus else None
    within: Any = getattr(environment, part.within) if isinstance(part.within, str) else part.within
    low, high = map(float, within)
    if isinstance(part, Bound) and not part.is_closed:  # as the closed one with the same numbers
        low, high = math.nextafter(low, math.inf), math.nextafter(high, -math.inf)
    return Numbers(values, minus, getattr(np, part.bend) if part.bend else None, low, high)


def _find_row(part: Part, body: str, environment: Any) -> Floats:
    array: Floats = getattr(environment.data, part.array)
    if body:
        named = getattr(environment, body) if body.startswith("_") else body
        try:
            array = array[environment.model.body(named).id]
        except (KeyError, IndexError) as error:
            raise Unknown(named) from error
    flat = array.reshape(-1)[part.first : part.end]
    if not np.shares_memory(flat, array) or (
        part.end is not None and len(flat) != part.end - part.first
    ):
        raise Unknown(part.array)
    return flat
