"""What the commands that judge policies share: how files are read, how estimates are printed."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

from litmus.option_list import list_options
from litmus.options import PARSERS, OneLineParser, parse_object
from litmus.policies.rows import ForeignActivation, Output

if TYPE_CHECKING:
    from litmus.evaluators.base import Estimate
    from litmus.policies.foreign import Reading
    from litmus.runs.measured import TaskChoice

EVALUATOR_HELP = "what 'litmus fit' wrote, or a run directory"
POLICY_HELP = "policy file of litmus, Stable-Baselines3 or torch, or a run directory"


def add_reading(parser: OneLineParser) -> None:
    """What a file of tensors alone does not say."""
    parser.add_argument(
        "--activation",
        choices=get_args(ForeignActivation),
        metavar="NAME",
        help="of hidden layers, for files of tensors alone: tanh, relu, elu, leaky-relu or silu",
    )
    parser.add_argument(
        "--output",
        choices=get_args(Output),
        metavar="NAME",
        help="what becomes of their outputs: tanh, clip, softmax or argmax",
    )
    parser.add_argument(
        "--prefix", default="", metavar="TEXT", help="that names of the tensors begin with"
    )
    parser.add_argument(
        "--normalizer",
        metavar="FILE",
        help="JSON or npz with mean, and std or var, of observations",
    )


def add_number(parser: OneLineParser, name: str, text: str, default: float | None = None) -> None:
    parser.add_argument(
        f"--{name.replace('_', '-')}",
        type=partial(PARSERS[float], name),
        default=default,
        metavar="X",
        help=text,
    )


def read_reading(options: argparse.Namespace) -> Reading:
    from litmus.policies.foreign import Reading

    return Reading(options.activation, options.output, options.prefix, options.normalizer)


def add_task(parser: OneLineParser, text: str) -> None:
    parser.add_argument("--task", metavar="ID", help=text)
    parser.add_argument(
        "--env-kwargs",
        type=partial(parse_object, "env_kwargs"),
        metavar="JSON",
        help="options of the task, as a JSON object",
    )


def read_task(options: argparse.Namespace) -> TaskChoice | None:
    from litmus.errors import BadInput, option
    from litmus.runs.measured import TaskChoice

    if options.task is None:
        if options.env_kwargs is not None:
            raise BadInput(f"{option('env_kwargs')} needs the {option('task')} that they are for")
        return None
    return TaskChoice(options.task, options.env_kwargs or {})


def collect(options: argparse.Namespace, settings: type) -> dict[str, Any]:
    """The options of a dataclass that the user typed."""
    names = list_options(settings, {}, {})
    return {name: getattr(options, name) for name in names if hasattr(options, name)}


def describe_estimate(estimate: Estimate, place: int) -> dict[str, float | None]:
    """One policy of an estimate, as JSON."""
    return {
        name: None if values is None else float(values[place])
        for name, values in (
            ("value", estimate.mean),
            ("low", estimate.low),
            ("high", estimate.high),
            ("familiarity", estimate.familiarity),
        )
    }


def show_estimate(estimate: Estimate, place: int) -> str:
    found = describe_estimate(estimate, place)
    if found["low"] is None:
        return f"{found['value']:8.1f}"
    return (
        f"{found['value']:8.1f}  {found['low']:8.1f} to {found['high']:8.1f}  "
        f"{found['familiarity']:6.2f}"
    )
