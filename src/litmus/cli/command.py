"""What a command is: its name, one line about it, its arguments, and what it does."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from litmus.options import OneLineParser

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes."""


@dataclass(frozen=True)
class Command:
    name: str
    summary: str
    add_arguments: Callable[[OneLineParser, Sequence[str]], None]
    """To its parser. It is also given all that the user typed, since what is chosen by name there
    brings options of its own."""
    run: Callable[[argparse.Namespace], None]

    def add_to(self, commands: Any, words: Sequence[str]) -> None:
        parser = commands.add_parser(
            self.name, help=self.summary, description=make_sentence(self.summary)
        )
        parser.set_defaults(run=self.run, _parser=parser)
        self.add_arguments(parser, words)


def make_sentence(summary: str) -> str:
    return summary[:1].upper() + summary[1:] + "."
