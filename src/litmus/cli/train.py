"""`litmus train`: an algorithm, and the options that it and what it is given have."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from litmus.algorithms import ALGORITHMS, CHOICES, find_config_type, find_options
from litmus.cli.command import Command, make_sentence
from litmus.cli.results import offering_resume, print_result
from litmus.errors import BadInput, spell_option
from litmus.files import read_json
from litmus.options import OneLineParser, add_options
from litmus.presets import Values, preset_values
from litmus.streams import stdout_for_results


def add_arguments(parser: OneLineParser, words: Sequence[str]) -> None:
    algorithms = parser.add_subparsers(metavar="ALGORITHM", required=True, dest="algorithm")
    chosen = words[1] if words[:1] == ["train"] and len(words) > 1 else ""
    own = [chosen] if ":" in chosen else []
    for name in (*ALGORITHMS, *own):
        entry = ALGORITHMS.find(name)
        one = algorithms.add_parser(
            name,
            help=entry.summary,
            description=make_sentence(entry.summary),
            usage=f"litmus train {name} --task ID [options]",  # all of them would fill the screen
        )
        if name == chosen:
            _add_options(one, name, words)
        one.set_defaults(_parser=one)


def _add_options(parser: OneLineParser, algorithm: str, words: Sequence[str]) -> None:
    parser.add_argument(
        "--preset",
        metavar="NAME",
        default="default",
        help="named configuration [default]; see 'litmus list presets'",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="configuration file, such as a run's config.json; options given here take precedence",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="run directory; it must not exist yet [runs/TASK-ALGORITHM-seedN]",
    )
    parser.add_argument(
        "--resume-if-exists",
        action="store_true",
        help="go on with a run that is in the run directory already; if it is finished, do nothing",
    )
    parser.registries = CHOICES
    preset, chosen = _find_choices(algorithm, words)
    known = find_options(algorithm, chosen)
    preset = {
        name: value for name, value in preset.items() if name in known and known[name].is_ours
    }
    useless = find_config_type(algorithm).list_useless(chosen)
    add_options(parser, known, {**ALGORITHMS.find(algorithm).defaults, **preset, **chosen}, useless)


def _find_choices(algorithm: str, words: Sequence[str]) -> tuple[Values, Values]:
    """The values of the preset, and what is chosen by name: on the command line, in a configuration
    file or by the preset."""
    names = OneLineParser(add_help=False, exit_on_error=False)
    for choice in ("config", "preset", "task", *CHOICES):
        names.add_argument(spell_option(choice))
    try:
        given = vars(names.parse_known_args(words)[0])
    except argparse.ArgumentError as error:  # an option without its value
        raise BadInput(str(error)) from error
    path = given.pop("config")
    from_file = {} if path is None else read_json(Path(path))
    task = given["task"] or from_file.get("task")
    named = {name: given[name] or from_file.get(name) for name in CHOICES}
    named = {name: value for name, value in named.items() if value is not None}
    preset = preset_values(given["preset"] or "default", algorithm, str(task), named)
    chosen = {name: named.get(name, preset.get(name)) for name in CHOICES}
    return preset, {name: value for name, value in chosen.items() if value is not None}


def run(options: argparse.Namespace) -> None:
    from litmus.training.api import default_out, make_config, train

    given = dict(vars(options))
    for name in ("run", "_parser", "command"):
        del given[name]
    algorithm, preset = given.pop("algorithm"), given.pop("preset")
    config_file, out = given.pop("config"), given.pop("out")
    goes_on = given.pop("resume_if_exists")
    if out is None:
        out = default_out(make_config(algorithm, given, preset, config_file))
    with offering_resume(Path(out)), stdout_for_results():
        trained = train(
            algorithm, out=out, preset=preset, config=config_file, resume_if_exists=goes_on, **given
        )
    print_result(trained)


TRAIN = Command("train", "train a policy and its evaluator", add_arguments, run)
