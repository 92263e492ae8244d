"""Episodes that end before they are over: in every collector, and in what a run keeps of them."""

from __future__ import annotations

import numpy as np
import pytest
from toys import TargetTask

from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Outcome, Request, Round, Setting
from litmus.rollouts.pool import PoolCollector
from litmus.rollouts.serial import SerialCollector
from litmus.seeding import Stream
from litmus.tasks import make_task_spec
from litmus.tasks.base import CutsShort, TaskSpec


def make(spec: TaskSpec, most_steps: int | None) -> tuple[Setting, Request]:
    task = spec.build()
    head = ActionHead.for_task("auto", task.actions)
    architecture = MlpArchitecture(task.state_shape, head, hidden=(3,))
    flat = np.zeros(architecture.num_params, np.float32)
    normalizer = Normalizer.identity(task.state_shape)
    request = Request(flat, normalizer, 0.1, Stream.TRAINING, range(5), most_steps=most_steps)
    return Setting(spec, architecture, seed=5), request


@pytest.mark.parametrize("most_steps", [None, 128])
def test_workers_cut_episodes_where_this_process_does(most_steps: int | None) -> None:
    setting, request = make(make_task_spec("Pendulum-v1"), most_steps)
    found = []
    for collector in (SerialCollector(setting), PoolCollector(setting, 2, capacity=3)):
        found.append(collector.start(request).result())
        collector.close()
    for here, there in zip(*found, strict=True):
        assert here.steps == there.steps == (most_steps or 200)
        assert here.training_return == there.training_return
        assert np.array_equal(here.earlier, there.earlier)


def test_a_task_that_does_not_offer_it_runs_whole_episodes() -> None:
    assert not isinstance(TargetTask(), CutsShort)
    setting, request = make(TaskSpec("toys:TargetTask"), 128)
    collector = SerialCollector(setting)
    assert [one.steps for one in collector.start(request).result()] == [1] * 5
    collector.close()


def test_a_round_that_was_cut_has_no_whole_episodes() -> None:
    """Those that ended by themselves are no fair sample: they fell early."""
    outcomes = [Outcome(1.0, 1.0, 128), Outcome(2.0, 2.0, 9), Outcome(None, None, 3)]
    normalizer = Normalizer.identity((1,))
    theta = np.zeros(2, np.float32)
    whole = Round(0, theta, normalizer, 0.1, 4, outcomes)
    cut = Round(0, theta, normalizer, 0.1, 4, outcomes, most_steps=128)
    assert [index for index, _ in whole.whole] == [4, 5]
    assert [index for index, _ in cut.kept] == [4, 5]
    assert cut.whole == []
