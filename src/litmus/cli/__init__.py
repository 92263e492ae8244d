"""The command `litmus`: what is typed is parsed here, and each command has a file of its own.

Torch is imported only by the commands that need it, when they run.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import logging
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from litmus.cli.command import BAD_INPUT, DONE, FAILED, INTERRUPTED
from litmus.cli.compare import COMPARE
from litmus.cli.evaluate import EVALUATE
from litmus.cli.experiment import EXPERIMENT
from litmus.cli.fit import FIT
from litmus.cli.improve import IMPROVE
from litmus.cli.listing import LIST
from litmus.cli.rank import RANK
from litmus.cli.report import REPORT
from litmus.cli.resume import RESUME
from litmus.cli.score import SCORE
from litmus.cli.train import TRAIN
from litmus.cli.watch import WATCH
from litmus.cli.zoo import ZOO
from litmus.errors import BadInput, RunFailed
from litmus.options import OneLineParser

COMMANDS = (
    *(TRAIN, RESUME, EVALUATE, EXPERIMENT, REPORT, WATCH),
    *(ZOO, FIT, SCORE, IMPROVE, COMPARE, RANK, LIST),
)
MOST_TEXT = 1000

DESCRIPTION = """\
litmus learns to tell how good any policy network is from what it does in a few
learned states, and uses that judgement to make policies better."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    if isinstance(sys.stdout, io.TextIOWrapper):  # θ and ± on a terminal that lacks them
        sys.stdout.reconfigure(errors="replace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    with contextlib.suppress(FileNotFoundError):  # where the working directory is gone
        if os.getcwd() not in sys.path:  # noqa: PTH109 - `--task my_module:MyTask` of a file here
            sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        options = build_parser(words).parse_args(words)
        run: Callable[[Any], None] = options.run
        run(options)
        sys.stdout.flush()  # here, where a closed pipe is no error
    except BadInput as error:
        print(f"litmus: {_in_one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    except RunFailed as error:
        if error.traceback:  # of the user's own code
            print(error.traceback, file=sys.stderr)
        print(f"litmus: {_in_one_line(error)}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `litmus list tasks | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return DONE


def build_parser(words: Sequence[str] = ()) -> OneLineParser:
    """`words` are what the user typed: what they choose by name brings options of its own."""
    parser = OneLineParser("litmus", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=_read_version())
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    for command in COMMANDS:
        command.add_to(commands, words)
    return parser


def _in_one_line(error: BadInput | RunFailed) -> str:
    """Whatever the user typed is repeated in it: line breaks and pages of text, too."""
    text = " ".join(error.for_shell.split())
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} …"


def _read_version() -> str:
    try:
        return f"litmus {importlib.metadata.version('litmus-rl')}"
    except importlib.metadata.PackageNotFoundError:
        return "litmus (not installed)"
