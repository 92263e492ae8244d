"""Whether a body survives while it does nothing: then staying alive is no achievement of learning,
but something that it may lose."""

from __future__ import annotations

import json
from functools import lru_cache
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.tasks.base import ContinuousActions, FloatArray, StepsThrough, TaskSpec

MOST_STEPS = 1000
"""After which whatever is still alive survives."""


def survives_idle(spec: TaskSpec) -> bool:
    """Whether one episode of no action at all ends by the clock alone."""
    return _survives_idle(spec.factory, json.dumps(dict(spec.arguments), sort_keys=True))


@lru_cache(maxsize=64)
def _survives_idle(factory: str, arguments: str) -> bool:
    task = TaskSpec(factory, json.loads(arguments)).build()
    try:
        actions = task.actions
        if not isinstance(task, StepsThrough) or not isinstance(actions, ContinuousActions):
            return False
        nothing = np.clip(np.zeros(actions.size), actions.low, actions.high)
        action: NDArray[Any] = nothing.astype(actions.dtype).reshape(actions.shape or (-1,))

        def stay_idle(observation: FloatArray) -> NDArray[Any]:
            return action

        return not any(
            one.terminated for one in islice(task.step_through(stay_idle, 0), MOST_STEPS)
        )
    finally:
        task.close()
