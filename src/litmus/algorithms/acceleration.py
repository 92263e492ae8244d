"""Faster forms of Algorithm 1's updates: the same steps in compiled kernels, or as a CUDA graph.

`pssvf.py` shows what is computed; here it is decided by what means, and with how many cores.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from litmus.algorithms.base import Resources
from litmus.algorithms.pssvf import Learner, Pssvf
from litmus.algorithms.turns import Updates
from litmus.capture import CapturedStep, is_ours
from litmus.config import PssvfConfig
from litmus.native.updates import compile_updates

SECONDS_PER_STEP, SECONDS_PER_FLOP = 1e-4, 1e-11
"""Rough costs on one core of today, to share out cores between simulation and learning."""


def make_fast_pssvf(resources: Resources) -> Pssvf:
    return Pssvf(resources, accelerate)


def accelerate(learner: Learner, config: PssvfConfig, resources: Resources) -> Updates:
    if resources.device.type == "cuda":
        ours = is_ours(learner.architecture, learner.evaluator)
        return CapturedUpdates(learner) if ours else learner
    sharing = CoreSharing.of(learner, config, resources.cores)
    compiled = compile_updates(learner, config.batch_size, sharing.count_threads)
    return compiled or TorchUpdates(learner, sharing)


@dataclass(frozen=True)
class CoreSharing:
    """How many threads learning takes while the next round is simulated.

    As many as learning is of the work, estimated from the last round's steps and not timed: a
    resumed run must choose the same.
    """

    cores: int
    learning_seconds: float
    simulates_meanwhile: bool

    @staticmethod
    def of(learner: Learner, config: PssvfConfig, cores: int) -> CoreSharing:
        states = learner.evaluator.probing_states
        asked = 1 if states is None else len(states)
        passes = config.evaluator_updates * config.batch_size * 4 + config.policy_updates * 6
        flops = config.round_size * passes * asked * learner.architecture.num_params
        return CoreSharing(cores, flops * SECONDS_PER_FLOP, config.overlap)

    def count_threads(self, steps: int) -> int:
        simulating = steps * SECONDS_PER_STEP if self.simulates_meanwhile else 0.0
        share = self.learning_seconds / (self.learning_seconds + simulating)
        return max(1, round(self.cores * share))


@dataclass(frozen=True)
class TorchUpdates:
    """The rules as they stand, on the threads that fall to learning."""

    learner: Learner
    sharing: CoreSharing

    def begin_round(self, steps: int) -> None:
        torch.set_num_threads(self.sharing.count_threads(steps))
        for group in self.learner.evaluator_optimizer.param_groups:
            for parameter in group["params"] if group["lr"] == 0 else ():
                parameter.requires_grad_(False)  # what has settled needs no gradient
                parameter.grad = None

    def update(self, slots: Tensor) -> Tensor:
        return self.learner.update(slots)


class CapturedUpdates:
    """The updates of an episode as one CUDA graph, replayed without launch costs."""

    def __init__(self, learner: Learner) -> None:
        self.storage, self.captured = learner.buffer.storage, CapturedStep(learner.update)

    def begin_round(self, steps: int) -> None:
        pass

    def update(self, slots: Tensor) -> Tensor:
        return self.captured(slots, version=self.storage.version)
