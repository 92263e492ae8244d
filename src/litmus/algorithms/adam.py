"""Adam as every algorithm here uses it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.optim import Adam


def make_adam(by_lr: Mapping[float, list[Tensor]]) -> Adam:
    """One group of parameters for each learning rate."""
    # Step count and learning rate live on the device, where a CUDA graph advances or reads them.
    on_cuda = any(parameter.is_cuda for group in by_lr.values() for parameter in group)
    groups: list[dict[str, Any]] = [
        {"params": group, "lr": torch.tensor(lr, device="cuda") if on_cuda else lr}
        for lr, group in by_lr.items()
    ]
    return Adam(groups, fused=True, capturable=on_cuda)
