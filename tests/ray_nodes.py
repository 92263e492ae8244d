"""A Ray cluster of nodes that are processes on this machine: they can be started and killed."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

from harness import DEADLINE, make_environment, wait_until

RAY = Path(sys.executable).with_name("ray")

# The cluster is for these tests alone. Ray reads this when it is imported, and once only: this
# process needs it as well as the nodes.
os.environ |= {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_AUTH_MODE": "token",
    "RAY_AUTH_TOKEN": secrets.token_hex(32),
}


class Nodes:
    """The first node is the head; each has one core unless it is told otherwise."""

    def __init__(self) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self.folder = tempfile.mkdtemp(prefix="ray-")  # short: sockets have short names
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self, cores: int = 1, **environment: str) -> None:
        """One more node; waits until it is up."""
        is_head = not self.processes
        role = ["--head", f"--port={self.port}", "--include-dashboard=false"]
        log = Path(self.folder) / f"node-{len(self.processes)}.txt"
        with log.open("wb") as output:
            process = subprocess.Popen(
                [RAY, "start", "--block", f"--num-cpus={cores}", f"--temp-dir={self.folder}/tmp"]
                + (role if is_head else [f"--address={self.address}"]),
                env=make_environment(**environment),
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.processes.append(process)
        wait_until(lambda: b"Ray runtime started" in log.read_bytes() or process.poll() is not None)
        assert process.poll() is None, log.read_text()

    def kill(self, number: int) -> None:
        """As when its power is cut: the node and all that runs on it."""
        process = self.processes[number]
        for group in {process.pid, *_find_groups_below(process.pid)}:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(group, signal.SIGKILL)
        process.wait(DEADLINE)

    def close(self) -> None:
        for number, process in enumerate(self.processes):
            if process.poll() is None:
                self.kill(number)
        shutil.rmtree(self.folder, ignore_errors=True)


def _find_groups_below(ancestor: int) -> set[int]:
    """Process groups of all that a process has started: jobs have groups of their own."""
    parents: dict[int, tuple[int, int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                parents[int(entry.name)] = (int(fields[1]), int(fields[2]))
    below, groups = {ancestor}, set()
    for _ in parents:
        more = {pid for pid, (parent, _) in parents.items() if parent in below} - below
        if not more:
            break
        below |= more
        groups |= {parents[pid][1] for pid in more}
    return groups
