"""The update rules of `algorithms/pssvf.py` in one call of the compiled kernels each.

For perceptrons, a fingerprint evaluator of one learning rate, a CPU, and batches from the whole
buffer. Parameters and the state of Adam stay in torch's tensors, where everything else finds them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor

from litmus.algorithms.buffer import RowBlocks
from litmus.algorithms.pssvf import Learner
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.native.adam import AdamState
from litmus.native.library import (
    MOST_LANES,
    EvaluatorCall,
    Library,
    PopulationCall,
    find_library,
)
from litmus.native.perceptrons import describe_shape, find_flat_places
from litmus.native.squashing import describe_squashing
from litmus.policies.actions import ActionHead, Squashing
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.rows import MlpShape


class CompiledUpdates:
    def __init__(
        self,
        library: Library,
        learner: Learner,
        architecture: MlpArchitecture,
        evaluator: FingerprintEvaluator,
        storage: RowBlocks,
        batch_size: int,
        count_threads: Callable[[int], int],
    ) -> None:
        self.library, self.learner, self.threads = library, learner, 1
        self.count_threads, self.unit = count_threads, (0.0, 1.0)
        self.evaluator, self.storage = evaluator, storage
        states, head = evaluator.probing_states, architecture.head
        squashing = describe_squashing(head.size, find_squashing(head, evaluator))
        self.rows = (ctypes.c_void_p * batch_size)()
        self.returns = np.zeros(batch_size, dtype=np.float32)
        self.weights = np.zeros(batch_size, dtype=np.float32)
        self._kept: list[object] = [squashing.owner]  # what the calls point to
        self.gradient = self._reserve(sum(p.numel() for p in evaluator.parameters()))
        self.theta_gradient = self._reserve(learner.theta.numel())
        policy_shape = architecture.shape
        widths = (states.shape[0] * head.size, *evaluator.hidden, 1)
        head_shape = MlpShape(tuple(pairwise(widths)), evaluator.activation)
        self.call = EvaluatorCall(
            policies=PopulationCall(
                describe_shape(policy_shape),
                batch_size,
                len(states),
                self.rows,
                find_flat_places(policy_shape),
                threads=1,
            ),
            squashing=squashing.call,
            head=PopulationCall(describe_shape(head_shape), 1, batch_size, threads=1),
            answers=self._reserve(batch_size * widths[0] + MOST_LANES),
            slopes=self._reserve(batch_size * widths[0]),
            values=self._reserve(batch_size),
            values_gradient=self._reserve(batch_size),
        )
        self.call.head.inputs = self.call.answers
        self._allocate_memory()
        self._find_tensors()

    def begin_round(self, steps: int) -> None:
        # Threads of torch's that wait for work keep their core busy: none beside the kernels'.
        torch.set_num_threads(1)
        evaluator = self.evaluator
        self.unit = (float(evaluator.return_mean), float(evaluator.return_std))
        threads = self.count_threads(steps)
        self.threads = self.call.policies.threads = self.call.head.threads = threads
        self._find_tensors()  # a checkpoint may have been loaded since the last round

    def _find_tensors(self) -> None:
        """Point to where parameters and Adam's state lie now."""
        states, *layers = self.evaluator.parameters()
        self.call.policies.inputs = states.data_ptr()
        start = layers[0].data_ptr()
        self.call.head.params = (ctypes.c_void_p * 1)(start)
        self.call.head.places = (ctypes.c_int64 * len(layers))(
            *((layer.data_ptr() - start) // 4 for layer in layers)
        )
        self.evaluator_adam = AdamState(self.learner.evaluator_optimizer)
        self.theta_adam = AdamState(self.learner.theta_optimizer)

    def update(self, slots: Tensor) -> Tensor:  # [U_V, B] -> [2]
        losses = [self._fit(batch) for batch in slots.tolist()]
        values = [self.climb() for _ in range(self.learner.policy_updates)]
        return torch.tensor([np.mean(losses, dtype=np.float32), values[-1] if values else np.nan])

    def fit(self, slots: Tensor) -> float:
        return self._fit(slots.tolist())

    def _fit(self, slots: Sequence[int]) -> float:
        found = self.storage.locate(slots)
        count = len(found.addresses)
        self.rows[:count] = [*found.addresses]  # ctypes counts addresses and numbers as one
        mean, std = self.unit
        self.returns[:count] = (found.returns - mean) / std
        self.weights[:count] = found.weights
        self.call.policies.policies = self.call.head.states = count
        loss = self.library.fit(
            self.call,
            self.returns.ctypes.data,
            self.weights.ctypes.data,
            self.gradient,
            self.gradient + 4 * self.evaluator.probing_states.numel(),
        )
        self.library.adam_step(self.evaluator_adam.call, self.gradient, False, self.threads)
        return float(loss) * std * std

    def climb(self) -> float:
        self.rows[0] = self.learner.theta.data_ptr()
        self.call.policies.policies = self.call.head.states = 1
        value = self.library.climb(self.call, self.theta_gradient)
        self.library.adam_step(self.theta_adam.call, self.theta_gradient, True, self.threads)
        mean, std = self.unit
        return mean + std * float(value)

    def _allocate_memory(self) -> None:
        policies, head = self.call.policies, self.call.head
        size = self.library.memory_size
        floats = size(policies, False)
        policies.policies = 1
        floats = max(floats, size(policies, True))
        policies.memory = self._reserve(floats)
        head.memory = self._reserve(size(head, True))

    def _reserve(self, floats: int) -> int:
        return self._point_to(torch.empty(floats, dtype=torch.float32, device="cpu"))

    def _point_to(self, tensor: Tensor) -> int:
        self._kept.append(tensor)
        return tensor.data_ptr()


def compile_updates(
    learner: Learner, batch_size: int, count_threads: Callable[[int], int]
) -> CompiledUpdates | None:
    """The compiled steps, where there are kernels and they are made for this.

    `count_threads`: from the steps that a round collected.
    """
    library = find_library()
    architecture, evaluator = learner.architecture, learner.evaluator
    storage, parameters = learner.buffer.storage, (learner.theta, *evaluator.parameters())
    if (
        library is None
        or not isinstance(architecture, MlpArchitecture)
        or type(architecture).population_actions is not MlpArchitecture.population_actions
        or type(evaluator) is not FingerprintEvaluator
        or evaluator.action_units not in (None, architecture.head.units.tolist())
        or not isinstance(storage, RowBlocks)
        or storage.dtype != torch.float32
        or learner.compares_rounds
        or learner.smoothing
        or learner.probing_bounds
        or evaluator.temperature != 1
        or len(learner.evaluator_optimizer.param_groups) > 1
        or any(p.dtype != torch.float32 or p.device.type != "cpu" for p in parameters)
    ):
        return None
    return CompiledUpdates(
        library, learner, architecture, evaluator, storage, batch_size, count_threads
    )


def find_squashing(head: ActionHead, evaluator: FingerprintEvaluator) -> Squashing | None:
    """How outputs become what the evaluator's head is shown."""
    squashing, units = head.squashing, evaluator.action_units
    if squashing is None or units is None:
        return squashing
    return squashing.in_units(np.array(units, dtype=np.float32))
