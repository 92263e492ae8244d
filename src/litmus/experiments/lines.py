"""Long names of jobs on a terminal: 'Hopper-v5, pssvf,noise=0.05,recency=1.1, seed 3'."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Container, Iterable, Sequence


class _AtCommas(textwrap.TextWrapper):
    """Breaks lines at spaces and behind commas."""

    wordsep_re = re.compile(r"(\s+|(?<=,))")


def wrap(text: str, width: int, indent: str = "") -> list[str]:
    """Lines of at most so many columns; those that go on are indented further."""
    return _AtCommas(width, initial_indent=indent, subsequent_indent=indent + "    ").wrap(text)


def shorten(name: str, width: int, others: Iterable[str] = ()) -> str:
    """The name where there is room for it; else its first and its last part, and of those between
    as many as there is room for: what tells it from the others comes first."""
    if len(name) <= width:
        return name
    parts = _split(name)
    shared = set(parts).intersection(*map(_split, others))
    between = sorted(range(1, len(parts) - 1), key=lambda place: parts[place] in shared)
    kept = {0, len(parts) - 1}
    for place in between:
        if len(_join(parts, kept | {place})) <= width:
            kept.add(place)
    short = _join(parts, kept)
    if len(short) <= width:
        return short
    half, odd = divmod(width - 1, 2)
    return f"{name[: half + odd]}…{name[len(name) - half :]}"


def _split(name: str) -> list[str]:
    return re.split(r"(?<=,)", name)


def _join(parts: Sequence[str], kept: Container[int]) -> str:
    """With an ellipsis in the place of those that are left out."""
    words = [
        part if place in kept else "…," if place - 1 in kept else ""
        for place, part in enumerate(parts)
    ]
    return "".join(words)
