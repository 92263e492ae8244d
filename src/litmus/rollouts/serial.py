"""Episodes in this process, one after the other: for debugging, and for tasks only it can build."""

from __future__ import annotations

from dataclasses import dataclass

from litmus.rollouts.base import Request, Setting
from litmus.rollouts.episode import run_request_episode
from litmus.tasks.base import Episode, Task


class SerialCollector:
    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.task = setting.task.build()

    def start(self, request: Request) -> SerialPending:
        return SerialPending(self.task, self.setting, request)

    def close(self) -> None:
        self.task.close()


@dataclass(frozen=True)
class SerialPending:
    task: Task
    setting: Setting
    request: Request

    def result(self) -> list[Episode]:
        return [
            run_request_episode(self.task, self.setting, self.request, index)
            for index in self.request.indices
        ]
