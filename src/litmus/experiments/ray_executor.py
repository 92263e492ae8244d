"""Jobs on a Ray cluster: one core each, on nodes that do what this machine would do.

A job whose node goes away is lost, and started again elsewhere from what it has left: in the
experiment's folder where the nodes see it, else in the copy here, which is renewed while it works.
"""

from __future__ import annotations

import contextlib
import secrets
import time
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from litmus.errors import one_line
from litmus.experiments.jobs import Job, Standing, describe_job
from litmus.experiments.node import NodeRunner
from litmus.experiments.process import Ending, Order
from litmus.experiments.travel import Sender, forget_others, receive
from litmus.files import describe_os_error
from litmus.rollouts.cluster import Crew, Node, connected, on_node

SECONDS_BETWEEN_LOOKS = 1.0
SECONDS_BETWEEN_COPIES = 60.0
SECONDS_BETWEEN_COUNTS = 5.0
SECONDS_TO_CLEAN_UP = 5.0


@contextlib.contextmanager
def ray_executor(root: Path, places: int | None, address: str | None) -> Iterator[RayExecutor]:
    """`places`: jobs at once; None is one per core of the cluster."""
    with connected(address) as ray:
        crew = Crew(ray)
        crew.gather()
        mark = f".seen-by-{secrets.token_hex(8)}"
        (root / mark).touch()
        try:
            yield RayExecutor(ray, root.resolve(), mark, crew, places)
        finally:
            (root / mark).unlink(missing_ok=True)


@dataclass
class RayExecutor:
    ray: Any
    root: Path
    mark: str
    """A file in the folder, by which a node knows whether it sees it."""
    crew: Crew
    most: int | None
    _taken: Counter[str] = field(default_factory=Counter)
    """Jobs on each node."""
    _counted: float = 0.0
    _told: set[str] = field(default_factory=set)

    @property
    def places(self) -> int:
        if time.monotonic() - self._counted > SECONDS_BETWEEN_COUNTS:
            self.crew.look()
            self._counted = time.monotonic()
        cores = sum(node.cores for node in self.crew.accepted.values())
        return cores if self.most is None else min(cores, self.most)

    def start(self, job: Job) -> RayHandle:
        node = self._choose_node()
        self._taken[node.id] += 1
        return RayHandle(self, job, node)

    def _choose_node(self) -> Node:
        nodes = self.crew.accepted.values()
        return max(nodes, key=lambda node: node.cores - self._taken[node.id])

    def tell_news(self) -> list[str]:
        words = [f"a node of the cluster is not used: {one}" for one in self.crew.refused.values()]
        if not self.crew.accepted:
            words.append("no node of the cluster is left: waiting for one")
        news = [one for one in words if one not in self._told]
        self._told = set(words)
        return news

    def release(self, node: Node) -> None:
        self._taken[node.id] -= 1


class RayHandle:
    """A job on a node. Nothing here waits for an answer: `poll` goes on when it has come."""

    def __init__(self, executor: RayExecutor, job: Job, node: Node) -> None:
        self.executor, self.ray, self.job, self.node = executor, executor.ray, job, node
        self.standing = job.look(executor.root / job.folder)
        self.ending: Ending | None = None
        actor = self.ray.remote(num_cpus=1, max_restarts=0)(NodeRunner)
        words = (describe_job(job), asdict(Order.here()), str(executor.root), executor.mark)
        self.runner = actor.options(scheduling_strategy=on_node(node)).remote(*words)
        self._conversation = self._converse()
        self._asked = next(self._conversation)

    def poll(self) -> Ending | None:
        while self.ending is None and self._has_answer():
            try:
                answer = None if isinstance(self._asked, Pause) else self.ray.get(self._asked)
                self._asked = self._conversation.send(answer)
            except StopIteration as end:
                self._end(end.value)
            except self.ray.exceptions.RayTaskError as error:
                why = one_line(error.cause or error)
                self._end(Ending("failed", f"on {self.node.name}: {why}"))
            except self.ray.exceptions.RayError as error:
                why = f"its node {self.node.name} went away ({type(error).__name__})"
                self._end(Ending("lost", why))
            except OSError as error:
                self._end(Ending("failed", f"cannot keep it here: {describe_os_error(error)}"))
        return self.ending

    def look(self) -> Standing:
        return self.standing

    def stop(self) -> None:
        self.runner.stop.remote()

    def kill(self) -> None:
        with contextlib.suppress(self.ray.exceptions.RayError):
            self.ray.get(self.runner.clean_up.remote(), timeout=SECONDS_TO_CLEAN_UP)
        self._end(Ending("interrupted"))

    def _has_answer(self) -> bool:
        if isinstance(self._asked, Pause):
            return time.monotonic() >= self._asked.until
        return bool(self.ray.wait([self._asked], timeout=0)[0])

    def _end(self, ending: Ending) -> None:
        self.ending = ending
        if ending.kind == "lost":
            self.executor.crew.doubt(self.node)
        self.executor.release(self.node)
        self.ray.kill(self.runner)

    def _converse(self) -> Generator[Any, Any, Ending]:
        """What is asked of the runner, one after the other; an answer comes back from `yield`."""
        runner = self.runner
        travels = yield runner.needs_folder.remote()
        if travels:
            for pieces in Sender(self.executor.root, self.job.folder).pack():
                yield runner.receive.remote(pieces)
        yield runner.start.remote()
        copied = time.monotonic()
        while True:
            found = yield runner.look.remote()
            self.standing = Standing(**found["standing"])
            is_over = found["ending"] is not None
            if travels and (is_over or time.monotonic() - copied > SECONDS_BETWEEN_COPIES):
                yield from self._fetch()
                copied = time.monotonic()
            if is_over:
                yield runner.clean_up.remote()
                return Ending(**found["ending"])
            yield Pause(time.monotonic() + SECONDS_BETWEEN_LOOKS)

    def _fetch(self) -> Generator[Any, Any, None]:
        """Bring the copy of its folder that is here up to date."""
        root = self.executor.root
        yield self.runner.begin_sending.remote()
        while (pieces := (yield self.runner.send.remote())) is not None:
            receive(root, pieces)
        forget_others(root, self.job.folder, (yield self.runner.list_sent.remote()))


@dataclass(frozen=True)
class Pause:
    """Nothing is asked until then."""

    until: float
