"""Errors that are the user's to mend, and the words that help to mend them.

A message names options and commands through `option` and `command`, and is spelled for whoever
reads it: `steps` and `litmus.resume('run')` in Python, `--steps` and `litmus resume run` at the
command line.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable

MOST_TEXT = 400

_MARKED = re.compile("\x02([a-z_]+)(?:([= ])([^\x02\x03]*))?\x03")


def option(name: str, value: object | None = None) -> str:
    """An option in a message, with a value if there is one."""
    return f"\x02{name}\x03" if value is None else f"\x02{name}={value}\x03"


def command(name: str, argument: object) -> str:
    """A command in a message: a function of the library, with spaces for underscores."""
    return f"\x02{name} {argument}\x03"


def spell_option(name: str) -> str:
    """An option as it is typed."""
    return "--" + name.replace("_", "-")


def _spell_for_python(found: re.Match[str]) -> str:
    name, kind, value = found.groups()
    if kind == " ":
        return f"litmus.{name}({value!r})"
    return name if kind is None else f"{name}={value!r}"


def _spell_for_shell(found: re.Match[str]) -> str:
    name, kind, value = found.groups()
    if kind == " ":
        return f"litmus {name.replace('_', ' ')} {shlex.quote(value)}"
    typed = spell_option(name)
    return typed if kind is None else f"{typed} {value}"


class _Spelled(Exception):
    """Its text is spelled for Python, `for_shell` for the command line."""

    def __init__(self, message: str = "") -> None:
        super().__init__(_MARKED.sub(_spell_for_python, message))
        self.message = message
        """Not spelled yet: what another process needs to raise the same error."""
        self.for_shell = _MARKED.sub(_spell_for_shell, message)


class BadInput(_Spelled, ValueError):
    """Something the user gave cannot be used; the message is one line that says what and why."""


class RunFailed(_Spelled, RuntimeError):
    """Work that started well could not go on; the message is one line."""

    traceback: str = ""
    """Of the user's own code, where that is what failed."""


def one_line(error: BaseException) -> str:
    """What an exception says, or its name where it says nothing."""
    return " ".join(str(error).split())[:MOST_TEXT] or type(error).__name__


def suggest(word: str, choices: Iterable[str]) -> str:
    """Name the valid choice that `word` is nearly, as the end of a sentence; else a short list."""
    known = sorted(choices)
    near = [(distance, choice) for choice in known if (distance := _distance(word, choice)) < 1]
    if near:
        least = min(distance for distance, _ in near)
        return f"; did you mean '{[choice for distance, choice in near if distance == least][-1]}'?"
    if 0 < len(known) <= 12:
        return f"; choose from {', '.join(known)}"
    return ""


def _distance(word: str, choice: str) -> float:
    """From 0, equal but for upper and lower case; what is unlike a choice has 1 or more.

    One mistake is allowed in a short word, one in four letters in a longer one. A word that the
    choice begins with is near it, and so is a task's name without its version.
    """
    word, choice = (text.lstrip("-").replace("_", "-").lower() for text in (word, choice))
    if not word:
        return 1.0
    name = re.sub(r"-v\d+$", "", choice)
    allowed = max(1, len(word) // 4)
    mistakes = min(_count_mistakes(word, choice), _count_mistakes(word, name) + 0.5)
    if mistakes <= allowed + 0.5 and mistakes < len(word) - 1:
        return mistakes / (allowed + 1)
    begins = len(word) >= 3 and choice.startswith(word)
    return 0.9 if begins else 1.0


def _count_mistakes(one: str, other: str) -> int:
    """Letters to add, leave out, change or swap with their neighbour."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        before, above, row = row, before, [i]
        for j, b in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and b == one[i - 2]:
                cost = min(cost, above[j - 2] + 1)
            row.append(cost)
    return row[-1]
