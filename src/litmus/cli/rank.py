"""`litmus rank`."""

from __future__ import annotations

import argparse
import json
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
)
from litmus.counts import say_count
from litmus.options import OneLineParser, add_whole
from litmus.streams import stdout_for_results


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("evaluator", metavar="EVALUATOR", help=EVALUATOR_HELP)
    parser.add_argument("files", metavar="POLICY", nargs="+", help=POLICY_HELP)
    add_whole(parser, "budget", "real episodes to spend at most [0]", default=0)
    add_whole(parser, "seed", "of these episodes [0]", default=0)
    add_task(parser, "where the evaluator does not know it")
    parser.add_argument("--json", action="store_true", help="print one JSON object per policy")
    add_reading(parser)


def run(options: argparse.Namespace) -> None:
    from litmus.judging.rank import rank

    with stdout_for_results():
        found = rank(
            options.evaluator,
            options.files,
            budget=options.budget,
            seed=options.seed,
            task=read_task(options),
            reading=read_reading(options),
        )
    for position, place in enumerate(found.order, start=1):
        path, count = options.files[place], len(found.returns[place])
        mean, spread = float(found.means[place]), float(found.spreads[place])
        if options.json:
            described = {"mean": mean, "std": spread, "returns": list(found.returns[place])}
            described["predicts"] = found.predicts
            if position == 1:
                described["probability_best"] = found.probability
            said = describe_estimate(found.estimate, place)
            print(json.dumps({"rank": position, "path": str(path), **described, "predicted": said}))
        else:
            episodes = say_count(count, "episode")
            print(f"{position:4}  {mean:9.1f} ± {spread:.1f}  {episodes:>12}  {path}")
    if not options.json:
        print(
            f"the first is the best with a probability of {found.probability:.2f} "
            f"({say_count(found.episodes, 'episode')})"
        )


RANK = Command("rank", "find the best of many policies in few episodes", add_arguments, run)
