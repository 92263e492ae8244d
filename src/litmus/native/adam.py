"""Adam's step in the compiled kernels, on the state that torch's own optimiser keeps."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import torch
from torch import Tensor
from torch.optim import Adam

from litmus.native.library import AdamCall


class AdamState:
    """Where an optimiser keeps what it knows; begun as Adam itself begins, where it has not yet."""

    def __init__(self, optimizer: Adam) -> None:
        (group,) = optimizer.param_groups
        parameters: list[Tensor] = group["params"]
        for parameter in parameters:
            if not optimizer.state[parameter]:
                optimizer.state[parameter] = {
                    "step": torch.zeros((), dtype=torch.float32, device="cpu"),
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }
        self.kept = [dict(optimizer.state[parameter]) for parameter in parameters]
        self.call = AdamCall(
            len(parameters),
            (ctypes.c_int64 * len(parameters))(*(parameter.numel() for parameter in parameters)),
            _point_to_all(parameters),
            *(
                _point_to_all([state[name] for state in self.kept])
                for name in ("exp_avg", "exp_avg_sq", "step")
            ),
            group["lr"],
            *group["betas"],
            group["eps"],
        )


def _point_to_all(tensors: Sequence[Tensor]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * len(tensors))(*(tensor.data_ptr() for tensor in tensors))
