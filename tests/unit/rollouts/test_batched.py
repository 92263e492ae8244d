"""Rounds measured in tensors: the same episodes, and nothing that a CUDA graph could not hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tiny_images import draw
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from litmus.policies.actions import ActionHead
from litmus.policies.cnn import CnnArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Setting
from litmus.rollouts.batched import BatchedCollector, MeasuringGraph
from litmus.tasks.base import TaskSpec
from litmus.tasks.classification import ClassificationTask

SIZE = 3


class OwnTask(ClassificationTask):
    """A user's."""


def make_task(kind: type[ClassificationTask] = ClassificationTask) -> ClassificationTask:
    return kind(*draw(90), images_per_episode=20)


def make_architecture(task: ClassificationTask) -> CnnArchitecture:
    head = ActionHead.for_task("auto", task.actions)
    return CnnArchitecture(task.state_shape, head, channels=(2,))


def draw_policies(architecture: CnnArchitecture) -> tuple[Tensor, Normalizer]:
    generator = np.random.default_rng(1)
    rows = generator.normal(size=(SIZE, architecture.num_params)).astype(np.float32)
    mean, deviation = generator.normal(size=64), generator.uniform(0.5, 2, size=64)
    return torch.from_numpy(rows), Normalizer(mean, deviation)


def test_a_round_in_tensors_is_the_round_as_it_comes() -> None:
    task = make_task()
    architecture = make_architecture(task)
    rows, normalizer = draw_policies(architecture)
    graph, own = MeasuringGraph(task, architecture), normalizer.to_tensors(rows)
    places = torch.from_numpy(task.draw_places(7))
    in_tensors = task.to_episodes(graph.measure_tensors(rows, places, own.mean, own.std))
    plain = task.measure(FlatPopulation(architecture, rows, normalizer), [7] * SIZE)
    assert [(one.return_, one.training_return) for one in in_tensors] == [
        (one.return_, one.training_return) for one in plain
    ]


class OnDeviceOnly(TorchDispatchMode):
    """Refuses whatever works on memory of the host."""

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        found = func(*args, **(kwargs or {}))
        tensors = [one for one in tree_leaves((args, kwargs, found)) if isinstance(one, Tensor)]
        assert all(one.device.type == "meta" for one in tensors), func
        return found


def test_a_round_in_tensors_copies_nothing_to_or_from_the_host() -> None:
    """A device without memory stands in for a GPU: values cannot be read there."""
    task = make_task()
    architecture = make_architecture(task)
    graph = MeasuringGraph(task, architecture)
    rows, normalizer = draw_policies(architecture)
    own, places = normalizer.to_tensors(rows), torch.from_numpy(task.draw_places(7))
    inputs = [one.to("meta") for one in (rows, places, own.mean, own.std)]
    graph.measure_tensors(*inputs)  # moves the images there, once
    with OnDeviceOnly():
        assert graph.measure_tensors(*inputs).shape == (2, SIZE)


@pytest.mark.parametrize(
    ("kind", "device", "expected"),
    [
        (ClassificationTask, "cuda", True),
        (ClassificationTask, "cpu", False),
        (OwnTask, "cuda", False),
    ],
)
def test_rounds_become_graphs_on_a_gpu_and_for_tasks_of_ours(
    kind: type[ClassificationTask], device: str, expected: bool
) -> None:
    task = make_task(kind)
    setting = Setting(TaskSpec("unused:unused"), make_architecture(task), seed=0)
    assert (BatchedCollector(setting, task, device).graph is not None) == expected


def test_a_graph_takes_rounds_of_one_size_that_share_their_images() -> None:
    task = make_task()
    graph = MeasuringGraph(task, make_architecture(task))
    assert not graph.takes([1, 2, 3])
    assert graph.takes([1, 1, 1])
    assert graph.takes([2, 2, 2])
    assert not graph.takes([1, 1])
    assert not graph.takes([1, 1, 2])
