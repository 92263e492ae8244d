"""Adam as every algorithm here uses it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam

from litmus.config import PssvfConfig
from litmus.evaluators.base import Evaluator
from litmus.native.gpu_adam import make_gpu_adam


@dataclass(frozen=True)
class Group:
    """Parameters that learn alike."""

    lr: float
    parameters: list[Tensor]
    decay: float = 0.0
    """This times a parameter is added to its gradient: it fades where nothing else moves it."""
    lr_decay: float = 0.0
    """The rounds over which the learning rate falls; 0: it does not fall."""
    settled: float = 0.0
    """The share of the run after which the learning rate is 0, having fallen; 0: it never is."""
    averaged: float = 0.0
    """The share of the run after which it is 0, all at once; 0: it never is."""


def make_adam(*groups: Group) -> Adam:
    # Step count and learning rate live on the device, where a CUDA graph advances or reads them.
    on_cuda = any(parameter.is_cuda for group in groups for parameter in group.parameters)
    described: list[dict[str, Any]] = [
        {
            "params": group.parameters,
            "lr": torch.tensor(group.lr, device="cuda") if on_cuda else group.lr,
            "weight_decay": group.decay,
        }
        for group in groups
    ]
    is_one_tensor = sum(len(group.parameters) for group in groups) == 1
    if on_cuda and is_one_tensor:
        return make_gpu_adam(described)
    return Adam(described, fused=True, capturable=on_cuda)


def set_lr(optimizer: Adam, rates: Sequence[float]) -> None:
    """One learning rate for each group of parameters."""
    for group, lr in zip(optimizer.param_groups, rates, strict=True):
        if isinstance(group["lr"], Tensor):  # part of a CUDA graph
            group["lr"].fill_(lr)
        else:
            group["lr"] = lr


def group_parameters(evaluator: Evaluator, config: PssvfConfig) -> list[Group]:
    """Probing states may learn at a rate of their own, which may fall by itself, and fade."""
    options = config.evaluator_options
    parameters: list[Tensor] = list(evaluator.parameters())
    states = [one for one in parameters if one is evaluator.probing_states]
    others = [one for one in parameters if one is not evaluator.probing_states]
    usual = Group(config.evaluator_lr, others, lr_decay=config.evaluator_lr_decay)
    of_states = Group(
        options.get("probing_lr") or usual.lr,
        states,
        options.get("probing_decay", usual.decay),
        usual.lr_decay,
        options.get("probing_settled", usual.settled),
        options.get("probing_averaged", usual.averaged),
    )
    if not states or replace(of_states, parameters=others) == usual:
        return [replace(usual, parameters=parameters)]
    return [of_states, usual]
