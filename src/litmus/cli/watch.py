"""`litmus watch`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from litmus.cli.command import INTERRUPTED, Command
from litmus.errors import BadInput, option
from litmus.options import OneLineParser, parse_whole


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("paths", metavar="RUN", nargs="+", help="run directories")
    parser.add_argument(
        "--port",
        type=_parse_port,
        default=8008,
        metavar="N",
        help="port; 0 finds a free one [8008]",
    )


def _parse_port(text: str) -> int:
    port = parse_whole("port", text)
    if not 0 <= port <= 65535:
        raise BadInput(f"{option('port')} must be between 0 and 65535, not {port}")
    return port


def run(options: argparse.Namespace) -> None:
    from litmus.reports.extra import require_packages

    require_packages("PIL")
    from litmus.analysis.records import read_showable

    read_showable(options.paths)  # a wrong path is told before torch is imported
    from litmus.reports.watch import start_watching

    server = start_watching(options.paths, options.port)
    print(f"watching at {server.address} (Ctrl-C ends)", flush=True)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        server.close()
        sys.stdout.flush()
        sys.stderr.flush()
        # All is done. Native threads now and then abort an interpreter that takes itself apart.
        os._exit(INTERRUPTED)


WATCH = Command(
    "watch", "serve the report page on this machine while the runs go on", add_arguments, run
)
