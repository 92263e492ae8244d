"""Episodes on a Ray cluster. Each is rebuilt from θ and its index, wherever it runs, so a node that
goes away costs nothing but time: Ray runs its episodes again elsewhere."""

from __future__ import annotations

import contextlib
import json
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from litmus.errors import BadInput, RunFailed, one_line
from litmus.policies.architecture import architecture_from_json, architecture_to_json
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.cluster import Crew, connected, describe_software, find_differences
from litmus.rollouts.episode import run_request_episode
from litmus.rollouts.failure import Patience, Tell, describe_failure, make_error, name_episode
from litmus.tasks.base import Episode, Task, TaskSpec

logger = logging.getLogger("litmus")

SECONDS_BETWEEN_LOOKS = 1.0
TASKS_PER_CORE = 4
"""More than one, since episodes differ in length; few, since each costs a millisecond."""
RETRIES = 20
"""How often episodes are run again when their node goes away."""


class RayCollector:
    def __init__(self, setting: Setting, address: str | None, tell: Tell = logger.warning) -> None:
        if setting.only_here:
            raise BadInput(f"no other machine can run its episodes: {setting.only_here}")
        self.setting, self._patience = setting, Patience(tell)
        with contextlib.ExitStack() as stack:
            self.ray = stack.enter_context(connected(address))
            crew = Crew(self.ray)
            crew.gather()
            if crew.refused:
                reasons = "; ".join(crew.refused.values())
                raise BadInput(f"the nodes of the Ray cluster differ: {reasons}")
            self.cores = sum(node.cores for node in crew.accepted.values())
            self._words = self.ray.put(json.dumps(_describe(setting)))
            self._run = self.ray.remote(num_cpus=1, max_retries=RETRIES)(run_episodes)
            self._on_close = stack.pop_all()

    def start(self, request: Request) -> RayPending:
        indices = list(request.indices)
        size = -(-len(indices) // (TASKS_PER_CORE * self.cores))
        parts = [indices[first : first + size] for first in range(0, len(indices), size)]
        what = self.ray.put(replace(request, indices=()))
        return RayPending(
            self, request, parts, [self._run.remote(self._words, what, p) for p in parts]
        )

    def close(self) -> None:
        self._on_close.close()


@dataclass(frozen=True)
class RayPending:
    collector: RayCollector
    request: Request
    parts: Sequence[Sequence[int]]
    answers: Sequence[Any]

    def result(self) -> list[Episode]:
        ray, waiting, began = self.collector.ray, list(self.answers), time.monotonic()
        while waiting:
            _, waiting = ray.wait(waiting, num_returns=len(waiting), timeout=SECONDS_BETWEEN_LOOKS)
            if waiting:
                first = self.parts[self.answers.index(waiting[0])][0]
                name = name_episode(self.request.stream, first)
                self.collector._patience.look([(name, time.monotonic() - began)])
        episodes: list[Episode] = []
        for answer in self.answers:
            try:
                found = ray.get(answer)
            except ray.exceptions.RayError as error:
                raise RunFailed(f"episodes were lost on the cluster: {one_line(error)}") from error
            if "failure" in found:
                raise make_error(found["failure"])
            episodes += found["episodes"]
        return episodes


def _describe(setting: Setting) -> dict[str, Any]:
    return {
        "task": setting.task.factory,
        "task_arguments": dict(setting.task.arguments),
        "architecture": architecture_to_json(setting.architecture),
        "seed": setting.seed,
        "software": describe_software(),
    }


@lru_cache(maxsize=4)
def _build(words: str) -> tuple[Setting, Task]:
    """Once in each process of Ray's that runs episodes."""
    described = json.loads(words)
    if fault := find_differences(described["software"], describe_software()):
        raise BadInput(f"a node that joined the Ray cluster cannot be used: it has {fault}")
    setting = Setting(
        TaskSpec(described["task"], described["task_arguments"]),
        architecture_from_json(described["architecture"]),
        described["seed"],
    )
    return setting, setting.task.build()


def run_episodes(words: str, request: Request, indices: Sequence[int]) -> dict[str, Any]:
    """On a node: the episodes, or what is to be said of the one that failed."""
    name = "before the first one, on its node"
    episodes = []
    try:
        setting, task = _build(words)
        # Ray shares arrays between processes, read-only; networks want their own.
        request = replace(request, flat_params=request.flat_params.copy())
        for index in indices:
            name = name_episode(request.stream, index)
            episodes.append(run_request_episode(task, setting, request, index))
    except (Exception, SystemExit) as error:
        return {"failure": describe_failure(error, name)}
    return {"episodes": episodes}
