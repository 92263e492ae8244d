"""The update rules of `algorithms/ddpg.py` through the compiled kernels, without autograd.

For perceptrons whose actions all have two bounds, on a CPU. Parameters and the state of Adam stay
in torch's tensors, where everything else finds them.
"""

from __future__ import annotations

import ctypes

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from litmus.algorithms.ddpg import Learner
from litmus.native.adam import AdamState
from litmus.native.library import Library, PopulationCall, find_address, find_library
from litmus.native.perceptrons import describe_shape, find_flat_places
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.rows import MlpShape

Floats = NDArray[np.float32]


class Network:
    """One perceptron for N inputs at a time, with memory of its own."""

    def __init__(
        self, library: Library, shape: MlpShape, params: Tensor, inputs: Floats, threads: int
    ) -> None:
        self.library, self.inputs = library, inputs  # [N, D], filled by the caller
        (_, size), count = shape.layer_sizes[-1], len(inputs)
        self.outputs = np.empty((count, size), dtype=np.float32)
        self.call = PopulationCall(
            describe_shape(shape),
            1,
            count,
            (ctypes.c_void_p * 1)(params.data_ptr()),
            find_flat_places(shape),
            find_address(inputs),
            None,
            threads,
        )
        floats = library.memory_size(self.call, True)
        self._kept = (torch.empty(floats, dtype=torch.float32, device="cpu"), params)
        self.call.memory = self._kept[0].data_ptr()

    def forward(self) -> Floats:  # [N, A]
        self.library.forward(self.call, find_address(self.outputs))
        return self.outputs

    def backward(
        self, gradient: Floats, into_inputs: Floats | None, into_params: Floats | None
    ) -> None:
        """From the gradient of the outputs [N, A]: that of the inputs [N, D], of the parameters."""
        self.library.backward(
            self.call,
            find_address(gradient),
            None if into_inputs is None else find_address(into_inputs),
            None if into_params is None else find_address(into_params),
        )


class CompiledUpdates:
    def __init__(
        self, library: Library, learner: Learner, shape: MlpShape, batch_size: int, threads: int
    ) -> None:
        """`shape`: of the policy."""
        self.library, self.learner, self.threads = library, learner, threads
        sizes = learner.sizes
        self.rows = torch.empty((batch_size, sizes.width))
        states, self.next_states, pairs, tried, self.next_pairs = (
            np.empty((batch_size, width), dtype=np.float32)
            for width in (sizes.state, sizes.state, *[sizes.state + sizes.action] * 3)
        )
        critic_shape = learner.critic_shape
        self.policy = Network(library, shape, learner.theta, states, threads)
        self.target_policy = Network(
            library, shape, learner.target_theta, self.next_states, threads
        )
        self.critic = Network(library, critic_shape, learner.critic, pairs, threads)
        self.critic_of_policy = Network(library, critic_shape, learner.critic, tried, threads)
        self.target_critic = Network(
            library, critic_shape, learner.target_critic, self.next_pairs, threads
        )
        self.pairs_gradient = np.empty_like(tried)
        self.theta_gradient = np.empty(learner.theta.numel(), dtype=np.float32)
        self.critic_gradient = np.empty(learner.critic.numel(), dtype=np.float32)
        self.evenly = np.full((batch_size, 1), 1 / batch_size, dtype=np.float32)

    def update_all(self, places: Tensor) -> Tensor:  # [U, N] -> [U, 2]
        # Threads of torch's that wait for work keep their core busy: none beside the kernels'.
        torch.set_num_threads(1)
        self.theta_adam = AdamState(self.learner.theta_optimizer)
        self.critic_adam = AdamState(self.learner.critic_optimizer)
        return torch.tensor([self._update(batch) for batch in places])

    def _update(self, places: Tensor) -> tuple[float, float]:
        rewards, continues = self._fill_inputs(places)
        loss = self._fit(rewards, continues)
        value = self._climb()
        learner = self.learner
        with torch.no_grad():
            learner.target_theta.lerp_(learner.theta, 1 - learner.polyak)
            learner.target_critic.lerp_(learner.critic, 1 - learner.polyak)
        return loss, value

    def _fill_inputs(self, places: Tensor) -> tuple[Floats, Floats]:
        """Put a batch where the networks read it; its rewards [N, 1], and 0 where it ended."""
        learner, state, action = self.learner, *self._sizes
        torch.index_select(learner.transitions, 0, places, out=self.rows)
        rows: Floats = self.rows.numpy()
        end = state + action
        states, next_states = rows[:, :state], rows[:, end : end + state]
        if learner.mean.numel():
            mean, std = learner.mean.numpy(), learner.std.numpy()
            states, next_states = (states - mean) / std, (next_states - mean) / std
        for inputs in (self.policy.inputs, self.critic.inputs, self.critic_of_policy.inputs):
            inputs[:, :state] = states
        self.next_states[:] = self.next_pairs[:, :state] = next_states
        center, half_range = learner.architecture.head.units
        np.subtract(rows[:, state:end], center, out=self.critic.inputs[:, state:])
        self.critic.inputs[:, state:] /= half_range
        return rows[:, -2:-1], 1 - rows[:, -1:]

    def _fit(self, rewards: Floats, continues: Floats) -> float:
        """The critic's step; its squared error."""
        state, _ = self._sizes
        np.tanh(self.target_policy.forward(), out=self.next_pairs[:, state:])
        wanted = rewards + self.learner.discount * continues * self.target_critic.forward()
        error = self.critic.forward() - wanted
        self.critic.backward(2 * self.evenly * error, None, self.critic_gradient)
        self._step(self.critic_adam, self.critic_gradient, ascend=False)
        return float(np.mean(error * error))

    def _climb(self) -> float:
        """The policy's step; the mean Q before it."""
        state, _ = self._sizes
        # In halves of its range, an action is the hyperbolic tangent of the output.
        actions = np.tanh(self.policy.forward())
        self.critic_of_policy.inputs[:, state:] = actions
        value = float(np.mean(self.critic_of_policy.forward()))
        self.critic_of_policy.backward(self.evenly, self.pairs_gradient, None)
        gradient = self.pairs_gradient[:, state:] * (1 - actions * actions)
        self.policy.backward(gradient, None, self.theta_gradient)
        self._step(self.theta_adam, self.theta_gradient, ascend=True)
        return value

    def _step(self, adam: AdamState, gradient: Floats, ascend: bool) -> None:
        self.library.adam_step(adam.call, find_address(gradient), ascend, self.threads)

    @property
    def _sizes(self) -> tuple[int, int]:
        sizes = self.learner.sizes
        return sizes.state, sizes.action


def compile_updates(learner: Learner, batch_size: int, threads: int) -> CompiledUpdates | None:
    """The compiled updates, where there are kernels and they are made for this."""
    library, architecture = find_library(), learner.architecture
    if (
        library is None
        or not isinstance(architecture, MlpArchitecture)
        or type(architecture).population_actions is not MlpArchitecture.population_actions
        or not architecture.head.bounded.all()
        or not (architecture.head.half_range > 0).all()
        or any(p.dtype != torch.float32 for p in (learner.theta, learner.critic))
    ):
        return None
    return CompiledUpdates(library, learner, architecture.shape, batch_size, threads)
