"""Adam's step of one tensor on a GPU as one kernel that uses all of the GPU."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.optim import Adam

from litmus.native.gpu_layers import find_kernels

BLOCK = 1024


class GpuAdam(Adam):
    """Torch's Adam, made faster where its parameters are one contiguous tensor; its state is the
    same, and it can be part of a CUDA graph."""

    def step(self, closure: Callable[[], float] | None = None) -> Any:
        kernels, (group,) = find_kernels(), self.param_groups
        (params,) = group["params"]
        state = self.state[params]
        if not state or kernels is None or group["weight_decay"]:
            return super().step(closure)
        mean_decay, square_decay = group["betas"]
        count = params.numel()
        with torch.no_grad():
            state["step"] += 1
            kernels.adam_kernel[(math.ceil(count / BLOCK),)](
                params,
                params.grad.contiguous(),
                state["exp_avg"],
                state["exp_avg_sq"],
                state["step"],
                group["lr"],
                mean_decay,
                math.log(mean_decay),
                square_decay,
                math.log(square_decay),
                group["eps"],
                count,
                BLOCK=BLOCK,
            )
        return None


def make_gpu_adam(groups: Sequence[dict[str, Any]]) -> Adam:
    return GpuAdam(list(groups), fused=True, capturable=True)
