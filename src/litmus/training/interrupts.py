"""Ctrl-C and SIGTERM: the first lets the round finish, the second stops at once.

A round may take long, and whoever sends SIGTERM sends no second one: it stops at once by itself,
when some seconds have not been enough. Python acts on a signal between two of its own instructions;
where code in C never comes back to it, a thread ends the process.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

SECONDS_FOR_THE_ROUND = 5.0
"""That SIGTERM leaves: less than what systems that take machines away give."""
SECONDS_TO_STOP = 5.0
"""After which what was told to stop at once is ended."""

NEVER = float("inf")
INTERRUPTED = 130
"""The exit status of a process that was."""

Tell = Callable[[str], None]


class Interrupted(KeyboardInterrupt):
    """Ctrl-C, after the run was brought to a state that can be resumed."""


class InterruptFlag:
    """Set by the first signal while `catching`; a program's main thread alone gets signals.

    Caught from before a run is written to its end: a signal that is raised as an exception, while
    libraries are imported or objects taken apart, can be lost in there.
    """

    def __init__(self, go_on: str = "") -> None:
        """`go_on`: how to, for the last words of a process that has to be ended."""
        self.is_set, self.go_on = False, go_on
        self.tell: Tell = lambda text: None

    @contextlib.contextmanager
    def catching(self) -> Iterator[None]:
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        def interrupt(number: int, frame: FrameType | None) -> None:
            if self.is_set:
                raise Interrupted
            self.is_set = True
            if number == signal.SIGTERM:
                self.tell(f"stopping after this round, or in {SECONDS_FOR_THE_ROUND:.0f} s")
            else:
                self.tell("stopping after this round (a second Ctrl-C stops at once)")

        last_words = f"stopped: what was running did not come back{self.go_on}"
        with _LastResort(lambda: self.tell(last_words)):
            previous = {s: signal.signal(s, interrupt) for s in (signal.SIGINT, signal.SIGTERM)}
            try:
                yield
            finally:
                for number, handler in previous.items():
                    signal.signal(number, handler)


class _LastResort:
    """A thread that hears of signals though the main thread may not: it sends SIGTERM again, and
    ends the process that has not stopped after the second signal."""

    def __init__(self, say_last_words: Callable[[], None]) -> None:
        self._say_last_words = say_last_words
        self._lock = threading.Lock()
        self._is_needed = True

    def __enter__(self) -> None:
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._writer, False)
        self._before = signal.set_wakeup_fd(self._writer, warn_on_full_buffer=False)
        if self._before != -1:  # an event loop wants to hear of them itself
            signal.set_wakeup_fd(self._before)
        threading.Thread(target=self._listen, daemon=True).start()

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_needed = False
        if self._before == -1:
            signal.set_wakeup_fd(-1)
        os.close(self._writer)  # which ends the thread

    def _listen(self) -> None:
        signals, again_at, end_at = 0, NEVER, NEVER
        while True:
            received = self._wait_until(min(again_at, end_at))
            if received is None:
                return
            now = time.monotonic()
            for number in received:
                if number not in (signal.SIGINT, signal.SIGTERM):
                    continue
                signals += 1
                if signals == 1 and number == signal.SIGTERM:
                    again_at = now + SECONDS_FOR_THE_ROUND
                elif signals == 2:
                    again_at, end_at = NEVER, now + SECONDS_TO_STOP
            if now >= again_at:
                again_at = NEVER
                self._do(lambda: os.kill(os.getpid(), signal.SIGTERM))
            if now >= end_at:
                end_at = NEVER
                self._do(self._end)

    def _wait_until(self, moment: float) -> bytes | None:
        """The signals that come until then; None when there is nothing more to wait for."""
        seconds = None if moment == NEVER else max(0.0, moment - time.monotonic())
        if not select.select([self._reader], [], [], seconds)[0]:
            return b""
        received = os.read(self._reader, 64)
        if not received:
            os.close(self._reader)
        return received or None

    def _do(self, act: Callable[[], None]) -> None:
        with self._lock:
            if self._is_needed:
                act()

    def _end(self) -> None:
        self._say_last_words()
        os._exit(INTERRUPTED)
