"""Standard output is for results; whatever else is printed goes to standard error."""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
from collections.abc import Iterator


@contextlib.contextmanager
def stdout_for_results() -> Iterator[None]:
    """Send what environments print to standard error, whether Python or C prints it."""
    kept = _exchange()
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            sys.stdout.flush()
            ctypes.CDLL(None).fflush(None)  # what C has printed and not yet written
            os.dup2(kept, 1)
            os.close(kept)


def _exchange() -> int | None:
    """Point descriptor 1 to standard error; a copy of what it was, or None where it is another."""
    try:
        if sys.stdout.fileno() != 1 or sys.stderr.fileno() != 2:
            return None
        sys.stdout.flush()
        kept = os.dup(1)
    except (AttributeError, OSError, ValueError):
        return None
    os.dup2(2, 1)
    return kept
