"""Initial networks, drawn from a run's seed."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

from litmus.seeding import Stream, make_generator

_DRAWING = threading.RLock()
"""Torch's random numbers belong to the whole process."""


@contextlib.contextmanager
def drawing_networks(seed: int, number: int = 0) -> Iterator[None]:
    """In here, networks that are built draw their weights from this seed, and from no other;
    `number`: of the run's untrained policy."""
    with _DRAWING, torch.random.fork_rng(devices=[]):
        generator = make_generator(seed, Stream.INITIALIZATION, number)
        torch.manual_seed(int(generator.integers(2**62)))
        yield
