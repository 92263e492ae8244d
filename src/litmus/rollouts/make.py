"""Choosing a collector."""

from __future__ import annotations

import logging
import sys
from dataclasses import dataclass

from litmus.rollouts.base import Collector, Setting
from litmus.rollouts.failure import Tell
from litmus.rollouts.machine import count_cores as count_cores
from litmus.rollouts.pool import PoolCollector
from litmus.rollouts.serial import SerialCollector
from litmus.tasks.base import HoldsOut, MeasuresPopulations

logger = logging.getLogger("litmus")


@dataclass(frozen=True)
class Cluster:
    """A Ray cluster; without an address, the one that Ray finds or starts."""

    address: str | None = None


def make_collector(
    setting: Setting,
    workers: int | None,
    capacity: int,
    device: str = "cpu",
    tell: Tell = logger.warning,
    cluster: Cluster | None = None,
) -> Collector:
    """`workers`: processes, None is one per core; 0 runs the episodes in this process. `tell` is
    told of episodes that do not end. With a `cluster` they run there.

    A task that measures many policies at once does so in this process, on `device`.
    """
    task = setting.task.build()
    if cluster is not None and not isinstance(task, HoldsOut):  # a cluster runs episodes alone
        from litmus.rollouts.ray_collector import RayCollector

        task.close()
        return RayCollector(setting, cluster.address, tell)
    if isinstance(task, MeasuresPopulations):
        from litmus.rollouts.batched import BatchedCollector

        return BatchedCollector(setting, task, device)
    if workers is None:
        workers = count_cores()
    if workers > 0 and setting.only_here:
        logger.warning(
            "no worker processes: %s; episodes run in this process, one after the other (a class "
            "in a module of its own can be used by workers)",
            setting.only_here,
        )
        workers = 0
    if workers == 0 or sys.platform == "win32":
        return SerialCollector(setting, task, tell)
    task.close()
    return PoolCollector(setting, workers, capacity, tell)
