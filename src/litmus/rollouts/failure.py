"""What is said of an episode that failed, or that does not end. Torch-free, for the workers."""

from __future__ import annotations

import contextlib
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from types import TracebackType

import litmus.errors
from litmus.errors import BadInput, RunFailed
from litmus.seeding import Stream

PACKAGE = str(Path(litmus.errors.__file__).parent)
MOST_TEXT = 20_000
TRIES = 3
"""To write down a traceback."""

LONG_SECONDS = 60.0
"""An episode that runs for longer is told of."""

NAMES = {
    Stream.TRAINING: "training episode",
    Stream.EVALUATION: "evaluation episode",
    Stream.MEASUREMENT: "episode",
}

Tell = Callable[[str], None]
Message = dict[str, str]
"""A failure as it travels from a worker."""


def name_episode(stream: Stream, index: int) -> str:
    return f"{NAMES.get(stream, 'episode')} {index}"


def describe_failure(error: BaseException, episode: str) -> Message:
    """In words that can travel: what failed, and the environment's own traceback."""
    if isinstance(error, BadInput):
        return {"bad_input": error.message}
    return {
        "message": f"an episode failed ({episode}): {_explain(error)}",
        "traceback": format_traceback(error)[-MOST_TEXT:],
    }


def make_error(message: Message) -> Exception:
    """The error to raise for a failure; its traceback stands in the notes for a library's user."""
    if "bad_input" in message:
        return BadInput(message["bad_input"])
    failed = RunFailed(message["message"])
    failed.traceback = message["traceback"]
    return failed


def _explain(error: BaseException) -> str:
    text = " ".join(str(error).split())
    if isinstance(error, SystemExit):
        return f"it called sys.exit({text})"
    if isinstance(error, MemoryError):
        return f"out of memory{': ' if text else ''}{text}"
    return f"{type(error).__name__}: {text}"


def format_traceback(error: BaseException) -> str:
    """As Python prints it, from where the code of litmus is left."""
    outside = error.__traceback__
    while outside is not None and _is_ours(outside):
        outside = outside.tb_next
    return format_whole(error, outside)


def format_whole(error: BaseException, step: TracebackType | None = None) -> str:
    """As Python prints it, from this step on, or from the first.

    The parser that helps Python 3.11 to mark the place within a line now and then fails where other
    threads need it too.
    """
    for _ in range(TRIES):
        with contextlib.suppress(SystemError):
            lines = traceback.format_exception(type(error), error, step or error.__traceback__)
            return "".join(lines).rstrip()
    return "".join(traceback.format_exception_only(type(error), error)).rstrip()


def _is_ours(step: TracebackType) -> bool:
    return step.tb_frame.f_code.co_filename.startswith(PACKAGE)


class Patience:
    """Tells of an episode that does not end: after some time, and whenever that has doubled."""

    def __init__(self, tell: Tell) -> None:
        self.tell = tell
        self._next: dict[str, float] = {}

    def look(self, running: Iterable[tuple[str, float]]) -> None:
        """At the names of episodes, and since how many seconds each has been running."""
        for name, seconds in running:
            if seconds >= self._next.get(name, LONG_SECONDS):
                self._next[name] = 2 * seconds
                self.tell(
                    f"waiting for {name}, which has been running for {seconds:.0f} s "
                    "(--max-episode-steps N ends long ones; Ctrl-C twice stops at once)"
                )
