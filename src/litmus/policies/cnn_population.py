"""Many convolutional networks on the same images, as a few large convolutions.

The first convolution of B networks is one with B times the channels; the following ones keep the
networks apart by groups; the last layer is one batched product. Tested equal to `torch.func` on the
module itself.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import conv2d

from litmus.policies.rows import CnnShape


def evaluate_cnns(shape: CnnShape, flat_params: Tensor, images: Tensor) -> Tensor:
    """Raw outputs [B, K, A] of networks [B, P] on images [K, C, H, W]; differentiable in both."""
    count, kernel = len(flat_params), (shape.kernel_size, shape.kernel_size)
    pieces = iter(torch.split(flat_params, shape.sizes, dim=1))
    x, groups = images, 1
    for inputs, outputs in shape.convolutions:
        weights = shape.scale * next(pieces).reshape(count * outputs, inputs, *kernel)
        biases = shape.scale * next(pieces).reshape(-1)
        x = torch.relu_(conv2d(x, weights, biases, groups=groups))
        groups = count
    if shape.convolutions:
        features = x.reshape(len(images), count, -1).transpose(0, 1)  # [B, K, features]
    else:  # each network sees the same pixels
        features = images.flatten(1).expand(count, -1, -1)
    weights = next(pieces).reshape(count, shape.outputs, shape.features)
    return torch.baddbmm(next(pieces).unsqueeze(1), features, weights.transpose(1, 2))
