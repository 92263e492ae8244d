"""Networks draw their first weights from random numbers that belong to the whole process."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator

import torch

_BUILDING = threading.RLock()


@contextlib.contextmanager
def building_alone() -> Iterator[None]:
    """In here no other thread builds a network; after it, torch's random numbers go on as if none
    had been built."""
    with _BUILDING, torch.random.fork_rng(devices=[]):
        yield
