"""Whole episodes of a MuJoCo body in one call: simulating, observing and acting."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.native.acting import CompiledPolicy
from litmus.native.library import Body, Library, Part, Row, find_address, find_library
from litmus.tasks.loop_numbers import Numbers


class CompiledLoop:
    """Runs episodes from the state that the simulator is in, into the arrays that it was given."""

    def __init__(self, library: Library, body: Body) -> None:
        self._library, self._body = library, body

    def run(self, policy: object | None) -> tuple[int, bool] | None:
        """Return the number of steps and whether the last one was a fall.

        `policy` is the compiled form of a policy; None comes back where it is nothing that this
        loop can run.
        """
        if not isinstance(policy, CompiledPolicy) or not policy.num_actions:
            return None
        body = self._body
        sizes = (policy.num_observed, policy.num_actions)
        expected = (int(body.seen.size), int(body.num_controls))
        if sizes != expected:
            raise ValueError(f"a policy for {sizes} observations and actions, not {expected}")
        policy.draw_ahead(int(body.limit))
        steps = int(self._library.run_episode(body, policy.actor))
        return abs(steps), steps < 0


def compile_loop(
    model: Any,
    data: Any,
    *,
    frames: int,
    limit: int,
    finds_forces: bool,
    seen: Sequence[Numbers],
    recorded: Sequence[Numbers],
    bounds: Sequence[Numbers],
    observations: NDArray[np.float64],  # [limit, D]
    actions: NDArray[np.float32],  # [limit, A]
    records: NDArray[np.float64],  # [limit + 1, R]
) -> CompiledLoop | None:
    """The loop around MuJoCo's `model` and `data`; None where there are no kernels, or they cannot
    observe what is `seen`: numpy's sines are not for certain those of C.

    An episode ends early where one of `bounds` does not hold. The arrays are filled by each run;
    the caller keeps them, and `data`, for as long as the loop.
    """
    library, step = find_library(), _find_function("mj_step")
    find_forces = _find_function("mj_rnePostConstraint")
    bends = any(part.bend is not None for part in (*seen, *recorded))
    if library is None or step is None or find_forces is None or bends:
        return None
    body = Body(
        step=step,
        find_forces=find_forces if finds_forces else None,
        model=model._address,
        data=data._address,
        control=find_address(data.ctrl),
        num_controls=model.nu,
        frames=frames,
        limit=limit,
        seen=_describe_row(seen),
        recorded=_describe_row(recorded),
        bounds=len(bounds),
        bound=_describe_parts(bounds),
        observations=find_address(observations),
        actions=find_address(actions),
        records=find_address(records),
    )
    return CompiledLoop(library, body)


def _describe_row(parts: Sequence[Numbers]) -> Row:
    size = sum(len(part.values) for part in parts)
    return Row(len(parts), _describe_parts(parts), size)


def _describe_parts(parts: Sequence[Numbers]) -> ctypes.Array[Part]:
    described = (
        Part(
            find_address(part.values),
            None if part.minus is None else find_address(part.minus),
            len(part.values),
            part.low,
            part.high,
        )
        for part in parts
    )
    return (Part * len(parts))(*described)


def _find_function(name: str) -> int | None:
    """The address of a function of MuJoCo's own, in the library that its Python module is linked
    to."""
    import mujoco

    try:
        library = ctypes.CDLL(mujoco._functions.__file__)
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None
