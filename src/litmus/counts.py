"""Numbers of things in sentences."""

from __future__ import annotations


def say_count(number: int, what: str, several: str | None = None) -> str:
    """'1 run', '2 runs'; `several` is the plural where that is not the word with an s."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"
