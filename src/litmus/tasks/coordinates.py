"""From an observation back to the simulator's coordinates (qpos, qvel) of a MuJoCo body.

What an observation leaves out (x of the runners, x and y of the ant, contact forces) is zero. A
state that the simulator cannot take is told apart in words, so that a report can say why.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from litmus.tasks.mujoco import Body

Vector = NDArray[np.float64]

SMALLEST_NORM = 1e-3
LARGEST_COORDINATE = 1e6  # far beyond what a body does; MuJoCo itself gives up at 1e10


class ImpossibleState(ValueError):
    """The simulator cannot be set to this state; the message says why."""


@dataclass(frozen=True)
class Coordinates:
    """Where MuJoCo is."""

    qpos: Vector
    qvel: Vector


def find_coordinates(body: Body, state: Vector) -> Coordinates:
    """The coordinates in which the body is observed as `state`."""
    state = np.asarray(state, dtype=np.float64).ravel()
    leading = body.components.count_leading(state.size)
    if leading is None:
        needed = len(body.positions) + len(body.velocities)
        raise ImpossibleState(f"it has {state.size} components and the simulator needs {needed}")
    if not np.isfinite(state).all():
        raise ImpossibleState("a component is not a finite number")
    if np.abs(state).max(initial=0.0) > LARGEST_COORDINATE:
        raise ImpossibleState("a component is larger than the simulator can hold")
    split = leading + len(body.positions)
    qpos = np.concatenate([np.zeros(len(body.left_out) - leading), state[:split]])
    if body.has_sines:
        qpos = _find_angles(qpos)
    if body.quaternion_at is not None:
        _normalize(qpos[body.quaternion_at : body.quaternion_at + 4])
    return Coordinates(qpos, state[split : split + len(body.velocities)].copy())


def _find_angles(observed: Vector) -> Vector:
    """From the first position, and sines and cosines of the others."""
    sines, cosines = observed[1:].reshape(2, -1)
    if (np.hypot(sines, cosines) < SMALLEST_NORM).any():
        raise ImpossibleState("sine and cosine of an angle are both zero: no angle has those")
    return np.concatenate([observed[:1], np.arctan2(sines, cosines)])


def _normalize(quaternion: Vector) -> None:
    norm = float(np.linalg.norm(quaternion))
    if norm < SMALLEST_NORM:
        raise ImpossibleState("its orientation is a quaternion of length zero")
    quaternion /= norm
