"""Numbers of things in sentences."""

from __future__ import annotations

from collections.abc import Sequence

MOST_TEXT = 72


def say_count(number: int, what: str, several: str | None = None) -> str:
    """'1 run', '2 runs'; `several` is the plural where that is not the word with an s."""
    return f"{number:,} {what if number == 1 else several or what + 's'}"


def show_return(value: float) -> str:
    """With one decimal, unless that hides what it is."""
    return f"{value:.1f}" if value == 0 or 0.1 <= abs(value) < 1e7 else f"{value:.3g}"


def say_names(names: Sequence[str], what: str) -> str:
    """'a', 'a and b', 'a, b and c'; how many they are where that would be long."""
    said = " and ".join([*filter(None, [", ".join(names[:-1])]), *names[-1:]])
    return said if 0 < len(said) <= MOST_TEXT else say_count(len(names), what)
