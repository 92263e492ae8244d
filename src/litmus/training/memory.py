"""Whether a run fits into this machine, told before it starts; and whether it was memory that
was short.

The estimate counts what a run holds when its buffer is full. It is compared with all the memory
that there is, not with what is free at the moment: it refuses what nothing here can hold.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass
from itertools import pairwise

import torch

from litmus.config import DdpgConfig, PssvfConfig, TrainConfig
from litmus.errors import BadInput, RunFailed
from litmus.policies.architecture import Architecture
from litmus.rollouts.machine import WORKER_BYTES, count_cores, find_memory
from litmus.training.selection import count_at_once

FLOAT, DOUBLE = 4, 8
POLICY_COPIES = 12
"""Of θ: itself, Adam's two, gradients, four on the board, the plan, a checkpoint being written."""
SOLUTION_COPIES = 6
"""Matrices of likeness while an evaluator is solved for."""
EVALUATOR_COPIES = 6
CRITIC_COPIES = 7
"""Itself, its target, Adam's two, gradients, a checkpoint being written."""
BOARD_FIELDS = 10
STEPS_SEEN = 1000
"""Of an episode, whose observations a worker holds, a byte per number at the least."""


@dataclass(frozen=True)
class Need:
    """What takes the memory, in bytes."""

    parts: dict[str, float]

    @property
    def total(self) -> float:
        return sum(self.parts.values())

    @property
    def largest(self) -> str:
        return max(self.parts, key=lambda name: self.parts[name])


def check_memory(config: TrainConfig, architecture: Architecture, device: torch.device) -> float:
    """The bytes that a run takes; BadInput for one that this machine cannot hold."""
    return check_need(estimate(config, architecture), device)


def check_need(need: Need, device: torch.device) -> float:
    """Its bytes; BadInput where this machine has fewer."""
    have = find_memory()
    if device.type == "cuda":
        have += torch.cuda.get_device_properties(device).total_memory
    if need.total > have:
        raise BadInput(
            f"the run does not fit into memory: it needs about {_show(need.total)}, most of it for "
            f"{need.largest}, and this machine has {_show(have)}"
        )
    return need.total


def estimate(config: TrainConfig, architecture: Architecture) -> Need:
    """What a run takes when its buffer is full."""
    params = count_params(architecture)
    states = _multiply(architecture.state_shape)
    workers = count_cores() if config.workers is None else config.workers
    jobs = 2 * (config.episodes_at_once + config.evaluate_episodes) + count_at_once(config)
    parts: dict[str, float] = {
        "its workers (--workers)": workers * (WORKER_BYTES + STEPS_SEEN * states),
        "copies of the policy (--hidden)": POLICY_COPIES * FLOAT * params,
        "episodes at once (--round-size, --evaluate-episodes)": jobs
        * DOUBLE
        * (BOARD_FIELDS + 2 * states),
    }
    if isinstance(config, PssvfConfig):
        parts |= _estimate_learning(config, params, states, architecture.head.size)
    if isinstance(config, DdpgConfig):
        parts |= _estimate_transitions(config, states, architecture.head.size)
    return Need(parts)


def _estimate_learning(
    config: PssvfConfig, params: int, states: int, actions: int
) -> dict[str, float]:
    options = config.evaluator_options
    asked = int(options.get("probing_states", 0))
    if config.is_solved_for:
        remembered = int(options["remembered_policies"])
        return {
            "the evaluator (--remembered-policies, --probing-states)": DOUBLE
            * remembered
            * (SOLUTION_COPIES * remembered + 2 * asked * actions),
            "a round's policies (--round-size)": 2 * FLOAT * config.episodes_at_once * params,
        }
    inputs = asked * actions if asked else params
    widths = [inputs, *options.get("evaluator_hidden", ()), 1]
    weights = sum(outputs * (inputs + 1) for inputs, outputs in pairwise(widths))
    policies = min(config.buffer_size, config.steps + config.episodes_at_once)
    batch = min(config.batch_size, policies)  # a policy that is drawn twice is asked once
    drawn = config.episodes_at_once * config.evaluator_updates * config.batch_size
    hidden = sum(config.architecture_options.get("hidden", ()))
    return {
        "the evaluator (--probing-states, --evaluator-hidden)": EVALUATOR_COPIES
        * FLOAT
        * (weights + asked * states),
        "the buffer (--buffer-size × --hidden)": FLOAT * (policies * params + config.buffer_size),
        "a round's policies (--round-size)": 2 * FLOAT * config.episodes_at_once * params,
        "batches (--batch-size, --evaluator-updates, --round-size)": 3 * DOUBLE * drawn,
        "a batch's probing actions (--batch-size, --probing-states)": 2
        * FLOAT
        * batch
        * (max(asked, 1) * (actions + hidden) + sum(widths)),
    }


def _estimate_transitions(config: DdpgConfig, states: int, actions: int) -> dict[str, float]:
    widths = [states + actions, *config.critic_hidden, 1]
    weights = sum(outputs * (inputs + 1) for inputs, outputs in pairwise(widths))
    hidden = sum(config.critic_hidden) + sum(config.architecture_options.get("hidden", ()))
    row = 2 * states + actions + 2
    kept = min(config.buffer_size, config.steps + config.update_every)
    return {
        "the critic (--critic-hidden)": CRITIC_COPIES * FLOAT * weights,
        "transitions (--buffer-size)": FLOAT * row * (kept + 2 * config.update_every),
        "batches (--updates, --batch-size)": DOUBLE * config.updates * config.batch_size,
        "a batch (--batch-size, --critic-hidden)": 4 * FLOAT * config.batch_size * (row + hidden),
    }


def count_params(architecture: Architecture) -> int:
    """P, without memory for those that build the network to count it."""
    with torch.device("meta"):
        return int(architecture.num_params)


def is_out_of_memory(error: BaseException) -> bool:
    """Whether it was memory that was short, and nothing else."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    if isinstance(error, RunFailed):
        return False  # it has said what it was
    words = ("can't allocate memory", "not enough memory", "out of memory")
    return isinstance(error, RuntimeError) and any(word in str(error) for word in words)


def _multiply(sizes: tuple[int, ...]) -> int:
    product = 1
    for size in sizes:
        product *= int(size)
    return product


def _show(amount: float) -> str:
    for unit in ("MB", "GB", "TB", "PB"):
        amount /= 1024 if unit != "MB" else 2**20
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount:.1e} PB"
