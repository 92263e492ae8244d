"""What a perceptron does in the probing states, and where its merit rises, in one call each."""

from __future__ import annotations

import ctypes

import torch
from torch import Tensor

from litmus.evaluators.gaussian_process import CORNER, FAR_SHARE, GaussianProcessEvaluator
from litmus.native.library import MOST_LANES, Library, MeritCall, PopulationCall, find_library
from litmus.native.perceptrons import describe_shape, find_flat_places
from litmus.native.squashing import describe_squashing
from litmus.policies.architecture import Architecture
from litmus.policies.mlp import MlpArchitecture


class CompiledMerit:
    """For one policy at a time, judged by an evaluator that goes on learning."""

    def __init__(
        self, library: Library, architecture: MlpArchitecture, evaluator: GaussianProcessEvaluator
    ) -> None:
        self.library, self.evaluator = library, evaluator
        shape, head = architecture.shape, architecture.head
        squashing = describe_squashing(head.size, head.squashing)
        states = len(evaluator.probing_states)
        self.row = (ctypes.c_void_p * 1)()
        self.fingerprint = torch.empty(1, states * head.size, dtype=torch.float64)
        self.room = torch.empty_like(self.fingerprint)
        policy = PopulationCall(
            describe_shape(shape), 1, states, self.row, find_flat_places(shape), threads=1
        )
        floats = self.fingerprint.numel() + MOST_LANES
        sizes = (library.memory_size(policy, True), floats, floats)
        memory, outputs, slopes = (torch.empty(size, dtype=torch.float32) for size in sizes)
        policy.memory = memory.data_ptr()
        self.call = MeritCall(
            policy,
            squashing.call,
            outputs.data_ptr(),
            slopes.data_ptr(),
            fingerprint=self.fingerprint.data_ptr(),
            others=evaluator.capacity,
            far_share=FAR_SHARE,
            corner=CORNER,
        )
        self._kept = (squashing.owner, memory, outputs, slopes)  # what the call points to

    def ask(self, theta: Tensor) -> Tensor:  # [P] -> [1, K · A]
        """What the policy does."""
        self._point_to(theta)
        self.library.ask(self.call)
        return self.fingerprint.clone()

    def find_uphill(self, theta: Tensor) -> tuple[Tensor, Tensor]:  # [P] -> [1, K · A], [P]
        """What the policy does, and the gradient of its merit."""
        self._point_to(theta)
        gradient = torch.empty_like(theta)
        self.library.find_uphill(self.call, self.room.data_ptr(), gradient.data_ptr())
        return self.fingerprint.clone(), gradient

    def _point_to(self, theta: Tensor) -> None:
        """Where everything lies now: a checkpoint may have been loaded."""
        evaluator, call = self.evaluator, self.call
        self.row[0] = theta.data_ptr()
        call.policy.inputs = evaluator.probing_states.data_ptr()
        call.units = evaluator.action_units.data_ptr()
        call.references = evaluator.references.data_ptr()
        call.weights = evaluator.coefficients[1].data_ptr()
        call.unit = float(evaluator.unit * evaluator.length**2)


def compile_merit(
    architecture: Architecture, theta: Tensor, evaluator: GaussianProcessEvaluator
) -> CompiledMerit | None:
    """Where there are kernels, and they are made for this."""
    library = find_library()
    tensors = (theta, evaluator.probing_states)
    if (
        library is None
        or not isinstance(architecture, MlpArchitecture)
        or type(architecture).population_actions is not MlpArchitecture.population_actions
        or type(evaluator) is not GaussianProcessEvaluator
        or any(one.dtype != torch.float32 or one.device.type != "cpu" for one in tensors)
    ):
        return None
    return CompiledMerit(library, architecture, evaluator)
