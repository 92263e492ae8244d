"""All randomness of a run, as a function of (run seed, stream, index).

A counter-based generator (Philox) is keyed by the three numbers, so nothing has to be carried
along: a worker on any machine rebuilds the perturbation of episode 12,345 from its index alone,
and a resumed run needs no generator state.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray


class Stream(IntEnum):
    """What the numbers are for. Values are part of the file format: never renumber them."""

    INITIALIZATION = 0  # networks and probing states; index 0
    PERTURBATION = 1  # index: training episode
    TRAINING = 2  # the environment and a stochastic policy's choices; index: training episode
    EVALUATION = 3  # the same for evaluations during training; index: evaluation episode
    BATCHES = 4  # draws from the buffer; index: round
    MEASUREMENT = 5  # the same as EVALUATION, for `litmus evaluate`; index: episode


def make_generator(seed: int, stream: Stream, index: int) -> np.random.Generator:
    """Return the generator of one (seed, stream, index)."""
    key = [seed, (int(stream) << 48) | index]
    return np.random.Generator(np.random.Philox(key=key))


def perturb(
    flat_params: NDArray[np.float32], noise: float, seed: int, episode_index: int
) -> NDArray[np.float32]:  # [P] -> [P]
    """Return θ' = θ + ε, ε ~ N(0, noise² I), for one training episode."""
    generator = make_generator(seed, Stream.PERTURBATION, episode_index)
    epsilon = generator.standard_normal(flat_params.shape, dtype=np.float32)
    epsilon *= np.float32(noise)
    epsilon += flat_params
    return epsilon
