"""All policies of a request measured together, by a task that can do that: no processes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from litmus.errors import RunFailed
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.episode import draw_episode
from litmus.rollouts.failure import describe_failure, make_error, name_episode
from litmus.seeding import Stream
from litmus.tasks.base import Episode, HoldsOut, MeasuresPopulations


@dataclass(frozen=True)
class BatchedCollector:
    setting: Setting
    task: MeasuresPopulations
    device: str = "cpu"

    def start(self, request: Request) -> BatchedPending:
        return BatchedPending(self, request)

    def close(self) -> None:
        self.task.close()


@dataclass(frozen=True)
class BatchedPending:
    collector: BatchedCollector
    request: Request

    def result(self) -> list[Episode]:
        setting, request = self.collector.setting, self.request
        drawn = [draw_episode(setting, request, index) for index in request.indices]
        rows = torch.from_numpy(np.stack([one.flat_params for one in drawn]))
        population = FlatPopulation(
            setting.architecture, rows.to(self.collector.device), request.normalizer
        )
        task = self.collector.task
        measure = task.measure
        if request.stream is not Stream.TRAINING and isinstance(task, HoldsOut):
            measure = task.measure_held_out
        try:
            with torch.no_grad():
                episodes = measure(population, [one.seed for one in drawn])
        except (Exception, SystemExit) as error:
            first = name_episode(request.stream, request.indices[0])
            raise make_error(describe_failure(error, f"{first} and others")) from error
        if len(episodes) != len(drawn):
            raise RunFailed(f"the task measured {len(episodes)} of {len(drawn)} policies")
        return episodes
