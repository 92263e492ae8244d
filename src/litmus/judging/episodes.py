"""Real episodes, for as long as they are needed: every policy meets the same starts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from litmus.errors import RunFailed
from litmus.judging.subjects import Predicts
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Architecture
from litmus.policies.judgeable import Judgeable, ask
from litmus.policies.policy import Policy
from litmus.rollouts.base import Collector, Request, Setting
from litmus.rollouts.failure import describe_failure, make_error, name_episode
from litmus.rollouts.make import make_collector
from litmus.runs.measured import TaskChoice
from litmus.seeding import Stream, make_generator
from litmus.tasks.base import Episode, FloatArray

MOST_AT_ONCE = 256


class EpisodeRunner:
    """Runs episodes of one task; episode n of a stream starts alike for every policy."""

    def __init__(
        self,
        task: TaskChoice,
        seed: int = 0,
        workers: int | None = 0,
        stream: Stream = Stream.JUDGING,
    ) -> None:
        self.spec, self.seed, self.workers, self.stream = task.spec, seed, workers, stream
        self._collectors: dict[Architecture, Collector] = {}

    def run(self, policy: Judgeable, indices: Sequence[int]) -> list[Episode]:
        """These episodes of a policy; RunFailed where one has no finite return."""
        if isinstance(policy, Policy):
            episodes = self._collect(policy, indices)
        else:
            episodes = [self._run_function(policy, index) for index in indices]
        for index, episode in zip(indices, episodes, strict=True):
            if not episode.is_finite:
                raise RunFailed(f"episode {index} has a return that is not finite")
        return episodes

    def close(self) -> None:
        for collector in self._collectors.values():
            collector.close()
        self._collectors.clear()

    def __enter__(self) -> EpisodeRunner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _collect(self, policy: Policy, indices: Sequence[int]) -> list[Episode]:
        flat_params = policy.flat_params.cpu().numpy()
        found: list[Episode] = []
        for start in range(0, len(indices), MOST_AT_ONCE):
            some = indices[start : start + MOST_AT_ONCE]
            request = Request(flat_params, policy.normalizer, 0.0, self.stream, some)
            found += self._find_collector(policy.architecture).start(request).result()
        return found

    def _find_collector(self, architecture: Architecture) -> Collector:
        if architecture not in self._collectors:
            self.close()
            setting = Setting(self.spec, architecture, self.seed)
            self._collectors[architecture] = make_collector(setting, self.workers, MOST_AT_ONCE)
        return self._collectors[architecture]

    def _run_function(self, policy: Judgeable, index: int) -> Episode:
        """The episode that a policy of litmus would meet, for anything that can be asked."""
        generator = make_generator(self.seed, self.stream, index)
        seed = int(generator.integers(2**31))
        task = self.spec.build()
        try:
            head = ActionHead.for_task("auto", task.actions)
            return task.run_episode(AskedPolicy(policy, head, generator), seed)
        except (Exception, SystemExit) as error:
            name = name_episode(self.stream, index)
            raise make_error(describe_failure(error, name)) from error
        finally:
            task.close()


class AskedPolicy:
    """A module or a function, as a task sees it."""

    def __init__(self, policy: Judgeable, head: ActionHead, generator: np.random.Generator) -> None:
        self._policy, self._head, self._generator = policy, head, generator

    def act(self, observation: FloatArray) -> Any:
        return self._head.choose(self.action_parameters(observation[None])[0], self._generator)

    def action_parameters(self, observations: FloatArray) -> FloatArray:  # [N, *state] -> [N, A]
        with torch.no_grad():
            found = ask(self._policy, torch.from_numpy(np.asarray(observations, np.float64)))
        return np.asarray(found.cpu().numpy(), dtype=np.float32)


def pick(episode: Episode, predicts: Predicts) -> float:
    """The return that an evaluator speaks of."""
    return float(episode.return_ if predicts == "return" else episode.training_return)
