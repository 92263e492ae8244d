"""Letting go of long work early: `litmus watch` must end when it is told to."""

from __future__ import annotations

from collections.abc import Callable

IsStopped = Callable[[], bool]


class Stopped(Exception):
    """Nobody waits for this any more."""


def never() -> bool:
    return False
