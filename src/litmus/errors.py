"""Errors that are the user's to mend, and the words that help to mend them."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class BadInput(ValueError):
    """Something the user gave cannot be used; the message is one line that says what and why."""


class RunFailed(RuntimeError):
    """Work that started well could not go on; the message is one line."""

    traceback: str = ""
    """Of the user's own code, where that is what failed."""


def suggest(word: str, choices: Iterable[str]) -> str:
    """Name the valid choice nearest to `word`, as the end of a sentence."""
    known = sorted(choices)
    lowered = {choice.lower(): choice for choice in known}
    close = difflib.get_close_matches(word.lower(), list(lowered), n=1, cutoff=0.5)
    if close:
        return f"; did you mean '{lowered[close[0]]}'?"
    if 0 < len(known) <= 12:
        return f"; choose from {', '.join(known)}"
    return ""
