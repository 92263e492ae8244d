"""How a MuJoCo environment is described to the lean loop, which must be it bit for bit.

Words first (`Loop`: what is seen, recorded, paid, and ends an episode), without MuJoCo; then where
those numbers lie in a simulator (`Numbers`).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Interval = tuple[float, float]

UNLIMITED: Interval = (-math.inf, math.inf)


@dataclass(frozen=True)
class Part:
    """Consecutive numbers of one of the simulator's arrays, laid flat."""

    array: str
    """Such as 'qpos', of MuJoCo's data."""
    first: int = 0
    end: int | None = None
    of: str = ""
    """The body whose row of the array is meant, or the environment's attribute that names it."""
    minus: str = ""
    """Another body, whose row is taken off."""
    bend: Literal["", "sin", "cos"] = ""
    within: Interval | str = UNLIMITED
    """What the numbers are clipped to, or the environment's attribute that says so."""
    if_asked: str = ""
    """The environment's attribute that must be true: else it is no part of the observation."""


@dataclass(frozen=True)
class Bound(Part):
    """While it is alive, the numbers of a body are `within` this."""

    is_closed: bool = False
    """Whether the ends of the interval belong to it."""


Pays = Literal[
    "speed", "torso's speed", "mass's speed", "standing", "upright tip", "reaching", "pushing"
]
"""What rewards are made of: a formula in `mujoco_rewards.py`."""


@dataclass(frozen=True)
class Loop:
    """What the lean loop must know of a body's environment."""

    environment: str
    """'hopper_v{}:HopperEnv': where Gymnasium has the class, by version."""
    sees: tuple[Part, ...]
    """The observation."""
    pays: Pays
    records: tuple[Part, ...]
    """What its formula needs, before the first step and after each."""
    stands: tuple[Bound, ...] = ()
    """An episode ends when one of these no longer holds."""
    versions: tuple[int, ...] = (4, 5)
    v4_pays_when_fallen: bool = False
    """-v4 pays the survival bonus in the last step of a fall as well; -v5 does not."""

    @property
    def needs_forces(self) -> bool:
        """Whether contact forces are looked at, which MuJoCo computes only when asked to."""
        return any(part.array == "cfrc_ext" for part in (*self.sees, *self.records))


class Numbers(NamedTuple):
    """Where a part lies in one simulator."""

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
