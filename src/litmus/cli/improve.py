"""`litmus improve`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from litmus.cli.command import Command
from litmus.cli.judging_options import (
    EVALUATOR_HELP,
    POLICY_HELP,
    add_reading,
    add_task,
    collect,
    read_reading,
    read_task,
    show_estimate,
)
from litmus.errors import RunFailed
from litmus.judging.settings import ImproveSettings
from litmus.option_list import list_options
from litmus.options import OneLineParser, add_options, add_whole
from litmus.streams import stdout_for_results


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("evaluator", metavar="EVALUATOR", help=EVALUATOR_HELP)
    parser.add_argument("file", metavar="POLICY", help=POLICY_HELP)
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="policy to write, ending in .safetensors"
    )
    add_whole(parser, "verify", "measure it before and after in so many episodes [0]", default=0)
    add_whole(parser, "seed", "of these episodes [0]", default=0)
    add_task(parser, "where the evaluator does not know it")
    add_reading(parser)
    add_options(parser, list_options(ImproveSettings, {}, {}), {})


def run(options: argparse.Namespace) -> None:
    from litmus.judging.improve import improve

    with stdout_for_results():
        done = improve(
            options.evaluator,
            options.file,
            out=options.out,
            verify=options.verify,
            seed=options.seed,
            task=read_task(options),
            reading=read_reading(options),
            **collect(options, ImproveSettings),
        )
    print(f"predicted {done.unit}, before  {show_estimate(done.estimate, 0)}")
    print(f"predicted {done.unit}, after   {show_estimate(done.estimate, 1)}")
    print(f"kept the policy of step {done.steps}; the climb ended: {done.why_ended}")
    gain = done.verified_gain
    if gain is not None:
        before, after = (sum(one) / len(one) for one in (done.before, done.after))
        print(f"measured {done.unit}    {before:.1f} before, {after:.1f} after ({gain:+.1f})")
    if not done.is_better:
        how = "as V predicts" if gain is None else "as measured"
        raise RunFailed(f"the policy did not get better, {how}: nothing was written")
    print(f"policy     {options.out}")


IMPROVE = Command("improve", "make a policy better by following an evaluator", add_arguments, run)
