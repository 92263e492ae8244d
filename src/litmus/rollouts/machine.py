"""What this machine has: cores and memory."""

from __future__ import annotations

import os
import re
from pathlib import Path

from litmus.errors import BadInput, option
from litmus.fields import MOST_WORKERS

WORKER_BYTES = 40 * 2**20
"""Of a worker process, at the least: an interpreter, numpy and an environment."""
CGROUP_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")


SINGLE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
"""Environment variables of a process that is to use one core."""


def count_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def count_learning_cores() -> int:
    """Cores that learning may use: OMP_NUM_THREADS allows fewer, as it does everywhere else."""
    allowed = re.match(r"[1-9]\d*", os.environ.get("OMP_NUM_THREADS", ""))
    return min(count_cores(), int(allowed[0])) if allowed else count_cores()


def check_workers(workers: int | None) -> None:
    """BadInput for more processes than this machine can hold."""
    if workers is not None and workers > MOST_WORKERS:
        raise BadInput(f"{option('workers')} must be at most {MOST_WORKERS}, not {workers}")
    if workers is not None and workers * WORKER_BYTES > find_memory():
        raise BadInput(f"{workers:,} {option('workers')} do not fit into this machine's memory")


def find_memory() -> float:
    """All the memory that this process could ever get: of the machine, or of its container."""
    try:
        have = float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):
        return float("inf")
    for path in CGROUP_LIMITS:
        try:
            have = min(have, float(Path(path).read_text()))
        except (OSError, ValueError):  # there is none, or it is 'max'
            continue
    return have
