"""Initial networks, drawn from a run's seed."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from litmus.policies.building import building_alone
from litmus.seeding import Stream, make_generator


@contextlib.contextmanager
def drawing_networks(seed: int, number: int = 0) -> Iterator[None]:
    """In here, networks that are built draw their weights from this seed, and from no other;
    `number`: of the run's untrained policy."""
    with building_alone():
        generator = make_generator(seed, Stream.INITIALIZATION, number)
        torch.manual_seed(int(generator.integers(2**62)))
        yield
