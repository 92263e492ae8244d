"""`litmus fit`."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from litmus.cli.command import Command
from litmus.cli.judging_options import collect
from litmus.judging.settings import FitSettings
from litmus.option_list import list_options
from litmus.options import OneLineParser, add_options
from litmus.streams import stdout_for_results


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    parser.add_argument("paths", metavar="ZOO|RUN", nargs="+", help="zoos and run directories")
    parser.add_argument(
        "--out", metavar="FILE", required=True, help="evaluator to write, ending in .safetensors"
    )
    parser.add_argument(
        "--device",
        choices=("auto", "cpu", "cuda"),
        default="auto",
        metavar="auto|cpu|cuda",
        help="where it learns [auto]",
    )
    add_options(parser, list_options(FitSettings, {}, {}), {})


def run(options: argparse.Namespace) -> None:
    from litmus.judging.card import find_doubts, show_card
    from litmus.judging.fit import fit

    with stdout_for_results():
        evaluator = fit(
            options.paths,
            out=options.out,
            device=options.device,
            **collect(options, FitSettings),
        )
    card = evaluator.card
    print(
        f"learned from {card['policies']:,} policies of {len(card['lineages'])} lineages, "
        f"asked in {len(evaluator.probing_states)} states"
    )
    print("\n".join([*show_card(card), *find_doubts(card)]))
    print(f"evaluator  {options.out}")


FIT = Command("fit", "fit an evaluator to all policies of zoos and runs", add_arguments, run)
