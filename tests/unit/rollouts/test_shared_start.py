"""Episodes that start alike: one seed for the task, a perturbation and choices for each."""

from __future__ import annotations

import numpy as np
import pytest

from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.episode import draw_episode
from litmus.rollouts.pool import PoolCollector
from litmus.rollouts.serial import SerialCollector
from litmus.seeding import Stream
from litmus.tasks import make_task_spec


def make(start_index: int | None, noise: float = 0.1) -> tuple[Setting, Request]:
    spec = make_task_spec("Pendulum-v1")
    task = spec.build()
    head = ActionHead.for_task("auto", task.actions)
    architecture = MlpArchitecture(task.state_shape, head, hidden=(3,))
    flat = np.zeros(architecture.num_params, np.float32)
    normalizer = Normalizer.identity(task.state_shape)
    request = Request(
        flat, normalizer, noise, Stream.TRAINING, range(8, 12), start_index=start_index
    )
    return Setting(spec, architecture, seed=5), request


def test_only_the_start_is_shared() -> None:
    setting, request = make(start_index=8)
    drawn = [draw_episode(setting, request, index) for index in request.indices]
    assert len({one.seed for one in drawn}) == 1
    assert len({one.flat_params.tobytes() for one in drawn}) == 4
    assert len({one.generator.random() for one in drawn}) == 4
    first = draw_episode(*make(start_index=None), 8)
    assert drawn[0].seed == first.seed
    assert np.array_equal(drawn[0].flat_params, first.flat_params)


@pytest.mark.parametrize("start_index", [None, 8])
def test_workers_share_the_start_too(start_index: int | None) -> None:
    setting, request = make(start_index, noise=0.0)
    found = []
    for collector in (SerialCollector(setting), PoolCollector(setting, 2, capacity=3)):
        found.append([one.return_ for one in collector.start(request).result()])
        collector.close()
    assert found[0] == found[1]
    assert (len(set(found[0])) == 1) == (start_index is not None)
