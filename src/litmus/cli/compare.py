"""`litmus compare`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence

from litmus.cli.command import Command
from litmus.cli.judging_options import (
    EVALUATOR_HELP,
    POLICY_HELP,
    add_number,
    add_reading,
    add_task,
    describe_estimate,
    read_reading,
    read_task,
    show_estimate,
)
from litmus.counts import say_count
from litmus.errors import RunFailed
from litmus.options import OneLineParser, add_whole
from litmus.streams import stdout_for_results


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("evaluator", metavar="EVALUATOR", help=EVALUATOR_HELP)
    parser.add_argument("first", metavar="A", help=POLICY_HELP)
    parser.add_argument("second", metavar="B", help="the policy to compare with it")
    add_whole(parser, "budget", "real episodes to spend at most [0]", default=0)
    add_number(parser, "error_rate", "chance of a wrong verdict [0.05]", 0.05)
    parser.add_argument(
        "--fail-if-worse", action="store_true", help="exit with 1 where B is worse than A"
    )
    add_whole(parser, "seed", "of these episodes [0]", default=0)
    add_task(parser, "where the evaluator does not know it")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    from litmus.judging.compare import compare

    with stdout_for_results():
        found = compare(
            options.evaluator,
            options.first,
            options.second,
            budget=options.budget,
            error_rate=options.error_rate,
            seed=options.seed,
            task=read_task(options),
            reading=read_reading(options),
        )
    verdict = {"first": "A is better", "second": "B is better"}.get(found.verdict, "undecided")
    if options.json:
        described = {
            "predicts": found.predicts,
            "verdict": {"first": "A", "second": "B"}.get(found.verdict, "undecided"),
            "probability_a_better": found.opinion,
            "error_rate": found.error_rate,
            "episodes": found.episodes,
            "differences": list(found.differences),
            "a": describe_estimate(found.estimate, 0),
            "b": describe_estimate(found.estimate, 1),
        }
        print(json.dumps(described))
    else:
        for place, path in enumerate((options.first, options.second)):
            print(f"{'AB'[place]}  {show_estimate(found.estimate, place)}  {path}")
        measured = f"measured in {say_count(found.episodes, 'episode')}"
        how = measured if found.episodes else "as V predicts"
        if found.mean_difference is not None:
            how += f", A earns {found.mean_difference:+.1f} compared with B"
        elif found.opinion is not None:
            how += f": A is better with a probability of {found.opinion:.2f}"
        print(f"{verdict} ({how})")
    if options.fail_if_worse and found.verdict == "first":
        raise RunFailed(f"{options.second} is worse than {options.first}")


COMPARE = Command(
    "compare", "tell which of two policies is better, and how sure", add_arguments, run
)
