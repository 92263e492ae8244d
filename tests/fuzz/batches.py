"""Cases in processes of their own, some hundred each: one that crashes or hangs is a case too.

They are begun anew and not forked: threads that torch has started do not survive a fork.
"""

from __future__ import annotations

import json
import os
import resource
import selectors
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from fuzz.cases import SECONDS_PER_CASE, WRONG, Case, FileCases, Outcome, run_case
from fuzz.command_lines import CommandLines
from fuzz.policy_files import PolicyFiles
from fuzz.runs import KINDS
from litmus.rollouts.machine import count_cores

CASES_PER_PROCESS = 200
MOST_BYTES = 12 * 2**30
"""Of addresses, beside those of the libraries: a case that wants more fails, and the machine goes
on."""


@dataclass(frozen=True)
class Plan:
    """What every batch needs to know."""

    kind: str
    """`files`, `lines` or `policies`."""
    seed: int
    folder: Path
    """Where the whole runs are, and what is expected of them."""

    def make_case(self, place: Path) -> Case:
        if self.kind == "policies":
            return PolicyFiles(self.seed, self.folder / "policies", place)
        runs = {kind: self.folder / kind for kind in KINDS}
        if self.kind == "lines":
            return CommandLines(self.seed, runs["finished"], place)
        expected = json.loads((self.folder / "expected.json").read_text())
        return FileCases(self.seed, runs, expected, place)


def run_cases(plan: Plan, count: int, processes: int | None = None) -> Iterator[Outcome]:
    starts = range(0, count, CASES_PER_PROCESS)
    batches = [range(start, min(count, start + CASES_PER_PROCESS)) for start in starts]
    with ThreadPoolExecutor(processes or count_cores()) as pool:
        for outcomes in pool.map(lambda batch: list(run_batch(plan, batch)), batches):
            yield from outcomes


def run_batch(plan: Plan, batch: range) -> Iterator[Outcome]:
    """In one process, or in several where some do not get to the end."""
    while batch:
        done = 0
        for outcome in _run_in_process(plan, batch):
            done += 1
            yield outcome
        batch = batch[done:]
        if batch:
            yield Outcome(batch[0], WRONG, f"case {batch[0]}", "its process died, or hung in C")
            batch = batch[1:]


def _run_in_process(plan: Plan, batch: range) -> Iterator[Outcome]:
    words = (plan.kind, plan.seed, plan.folder, batch.start, batch.stop)
    process = subprocess.Popen(
        [sys.executable, "-m", "fuzz.batches", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while selector.select(2 * SECONDS_PER_CASE):
            line = process.stdout.readline()
            if not line:
                break
            yield Outcome(**json.loads(line))
    process.kill()
    process.wait()


def count_addresses() -> int:
    """Bytes of addresses that this process has taken."""
    import torch  # which takes many where it is built for CUDA

    assert torch.get_num_threads()
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main() -> None:
    kind, seed, folder, start, stop = sys.argv[1:]
    results = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else is printed
    place = Path(folder) / f"batch-{start}"
    place.mkdir(exist_ok=True)
    case = Plan(kind, int(seed), Path(folder)).make_case(place)
    most = MOST_BYTES + count_addresses()
    resource.setrlimit(resource.RLIMIT_AS, (most, most))
    for number in range(int(start), int(stop)):
        results.write(json.dumps(asdict(run_case(case, number))) + "\n")
        results.flush()


if __name__ == "__main__":
    main()
