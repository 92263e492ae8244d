"""`litmus score`."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence

from litmus.cli.command import Command
from litmus.cli.judging_options import (
    EVALUATOR_HELP,
    POLICY_HELP,
    add_reading,
    add_task,
    describe_estimate,
    read_reading,
    read_task,
    show_estimate,
)
from litmus.options import OneLineParser
from litmus.streams import stdout_for_results


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("evaluator", metavar="EVALUATOR", help=EVALUATOR_HELP)
    parser.add_argument("files", metavar="POLICY", nargs="+", help=POLICY_HELP)
    add_task(parser, "where the evaluator does not know it")
    parser.add_argument("--json", action="store_true", help="print one JSON object per policy")
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    from litmus.judging.subjects import find_judge, find_policies

    with stdout_for_results():
        judge = find_judge(options.evaluator, read_task(options))
        policies = find_policies(options.files, judge, read_reading(options))
        started = time.perf_counter()
        estimate = judge.evaluator.predict(policies)
    milliseconds = 1000 * (time.perf_counter() - started) / len(policies)
    if options.json:
        for place, path in enumerate(options.files):
            found = describe_estimate(estimate, place)
            about = {"predicts": judge.predicts, "milliseconds": milliseconds}
            print(json.dumps({"path": str(path), **found, **about}))
        return
    has_intervals = estimate.low is not None
    heading = "   90% interval        familiarity" if has_intervals else ""
    print(f"predicted {judge.unit}{heading}")
    for place, path in enumerate(options.files):
        print(f"{show_estimate(estimate, place)}  {path}")
    print(f"{milliseconds:.2g} ms per policy")


SCORE = Command("score", "tell what policies are worth, without an episode", add_arguments, run)
