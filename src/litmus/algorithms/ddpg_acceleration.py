"""Faster forms of DDPG's updates: the same steps in compiled kernels, a block as a CUDA graph, or
the blocks of several runs as one.

`ddpg.py` shows what is computed; here it is decided by what means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Self

import torch
from torch import Tensor
from torch.optim import Adam

from litmus.algorithms.adam import Group, make_adam
from litmus.algorithms.base import Resources
from litmus.algorithms.ddpg import Ddpg, Learner, Updates
from litmus.algorithms.together import Together
from litmus.capture import CapturedStep, is_ours
from litmus.config import DdpgConfig
from litmus.native.ddpg_updates import compile_updates
from litmus.policies.mlp import MlpArchitecture


def make_fast_ddpg(resources: Resources) -> Ddpg:
    return Ddpg(resources, accelerate)


def accelerate(learner: Learner, config: DdpgConfig, resources: Resources) -> Updates:
    architecture, place = learner.architecture, resources.place
    if place is not None and isinstance(architecture, MlpArchitecture) and is_ours(architecture):
        return BlockTogether(learner, *place)
    if resources.device.type == "cuda":
        return CapturedBlock(learner) if is_ours(architecture) else learner
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


ADAM_ROWS = ("exp_avg", "exp_avg_sq")


class BlockTogether:
    """The updates of a block of several runs that differ in their seed: many small products become
    a few larger ones, which take a GPU hardly longer than those of one run."""

    def __init__(self, learner: Learner, together: Together, number: int) -> None:
        self.learner, self.together, self.number = learner, together, number
        self._members: list[Self] = []
        self._updates: list[Callable[[Tensor], Tensor]] = []

    def update_all(self, places: Tensor) -> Tensor:  # [U, N] -> [U, 2]
        return self.together.meet(self, places)

    def work_for(self, members: Sequence[Self], given: Sequence[Tensor]) -> Sequence[Tensor]:
        learners = [member.learner for member in members]
        if self._members != list(members):  # at first, and when a run has left
            self._members, self._side_by_side = list(members), put_side_by_side(learners)
            parts = [one.update_all for one in learners]
            whole = self._side_by_side and self._side_by_side.update_each
            is_on_gpu = learners[0].theta.is_cuda
            self._updates = [
                CapturedStep(one) if is_on_gpu else one for one in ([whole] if whole else parts)
            ]
        if self._side_by_side is None:
            return [update(one) for update, one in zip(self._updates, given, strict=True)]
        (update,) = self._updates
        results = update(torch.stack(list(given), dim=1) + find_firsts(learners))
        share_states(learners, self._side_by_side)
        return results.unbind(1)


def put_side_by_side(learners: Sequence[Learner]) -> Learner | None:
    """One learner of all the runs, whose own tensors become its rows; None where some have made
    more updates than others."""
    first = learners[0]
    if any(_describe(one) != _describe(first) for one in learners):
        raise ValueError("runs that learn side by side differ in their seeds alone")
    if len({_count_steps(one) for one in learners}) > 1:
        return None

    def stack(name: str) -> Tensor:
        rows: list[Tensor] = [getattr(one, name) for one in learners]
        stacked = torch.stack([row.detach() for row in rows])
        for row, place in zip(rows, stacked, strict=True):
            row.data = place
        return stacked

    theta, critic = stack("theta").requires_grad_(), stack("critic").requires_grad_()
    return replace(
        first,
        theta=theta,
        critic=critic,
        target_theta=stack("target_theta"),
        target_critic=stack("target_critic"),
        theta_optimizer=_join(theta, [one.theta_optimizer for one in learners]),
        critic_optimizer=_join(critic, [one.critic_optimizer for one in learners]),
        transitions=stack("transitions").flatten(0, 1),
        mean=stack("mean"),
        std=stack("std"),
    )


def find_firsts(learners: Sequence[Learner]) -> Tensor:  # [R, 1]
    """Where the transitions of each begin among those of all."""
    room = len(learners[0].transitions)
    firsts = torch.arange(len(learners), device=learners[0].transitions.device)
    return (firsts * room).unsqueeze(1)


def share_states(learners: Sequence[Learner], joined: Learner) -> None:
    """Each run finds the state of Adam for its row where it looks for it."""
    for number, learner in enumerate(learners):
        for own, of_all in zip(_list_optimizers(learner), _list_optimizers(joined), strict=True):
            (row,), (rows,) = own.param_groups[0]["params"], of_all.param_groups[0]["params"]
            found, state = of_all.state[rows], own.state[row]
            if not state or state["exp_avg"].data_ptr() != found["exp_avg"][number].data_ptr():
                own.state[row] = state = {name: found[name][number] for name in ADAM_ROWS}
                state["step"] = found["step"].clone()  # a run that goes on alone counts alone
            state["step"].copy_(found["step"])


def _join(rows: Tensor, optimizers: Sequence[Adam]) -> Adam:
    """Adam of all rows, with the state that each had."""
    joined = make_adam(Group(float(optimizers[0].param_groups[0]["lr"]), [rows]))
    states = [state for one in optimizers for state in one.state.values()]
    if states:
        joined.state[rows] = {
            "step": states[0]["step"].clone(),
            **{name: torch.stack([state[name] for state in states]) for name in ADAM_ROWS},
        }
    return joined


def _count_steps(learner: Learner) -> float:
    (state,) = learner.critic_optimizer.state.values() or ({"step": 0},)
    return float(state["step"])


def _describe(learner: Learner) -> tuple[object, ...]:
    rates = [float(one.param_groups[0]["lr"]) for one in _list_optimizers(learner)]
    sizes = (learner.architecture, learner.critic_shape, learner.transitions.shape)
    return (*sizes, learner.mean.shape, learner.discount, learner.polyak, rates)


def _list_optimizers(learner: Learner) -> tuple[Adam, Adam]:
    return learner.theta_optimizer, learner.critic_optimizer
