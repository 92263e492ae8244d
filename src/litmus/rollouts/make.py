"""Choosing a collector."""

from __future__ import annotations

import logging
import os
import sys

from litmus.rollouts.base import Collector, Setting
from litmus.rollouts.pool import PoolCollector
from litmus.rollouts.serial import SerialCollector

logger = logging.getLogger("litmus")


def count_cores() -> int:
    """Cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def make_collector(setting: Setting, workers: int | None, capacity: int) -> Collector:
    """`workers`: processes; 0 runs the episodes in this process; None is one a core."""
    if workers is None:
        workers = count_cores()
    if workers > 0 and not setting.task.is_portable:
        logger.warning(
            "the task is a class that only this process knows: episodes run here, one by one "
            "(put it in a module and name it 'module:Id' to use worker processes)"
        )
        workers = 0
    if workers == 0 or sys.platform == "win32":
        return SerialCollector(setting)
    return PoolCollector(setting, workers, capacity)
