"""A job in a process of its own, on one core."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from litmus.experiments.job_process import INTERRUPTED
from litmus.experiments.jobs import Job, describe_job
from litmus.files import open_plain
from litmus.rollouts.machine import SINGLE_THREAD
from litmus.rollouts.pipes import write_all
from litmus.rollouts.pool import describe_end

MOST_TEXT = 500


@dataclass(frozen=True)
class Ending:
    """How a job ended."""

    kind: Literal["finished", "failed", "interrupted", "lost"]
    """Lost: with the machine that it was on."""
    reason: str = ""


class JobProcess:
    def __init__(
        self, job: Job, folder: Path, log: Path, order: Order, keeps: Sequence[int] = ()
    ) -> None:
        """`keeps`: descriptors that it holds open for as long as it lives."""
        folder.parent.mkdir(parents=True, exist_ok=True)
        log.parent.mkdir(parents=True, exist_ok=True)
        self._told, told = os.pipe()
        with open_plain(log, "ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "litmus.experiments.job_process", str(told)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                # Not of the terminal's group: Ctrl-C is for whoever conducts the jobs.
                process_group=0,
                pass_fds=(told, *keeps),
                env={
                    **os.environ,
                    **SINGLE_THREAD,
                    "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
                },
            )
        os.close(told)
        self._is_stopped = False
        words = {
            "job": describe_job(job),
            "folder": str(folder.absolute()),
            "path": order.path,
            "command": order.command,
        }
        assert self.process.stdin is not None
        with contextlib.suppress(BrokenPipeError):  # it died at once: `poll` will notice
            write_all(self.process.stdin.fileno(), (json.dumps(words) + "\n").encode())
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()

    def poll(self) -> Ending | None:
        """How it ended; None while it is at work."""
        code = self.process.poll()
        if code is None:
            return None
        reason = self._read_reason()
        if code == 0:
            return Ending("finished")
        if code == INTERRUPTED or (self._is_stopped and code < 0):
            return Ending("interrupted", "it was interrupted")
        return Ending("failed", reason or f"its process ended {describe_end(code)}")

    def stop(self) -> None:
        """Let it bring its job to a state that can go on; it takes some seconds at most."""
        self._is_stopped = True
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """At once. What it has written can go on all the same."""
        self._is_stopped = True
        self.process.kill()
        self.process.wait()

    def _read_reason(self) -> str:
        if self._told < 0:
            return ""
        os.set_blocking(self._told, False)  # a process of the user's own may hold the other end
        try:
            reason = os.read(self._told, 65536).decode(errors="replace")
        except BlockingIOError:
            reason = ""
        os.close(self._told)
        self._told = -1
        return reason if len(reason) <= MOST_TEXT else f"{reason[:MOST_TEXT]} …"


@dataclass(frozen=True)
class Order:
    """What a job's process is told beside its job."""

    path: list[str]
    """Where modules are looked for, the user's own among them."""
    command: list[str]
    """That started the experiment."""

    @staticmethod
    def here() -> Order:
        return Order([path for path in sys.path if path], list(sys.argv))
