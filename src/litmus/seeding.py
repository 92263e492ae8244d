"""All randomness of a run, as a function of (run seed, stream, index).

A counter-based generator (Philox) is keyed by the three numbers, so nothing has to be carried
along: a worker on any machine rebuilds the perturbation of episode 12,345 from its index alone,
and a resumed run needs no generator state.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from litmus.native.library import find_library


class Stream(IntEnum):
    """What the numbers are for. Values are part of the file format: never renumber them."""

    INITIALIZATION = 0  # networks and probing states; index 0
    PERTURBATION = 1  # index: training episode
    TRAINING = 2  # the environment and a stochastic policy's choices; index: training episode
    EVALUATION = 3  # the same for evaluations during training; index: evaluation episode
    BATCHES = 4  # draws from the buffer; index: round
    MEASUREMENT = 5  # the same as EVALUATION, for `litmus evaluate`; index: episode
    SELECTION = 6  # the same, to choose the policy that is handed over; index: episode
    EXPLORATION = 7  # noise of single actions; index: block of steps
    FIT = 8  # what fitting an evaluator to measured policies draws; index 0
    JUDGING = 9  # episodes that policies of a zoo are measured in; index: episode
    REMEASUREMENT = 10  # more of them, for fitting; index: episode
    VERIFICATION = 11  # of compare, rank and improve, which no evaluator knows; index: episode


def make_generator(seed: int, stream: Stream, index: int) -> np.random.Generator:
    """Return the generator of one (seed, stream, index)."""
    return np.random.Generator(np.random.Philox(key=_make_key(seed, stream, index)))


def _make_key(seed: int, stream: Stream, index: int) -> list[int]:
    return [seed, (int(stream) << 48) | index]


def perturb(
    flat_params: NDArray[np.float32],
    noise: float,
    seed: int,
    episode_index: int,
    antithetic: bool = False,
) -> NDArray[np.float32]:  # [P] -> [P]
    """Return θ' = θ + ε, ε ~ N(0, noise² I), for one training episode.

    Antithetic: episodes 2 n and 2 n + 1 share one ε, which the second takes with the other sign.
    The compiled kernel draws the very numbers of numpy's generator, in a quarter of the time.
    """
    number, is_second = divmod(episode_index, 2) if antithetic else (episode_index, 0)
    signed_noise = -noise if is_second else noise
    library = find_library()
    if library is not None and flat_params.flags.c_contiguous and flat_params.dtype == np.float32:
        perturbed = np.empty_like(flat_params)
        library.perturb(
            *_make_key(seed, Stream.PERTURBATION, number),
            flat_params.ctypes.data,
            signed_noise,
            flat_params.size,
            perturbed.ctypes.data,
        )
        return perturbed
    epsilon = draw_direction(seed, number, flat_params.size)
    epsilon *= np.float32(signed_noise)
    epsilon += flat_params
    return epsilon


def draw_direction(seed: int, number: int, size: int) -> NDArray[np.float32]:
    """ε / noise of one training episode, or of an antithetic pair of them.  [size]"""
    generator = make_generator(seed, Stream.PERTURBATION, number)
    return generator.standard_normal(size, dtype=np.float32)
