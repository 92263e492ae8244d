"""Episodes in this process, one after the other: for debugging, and for tasks only it can build."""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from litmus.rollouts.base import Request, Setting
from litmus.rollouts.episode import run_request_episode
from litmus.rollouts.failure import Patience, Tell, describe_failure, make_error, name_episode
from litmus.tasks.base import Episode, Task

logger = logging.getLogger("litmus")

SECONDS_BETWEEN_LOOKS = 1.0


class SerialCollector:
    def __init__(
        self, setting: Setting, task: Task | None = None, tell: Tell = logger.warning
    ) -> None:
        self.setting = setting
        self.task = task or setting.task.build()
        self.watch = EpisodeWatch(Patience(tell))

    def start(self, request: Request) -> SerialPending:
        return SerialPending(self.task, self.setting, request, self.watch)

    def close(self) -> None:
        self.task.close()


class EpisodeWatch:
    """Looks from another thread at the episode that this one is busy with.

    The thread stays until a look finds nobody at work: to start one takes longer than many a round.
    """

    def __init__(self, patience: Patience) -> None:
        self.patience = patience
        self.running: tuple[str, float] | None = None
        """Its name, and when it began."""
        self._lock = threading.Lock()
        self._is_at_work = self._has_thread = False

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        with self._lock:
            self._is_at_work = True
            if not self._has_thread:
                threading.Thread(target=self._look, daemon=True).start()
                self._has_thread = True
        try:
            yield
        finally:
            self.running, self._is_at_work = None, False

    def _look(self) -> None:
        while True:
            time.sleep(SECONDS_BETWEEN_LOOKS)
            with self._lock:
                if not self._is_at_work:
                    self._has_thread = False
                    return
            if (running := self.running) is not None:
                self.patience.look([(running[0], time.monotonic() - running[1])])


@dataclass(frozen=True)
class SerialPending:
    task: Task
    setting: Setting
    request: Request
    watch: EpisodeWatch

    def result(self) -> list[Episode]:
        with self.watch.watching():
            return [self._run(index) for index in self.request.indices]

    def _run(self, index: int) -> Episode:
        name = name_episode(self.request.stream, index)
        self.watch.running = (name, time.monotonic())
        try:
            return run_request_episode(self.task, self.setting, self.request, index)
        except (Exception, SystemExit) as error:
            raise make_error(describe_failure(error, name)) from error
