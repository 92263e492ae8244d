"""Ctrl-C and SIGTERM: the first lets the round finish, the second stops at once."""

from __future__ import annotations

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the run was brought to a state that can be resumed."""


class InterruptFlag:
    """Set by the first signal while `catching`; a program's main thread alone gets signals."""

    def __init__(self) -> None:
        self.is_set = False

    @contextlib.contextmanager
    def catching(self, tell: Callable[[str], None]) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.is_set:
                raise Interrupted
            self.is_set = True
            tell("stopping after this round (a second Ctrl-C stops at once)")

        previous = {s: signal.signal(s, interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)
