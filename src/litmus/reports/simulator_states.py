"""From an observation back to the simulator's coordinates (qpos, qvel), for the paper's six tasks.

What an observation leaves out (x of the runners, x and y of the ant, contact forces) is zero. A
state that the simulator cannot take is told apart in words, so that the report can say why.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from litmus.presets import base_name

Vector = NDArray[np.float64]


class ImpossibleState(ValueError):
    """The simulator cannot be set to this state; the message says why."""


@dataclass(frozen=True)
class Coordinates:
    """Where MuJoCo is."""

    qpos: Vector
    qvel: Vector


@dataclass(frozen=True)
class Layout:
    """How a task's observation is made of qpos and qvel."""

    left_out: int
    """Leading positions that the observation does not hold."""
    positions: int
    """Positions that it does hold."""
    velocities: int


LAYOUTS = {
    "Swimmer": Layout(2, 3, 5),
    "Hopper": Layout(1, 5, 6),
    "Walker2d": Layout(1, 8, 9),
    "HalfCheetah": Layout(1, 8, 9),
    "Ant": Layout(2, 13, 14),
}

QUATERNION = slice(3, 7)  # of the ant's torso, in qpos
SMALLEST_NORM = 1e-3
LARGEST_COORDINATE = 1e6  # far beyond what a body does; MuJoCo itself gives up at 1e10


def find_mapping(task: str) -> Callable[[Vector], Coordinates] | None:
    """The mapping for a task's observations, or None where there is none."""
    name = base_name(task)
    if name == "InvertedDoublePendulum":
        return map_double_pendulum
    if name in LAYOUTS:
        layout = LAYOUTS[name]
        is_ant = name == "Ant"
        return lambda state: _map_by_layout(state, layout, has_quaternion=is_ant)
    return None


def _map_by_layout(state: Vector, layout: Layout, has_quaternion: bool) -> Coordinates:
    state = _require_finite(state)
    end = layout.positions + layout.velocities
    if state.size < end:
        raise ImpossibleState(f"it has {state.size} components and the simulator needs {end}")
    qpos = np.concatenate([np.zeros(layout.left_out), state[: layout.positions]])
    if has_quaternion:
        norm = float(np.linalg.norm(qpos[QUATERNION]))
        if norm < SMALLEST_NORM:
            raise ImpossibleState("its orientation is a quaternion of length zero")
        qpos[QUATERNION] /= norm
    return Coordinates(qpos, state[layout.positions : end].copy())


def map_double_pendulum(state: Vector) -> Coordinates:
    """Cart position, then sines and cosines of both angles, velocities, constraint forces."""
    state = _require_finite(state)
    if state.size < 8:
        raise ImpossibleState(f"it has {state.size} components and the simulator needs 8")
    sines, cosines = state[1:3], state[3:5]
    if (np.hypot(sines, cosines) < SMALLEST_NORM).any():
        raise ImpossibleState("sine and cosine of an angle are both zero: no angle has those")
    return Coordinates(np.concatenate([state[:1], np.arctan2(sines, cosines)]), state[5:8].copy())


def _require_finite(state: Vector) -> Vector:
    state = np.asarray(state, dtype=np.float64).ravel()
    if not np.isfinite(state).all():
        raise ImpossibleState("a component is not a finite number")
    if np.abs(state).max(initial=0.0) > LARGEST_COORDINATE:
        raise ImpossibleState("a component is larger than the simulator can hold")
    return state
