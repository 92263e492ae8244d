"""Whole episodes of a planar MuJoCo body in one call: simulating, observing and acting."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.native.library import CompiledActor, Health, Library, PlanarBody, find_library

Range = tuple[float, float]


class CompiledLoop:
    """Runs episodes from the state that the simulator is in, into the arrays that it was given."""

    def __init__(self, library: Library, body: PlanarBody, normalized: NDArray[np.float32]) -> None:
        self._library, self._body, self._normalized = library, body, normalized

    def run(self, policy: object | None) -> tuple[int, bool] | None:
        """Return the number of steps and whether the last one was a fall.

        `policy` is the compiled form of a policy; None comes back where it is nothing that this
        loop can run.
        """
        if not isinstance(policy, CompiledActor):
            return None
        sizes = (len(policy.mean), policy.num_actions)
        expected = (len(self._normalized), int(self._body.num_controls))
        if sizes != expected:
            raise ValueError(f"a policy for {sizes} observations and actions, not {expected}")
        mean, inverse_std = policy.mean.ctypes.data, policy.inverse_std.ctypes.data
        steps = self._library.run_episode(self._body, policy.actor, mean, inverse_std)
        return abs(steps), steps < 0


def compile_loop(
    model: Any,
    data: Any,
    *,
    frames: int,
    limit: int,
    skipped: int,
    velocity_bound: float,
    posture: tuple[Range, Range] | None,
    state: Range | None,
    observations: NDArray[np.float64],  # [limit, D]
    actions: NDArray[np.float32],  # [limit, A]
    x: NDArray[np.float64],  # [limit + 1]
) -> CompiledLoop | None:
    """The loop around MuJoCo's `model` and `data`, or None where there are no kernels.

    An episode ends early where height or angle leave `posture`, or another coordinate `state`. The
    arrays are filled by each run; the caller keeps them, and `data`, for as long as the loop.
    """
    library, step = find_library(), _find_step()
    if library is None or step is None:
        return None
    health = Health()
    if posture is not None:
        health.checks_posture = True
        health.z[:], health.angle[:] = posture
    if state is not None:
        health.checks_state = True
        health.state[:] = state
    normalized = np.empty(observations.shape[1], dtype=np.float32)
    body = PlanarBody(
        step,
        model._address,
        data._address,
        data.qpos.ctypes.data,
        data.qvel.ctypes.data,
        data.ctrl.ctypes.data,
        model.nq,
        model.nv,
        model.nu,
        frames,
        limit,
        skipped,
        velocity_bound,
        health,
        observations.ctypes.data,
        actions.ctypes.data,
        x.ctypes.data,
        normalized.ctypes.data,
    )
    return CompiledLoop(library, body, normalized)


def _find_step() -> int | None:
    """The address of MuJoCo's own `mj_step`, in the library that its Python module is linked to."""
    import mujoco

    try:
        library = ctypes.CDLL(mujoco._functions.__file__)
        return ctypes.cast(library.mj_step, ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None
