"""A Ray cluster: reaching one, and which of its nodes do what this machine would do, bit for bit.

Ray sends what it runs as pickles between its own processes. What litmus hands to it and gets back
are words, numbers and arrays; nothing of it is kept in a file.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.metadata
import logging
import os
import platform
import signal
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import litmus.errors
from litmus.errors import BadInput, one_line, option
from litmus.native.library import find_library

logger = logging.getLogger("litmus")

PACKAGES = ("torch", "gymnasium", "mujoco", "numpy")
SECONDS_TO_REACH = 5.0
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
"""What a client of gRPC, which Ray speaks, says first; the answer is a frame of settings, too."""
FRAME_HEAD, SETTINGS = 9, 4
SECONDS_TO_ANSWER = 120.0
"""For a node's first answer: it may have to start a process and to import all of litmus."""


@contextlib.contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """The module `ray`, connected to the cluster at an address; without one, Ray takes the one that
    RAY_ADDRESS names, or starts one on this machine. BadInput where there is none."""
    check_address(address)
    ray = import_ray()
    if ray.is_initialized():  # by the program that calls litmus, and for it to shut down
        if address is not None:
            raise BadInput(
                f"this process is connected to a Ray cluster already: leave {option('ray_address')}"
                " out to use it"
            )
        yield ray
        return
    try:
        with _keeping_signals():
            ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (Exception, SystemExit) as error:
        where = "a Ray cluster on this machine" if address is None else f"Ray at {address}"
        raise BadInput(f"cannot reach {where}: {one_line(error)}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


@contextlib.contextmanager
def _keeping_signals() -> Iterator[None]:
    """Ray takes SIGTERM for itself, and ends the process: a run is to write a checkpoint first."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:  # else it was not set by Python
                signal.signal(number, handler)


def import_ray() -> Any:
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # nothing is told to anyone
    try:
        import ray
    except ImportError as error:
        raise BadInput(
            "this needs ray, which is not installed: pip install 'litmus-rl[ray]'"
        ) from error
    return ray


def check_address(address: str | None) -> None:
    """BadInput where nothing that may be Ray answers there, or where RAY_ADDRESS says; Ray itself
    would try for minutes."""
    import_ray()
    named = option("ray_address") if address else "RAY_ADDRESS"
    address = address or os.environ.get("RAY_ADDRESS") or None
    if address in (None, "auto", "local"):
        return
    host, _, port = str(address).rpartition("://")[2].rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 65536:
        raise BadInput(
            f"{named} takes HOST:PORT, or auto for a cluster on this machine, not '{address}'"
        )
    try:
        with socket.create_connection((host.strip("[]"), int(port)), SECONDS_TO_REACH) as there:
            is_ray = _speaks_grpc(there)
    except (OSError, UnicodeError) as error:
        raise BadInput(f"cannot reach Ray at {address}: {one_line(error)}") from error
    if not is_ray:
        raise BadInput(f"cannot reach Ray at {address}: what answers there is no Ray")


def _speaks_grpc(there: socket.socket) -> bool:
    """With TLS it cannot be told from here: then Ray finds out."""
    if os.environ.get("RAY_USE_TLS", "0").lower() in ("1", "true"):
        return True
    there.sendall(GREETING)
    with there.makefile("rb") as answer:
        head = answer.read(FRAME_HEAD)
    return len(head) == FRAME_HEAD and head[3] == SETTINGS


@dataclass(frozen=True)
class Node:
    id: str
    name: str
    cores: int


def list_nodes(ray: Any) -> dict[str, Node]:
    """Those that are alive and have a core, by their id."""
    found = {}
    for described in ray.nodes():
        cores = int(described.get("Resources", {}).get("CPU", 0))
        if described.get("Alive") and cores > 0:
            name = f"{described['NodeManagerHostname']} ({described['NodeManagerAddress']})"
            found[described["NodeID"]] = Node(described["NodeID"], name, cores)
    return found


def on_node(node: Node) -> Any:
    """Ray's scheduling option for what must run on this node."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(node.id, soft=False)


def describe_software() -> dict[str, str]:
    """What decides the bits of a result."""
    return {
        "Python": platform.python_version(),
        **{package: _find_version(package) for package in PACKAGES},
        "litmus": digest_source(),
        "compiled kernels": "none" if find_library() is None else "there",
        "processor": platform.machine(),
    }


def find_differences(here: dict[str, str], there: dict[str, str]) -> str:
    """In words; empty where there are none."""
    different = [name for name in here if there.get(name) != here[name]]
    return ", ".join(
        "another litmus" if name == "litmus" else f"{name} {there.get(name)} and not {here[name]}"
        for name in different
    )


@lru_cache(maxsize=1)
def digest_source() -> str:
    """Of litmus itself: its version alone does not tell two checkouts apart."""
    root = Path(litmus.errors.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*")):
        if path.suffix in (".py", ".c", ".h"):
            digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


def _find_version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "missing"


@dataclass
class Crew:
    """The nodes that may be used: each is asked once whether it has the same software."""

    ray: Any
    accepted: dict[str, Node] = field(default_factory=dict)
    """By their ids."""
    refused: dict[str, str] = field(default_factory=dict)
    """In words why, by their ids."""
    _asked: dict[str, Any] = field(default_factory=dict)

    def gather(self) -> None:
        """Wait for all nodes that are there; BadInput where none can be used."""
        self.look(SECONDS_TO_ANSWER)
        if not self.accepted:
            reasons = "; ".join(self.refused.values()) or "none has answered"
            raise BadInput(f"no node of the Ray cluster can be used: {reasons}")

    def look(self, seconds: float = 0.0) -> None:
        """Notice nodes that came or went."""
        alive = list_nodes(self.ray)
        self.accepted = {key: node for key, node in self.accepted.items() if key in alive}
        ask = self.ray.remote(num_cpus=0, max_retries=0)(describe_software)
        for key in alive.keys() - self.accepted.keys() - self.refused.keys() - self._asked.keys():
            self._asked[key] = ask.options(scheduling_strategy=on_node(alive[key])).remote()
        waiting = list(self._asked.values())
        ready: list[Any] = []
        if waiting:
            ready, _ = self.ray.wait(waiting, num_returns=len(waiting), timeout=seconds)
        for key in [key for key, asked in self._asked.items() if asked in ready]:
            fault = self._find_fault(self._asked.pop(key))
            if key not in alive:
                continue
            if fault:
                self.refused[key] = f"{alive[key].name} has {fault}"
            else:
                self.accepted[key] = alive[key]

    def doubt(self, node: Node) -> None:
        """Something was lost there: it is asked again before it is used."""
        self.accepted.pop(node.id, None)

    def _find_fault(self, asked: Any) -> str:
        try:
            return find_differences(describe_software(), self.ray.get(asked))
        except Exception as error:
            return f"no litmus that answers ({one_line(error)})"
