"""Many steps of a MuJoCo body in one call: simulating, observing and acting."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.native.acting import CompiledPolicy
from litmus.native.library import (
    Body,
    ExplorationCall,
    Library,
    Part,
    Row,
    find_address,
    find_library,
)
from litmus.tasks.base import Exploration
from litmus.tasks.loop_numbers import Numbers

MOST_DRAWN_AHEAD = 20_000
"""Steps of an episode whose random numbers are drawn before it starts, needed or not."""

BENDS: dict[Any, int] = {None: 0, np.sin: 1, np.cos: 2}


class CompiledLoop:
    """Runs steps from the state that the simulator is in, into the arrays that it was given."""

    def __init__(self, library: Library, body: Body) -> None:
        self._library, self._body = library, body
        self._room = int(body.limit)
        self._explored: list[NDArray[np.float32]] = []

    def run(
        self, policy: object | None, limit: int, exploration: Exploration | None = None
    ) -> tuple[int, bool] | None:
        """Return the number of steps, `limit` at most, and whether the last one was a fall.

        `policy` is the compiled form of a policy; None comes back where it is nothing that this
        loop can run. What a deterministic one does may be changed by an `exploration`.
        """
        if not isinstance(policy, CompiledPolicy) or not policy.num_actions:
            return None
        body = self._body
        if not 0 < limit <= self._room:
            raise ValueError(f"there is room for {self._room} steps, not {limit}")
        if policy.is_stochastic and (limit > MOST_DRAWN_AHEAD or exploration is not None):
            return None
        sizes = (policy.num_observed, policy.num_actions)
        expected = (int(body.seen.size), int(body.num_controls))
        if sizes != expected:
            raise ValueError(f"a policy for {sizes} observations and actions, not {expected}")
        body.limit = limit
        policy.draw_ahead(limit)
        call = None if exploration is None else self._describe(exploration, limit)
        steps = int(self._library.run_steps(body, policy.actor, call))
        return abs(steps), steps < 0

    def _describe(self, exploration: Exploration, limit: int) -> ExplorationCall:
        controls = int(self._body.num_controls)
        arrays = [exploration.rows[:limit], exploration.low, exploration.high]
        shapes = [(limit, controls), (controls,), (controls,)]
        if [array.shape for array in arrays] != shapes:
            raise ValueError(f"no exploration for {limit} steps of {controls} actions")
        arrays = [np.ascontiguousarray(array, dtype=np.float32) for array in arrays]
        self._explored = arrays  # kept, since the call has only their addresses
        return ExplorationCall(exploration.given, *map(find_address, arrays))


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
    observations: NDArray[np.float64],  # [limit + 1, D]
    actions: NDArray[np.float32],  # [limit, A]
    records: NDArray[np.float64],  # [limit + 1, R]
) -> CompiledLoop | None:
    """The loop around MuJoCo's `model` and `data`; None where there are no kernels, or where they
    would observe something else than numpy does.

    An episode ends early where one of `bounds` does not hold. The arrays are filled by each run;
    the caller keeps them, and `data`, for as long as the loop.
    """
    library, step = find_library(), _find_function("mj_step")
    find_forces = _find_function("mj_rnePostConstraint")
    if library is None or step is None or find_forces is None:
        return None
    if not all(_agrees(part.bend) for part in (*seen, *recorded)):
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
            BENDS[part.bend],
            part.low,
            part.high,
        )
        for part in parts
    )
    return (Part * len(parts))(*described)


@lru_cache
def _agrees(bend: Callable[..., Any] | None) -> bool:
    """Whether numpy's sine or cosine is that of C, bit for bit: some builds have one of their own,
    which differs in the last bit of every tenth number or so."""
    library = find_library()
    assert library is not None
    if bend is None:
        return True
    angles = np.random.default_rng(0).uniform(-8, 8, (2000, 2))
    expected = np.array([bend(pair) for pair in angles])  # in pairs, as in observations
    found = np.empty_like(angles)
    library.bend(BENDS[bend], angles.size, find_address(angles), find_address(found))
    return bool((found == expected).all())


def _find_function(name: str) -> int | None:
    """The address of a function of MuJoCo's own, in the library that its Python module is linked
    to."""
    import mujoco

    try:
        library = ctypes.CDLL(mujoco._functions.__file__)
        return ctypes.cast(getattr(library, name), ctypes.c_void_p).value
    except (AttributeError, OSError):
        return None
