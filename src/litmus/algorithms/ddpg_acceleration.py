"""Faster forms of DDPG's updates: the same steps in compiled kernels, or a block as a CUDA graph.

`ddpg.py` shows what is computed; here it is decided by what means.
"""

from __future__ import annotations

import torch
from torch import Tensor

from litmus.algorithms.base import Resources
from litmus.algorithms.ddpg import Ddpg, Learner, Updates
from litmus.capture import CapturedStep, is_ours
from litmus.config import DdpgConfig
from litmus.native.ddpg_updates import compile_updates


def make_fast_ddpg(resources: Resources) -> Ddpg:
    return Ddpg(resources, accelerate)


def accelerate(learner: Learner, config: DdpgConfig, resources: Resources) -> Updates:
    if resources.device.type == "cuda":
        return CapturedBlock(learner) if is_ours(learner.architecture) else learner
    compiled = compile_updates(learner, config.batch_size, resources.cores)
    return compiled or TorchUpdates(learner, resources.cores)


class TorchUpdates:
    """The rules as they stand, on all cores: nothing is simulated meanwhile."""

    def __init__(self, learner: Learner, cores: int) -> None:
        self.learner, self.cores = learner, cores

    def update_all(self, places: Tensor) -> Tensor:
        torch.set_num_threads(self.cores)
        return self.learner.update_all(places)


class CapturedBlock:
    """All updates of a block as one CUDA graph, replayed without launch costs."""

    def __init__(self, learner: Learner) -> None:
        self.captured = CapturedStep(learner.update_all)

    def update_all(self, places: Tensor) -> Tensor:
        return self.captured(places)  # everything stays where it is
