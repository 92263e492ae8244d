"""`litmus report`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from litmus.cli.command import Command
from litmus.options import OneLineParser
from litmus.streams import stdout_for_results


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("paths", metavar="RUN", nargs="+", help="run directories")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="file to write [report.html in the run directory, or beside several]",
    )
    parser.add_argument(
        "--figures", metavar="DIR", help="also write each figure there, as PNG and SVG"
    )
    parser.add_argument(
        "--judge",
        metavar="EVALUATOR",
        help="what 'litmus fit' wrote: show its card, and how it scores the runs' policies",
    )


def run(options: argparse.Namespace) -> None:
    from litmus.reports.extra import require_packages

    require_packages("PIL", *(["matplotlib"] if options.figures else []))
    from litmus.analysis.records import read_showable

    read_showable(options.paths)  # a wrong path is told before torch is imported
    from litmus.reports.report import build_report, check_folder, check_out, choose_out

    out = options.out or choose_out(options.paths)
    check_out(out)
    if options.figures:
        check_folder(options.figures)
    with stdout_for_results():
        report = build_report(options.paths, judge=options.judge)
    print(f"report   {report.write(out)}")
    if options.figures:
        written = report.write_figures(options.figures)
        print(f"figures  {options.figures} ({len(written)} files)")


REPORT = Command(
    "report",
    "write one HTML page about runs: curves, probing states, what the evaluator knows",
    add_arguments,
    run,
)
