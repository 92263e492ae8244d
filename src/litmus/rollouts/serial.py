"""Episodes in this process, one after the other: for debugging, and for tasks only it can build."""

from __future__ import annotations

from dataclasses import dataclass

from litmus.errors import BadInput, RunFailed
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.episode import run_request_episode
from litmus.tasks.base import Episode, Task


class SerialCollector:
    def __init__(self, setting: Setting, task: Task | None = None) -> None:
        self.setting = setting
        self.task = task or setting.task.build()

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
        try:
            return [
                run_request_episode(self.task, self.setting, self.request, index)
                for index in self.request.indices
            ]
        except BadInput:
            raise
        except Exception as error:
            message = f"{type(error).__name__}: {' '.join(str(error).split())}"
            raise RunFailed(f"an episode failed: {message}") from error
