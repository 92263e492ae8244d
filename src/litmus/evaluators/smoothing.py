"""Probing images whose neighbouring pixels learn alike.

An image is taken as a blurred version of what is learned: gradients are blurred on their way to
the optimiser, and its steps on their way back. Without that Adam makes steps of the same size in
every pixel, whether a return speaks for it or not, and what can be read drowns in noise.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import avg_pool2d


def blur(images: Tensor, times: int) -> Tensor:  # [K, height, width] or [K, channels, …]
    """Each pixel becomes the mean of those around it and itself, so often; beyond the border are
    zeros, so that what one pixel gives another it is given by it."""
    for _ in range(times):
        channels = images.reshape(-1, 1, *images.shape[-2:])
        images = avg_pool2d(channels, 3, 1, 1).view_as(images)
    return images


def blur_noise(images: Tensor, times: int) -> Tensor:
    """Blurred images with the contrast that they had."""
    mean = images.mean()
    noise = blur(images - mean, times)
    return mean + noise * (images.std() / noise.std().clamp(min=1e-12))
