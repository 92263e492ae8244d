"""All policies of a request measured together, by a task that can do that: no processes.

On a GPU the measuring of a round is one CUDA graph, where the task offers it in tensors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from litmus.capture import CapturedStep, is_ours
from litmus.errors import RunFailed
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer, TensorNormalizer
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.episode import draw_episode
from litmus.rollouts.failure import describe_failure, make_error, name_episode
from litmus.seeding import Stream
from litmus.tasks.base import Episode, HoldsOut, MeasuresInTensors, MeasuresPopulations


@dataclass(frozen=True)
class BatchedCollector:
    setting: Setting
    task: MeasuresPopulations
    device: str = "cpu"

    def start(self, request: Request) -> BatchedPending:
        return BatchedPending(self, request)

    def close(self) -> None:
        self.task.close()

    def measure(self, request: Request, rows: Tensor, seeds: Sequence[int]) -> list[Episode]:
        """Policies [B, P], each with its seed."""
        task, normalizer = self.task, request.normalizer
        population = FlatPopulation(self.setting.architecture, rows, normalizer)
        if request.stream is not Stream.TRAINING and isinstance(task, HoldsOut):
            return task.measure_held_out(population, seeds)
        if self.graph is not None and self.graph.takes(seeds):
            return self.graph.measure(rows, normalizer, seeds[0])
        return task.measure(population, seeds)

    @cached_property
    def graph(self) -> MeasuringGraph | None:
        """None where rounds are measured as they come."""
        task, architecture = self.task, self.setting.architecture
        if torch.device(self.device).type != "cuda" or not isinstance(task, MeasuresInTensors):
            return None
        return MeasuringGraph(task, architecture) if is_ours(task, architecture) else None


class MeasuringGraph:
    """The measuring of rounds as a CUDA graph. Its inputs are policies, normaliser and places."""

    def __init__(self, task: MeasuresInTensors, architecture: Architecture) -> None:
        self.task, self.architecture = task, architecture
        self.size: int | None = None
        self.captured = CapturedStep(self.measure_tensors)

    def takes(self, seeds: Sequence[int]) -> bool:
        """Policies that share a seed, as many as the first time: a graph has one size."""
        if len(set(seeds)) != 1:
            return False
        self.size = self.size or len(seeds)
        return len(seeds) == self.size

    def measure(self, rows: Tensor, normalizer: Normalizer, seed: int) -> list[Episode]:
        places = torch.from_numpy(self.task.draw_places(seed)).to(rows.device)
        own = normalizer.to_tensors(rows)
        return self.task.to_episodes(self.captured(rows, places, own.mean, own.std))

    def measure_tensors(self, rows: Tensor, places: Tensor, mean: Tensor, std: Tensor) -> Tensor:
        population = FlatPopulation(self.architecture, rows, TensorNormalizer(mean, std))
        return self.task.measure_places(population, places)


@dataclass(frozen=True)
class BatchedPending:
    collector: BatchedCollector
    request: Request

    def result(self) -> list[Episode]:
        collector, request = self.collector, self.request
        drawn = [draw_episode(collector.setting, request, index) for index in request.indices]
        rows = torch.from_numpy(np.stack([one.flat_params for one in drawn]))
        try:
            with torch.no_grad():
                seeds = [one.seed for one in drawn]
                episodes = collector.measure(request, rows.to(collector.device), seeds)
        except (Exception, SystemExit) as error:
            first = name_episode(request.stream, request.indices[0])
            raise make_error(describe_failure(error, f"{first} and others")) from error
        if len(episodes) != len(drawn):
            raise RunFailed(f"the task measured {len(episodes)} of {len(drawn)} policies")
        return episodes
