"""What the hardware allows: raw simulation steps and batched matrix products, on one core.

Dividing a time by the number of cores gives the limit of the whole machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import mujoco
import numpy as np
import torch

from litmus.evaluators.gaussian_process import LENGTHS, MOST_TRIED, SOLVED_PER_CHOICE
from litmus.policies.architecture import Architecture
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.rows import MlpShape
from litmus.rollouts.episode import ActingPolicy
from litmus.tasks.control import ControlTask


def measure(work: Callable[[], object], repeats: int = 5) -> float:
    """Median seconds of a call, after one to warm up."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


@dataclass(frozen=True)
class Recording:
    """The actions of one episode: enough to pass through the same states again."""

    seed: int
    actions: list[Any]


def record_episode(
    task: ControlTask, architecture: Architecture, flat_params: np.ndarray, seed: int
) -> Recording:
    """Run an episode and keep what the policy did."""
    actions = []

    normalizer = Normalizer.identity(architecture.state_shape)
    policy = ActingPolicy(architecture, flat_params, normalizer, np.random.default_rng(seed))

    class Recorder:
        def act(self, observation: np.ndarray) -> Any:
            actions.append(policy.act(observation))
            return actions[-1]

        action_parameters = policy.action_parameters

    task.run_episode(Recorder(), seed)
    return Recording(seed, actions)


def measure_raw_step(task: ControlTask, recordings: Sequence[Recording]) -> float:
    """Seconds of one environment step alone, through the recorded states: `mj_step` where the body
    is MuJoCo's, else the environment's own `step` without wrappers."""
    bare: Any = task.environment.unwrapped
    step = _find_mujoco_step(bare) if hasattr(bare, "model") else bare.step
    spent, steps = 0.0, 0
    for recording in recordings:
        task.environment.reset(seed=recording.seed)
        start = time.perf_counter()
        for action in recording.actions:
            step(action)
        spent += time.perf_counter() - start
        steps += len(recording.actions)
    return spent / steps


def _find_mujoco_step(bare: Any) -> Callable[[np.ndarray], None]:
    model, data, frames, control = bare.model, bare.data, bare.frame_skip, bare.data.ctrl
    simulate = mujoco.mj_step

    def step(action: np.ndarray) -> None:
        control[...] = action
        simulate(model, data, frames)

    return step


def measure_gemm_rate(architecture: MlpArchitecture, policies: int, states: int) -> float:
    """FLOP/s of a batched product with the shape of the widest hidden layer, on one thread."""
    inputs, outputs = max(architecture.shape.layer_sizes, key=lambda size: size[0] * size[1])
    x = torch.randn(policies, states, inputs)
    weights = torch.randn(policies, inputs, outputs)
    out = torch.empty(policies, states, outputs)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    seconds = measure(lambda: torch.bmm(x, weights, out=out), repeats=20)
    torch.set_num_threads(threads)
    return 2 * policies * states * inputs * outputs / seconds


def measure_solving(policies: int) -> float:
    """Seconds that the matrix decompositions of one round take alone, on one core: they are all
    that an evaluator that is solved for has to do."""
    points = torch.rand(policies, policies, dtype=torch.float64)
    gram = points @ points.T / policies + torch.eye(policies, dtype=torch.float64)
    tried = gram[:MOST_TRIED, :MOST_TRIED].float()
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    solving = measure(lambda: torch.linalg.cholesky(gram))
    choosing = len(LENGTHS) * measure(lambda: torch.linalg.eigh(tried)) / SOLVED_PER_CHOICE
    torch.set_num_threads(threads)
    return solving + choosing


def count_ddpg_flops(policy: MlpShape, critic: MlpShape, batch_size: int) -> float:
    """FLOPs of one update of critic and policy: products only."""
    layers = [[inputs * outputs for inputs, outputs in s.layer_sizes] for s in (policy, critic)]
    of_policy, of_critic = map(sum, layers)
    first = [products[0] for products in layers]
    # Targets: forward. Critic: forward, and its weights' gradient. Policy: forward through both,
    # back through the critic, its own weights' gradient. Nobody asks for a gradient of states.
    per_transition = (
        2 * (of_policy + of_critic)
        + (6 * of_critic - 2 * first[1])
        + (2 * of_policy + 4 * of_critic + 4 * of_policy - 2 * first[0])
    )
    return float(batch_size * per_transition)


def count_flops(
    architecture: MlpArchitecture, head_inputs: int, head_hidden: Sequence[int], states: int
) -> tuple[float, float]:
    """(FLOPs per policy of an evaluator update, FLOPs of a policy update): products only."""
    products = sum(inputs * outputs for inputs, outputs in architecture.shape.layer_sizes)
    first_inputs, first_outputs = architecture.shape.layer_sizes[0]
    widths = (head_inputs, *head_hidden, 1)
    head = sum(a * b for a, b in pairwise(widths))
    # Evaluator: forward and the gradient of the states; the head also the gradient of its weights.
    evaluator = 4 * states * products + 6 * head
    # Policy: forward, the gradient of the weights, and of the hidden layers but not of the states.
    policy = 6 * states * products - 2 * states * first_inputs * first_outputs + 4 * head
    return float(evaluator), float(policy)
