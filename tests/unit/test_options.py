"""What is typed on the command line."""

from __future__ import annotations

import dataclasses

import pytest
from harness import to_arguments

from litmus.algorithms import ALGORITHMS
from litmus.cli import build_parser
from litmus.errors import BadInput, suggest
from litmus.options import parse_whole

NAMES = sorted(ALGORITHMS)


def parse(*arguments: str) -> dict[str, object]:
    return vars(build_parser().parse_args(["train", "pssvf", *arguments]))


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_a_configuration_can_be_typed(name: str) -> None:
    config = ALGORITHMS[name].config(task="Swimmer-v5", workers=2)
    values = {f.name: getattr(config, f.name) for f in dataclasses.fields(config)}
    typed = vars(build_parser().parse_args(["train", name, *to_arguments(values)]))
    read = {name: typed[name] for name in values}
    read |= {k: tuple(v) for k, v in read.items() if isinstance(v, list)}
    assert read == values


def test_options_that_are_not_typed_stay_out_of_the_way_of_the_preset() -> None:
    assert "steps" not in parse("--task", "Swimmer-v5")


@pytest.mark.parametrize("text", ["3000000", "3_000_000", "3e6", "3,000,000", "3000000.0"])
def test_whole_numbers_can_be_written_in_several_ways(text: str) -> None:
    assert parse_whole("steps", text) == 3_000_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--steps", "many"], "--steps takes a number, not 'many'"),
        (["--steps", "1.5"], "--steps takes a whole number, not '1.5'"),
        (["--steps", "nan"], "--steps takes a finite number"),
        (["--steps", "inf"], "--steps takes a finite number"),
        (["--hidden", "8", "x"], "--hidden takes a number, not 'x'"),
        (["--noise", "loud"], "--noise takes a number, not 'loud'"),
        (["--noise"], "--noise"),
        (["--device", "cud"], "unknown --device 'cud'; did you mean 'cuda'?"),
        (["--activation", "sigmoid"], "choose from relu, tanh"),
        (["--stepps", "5"], "unknown option '--stepps'; did you mean '--steps'?"),
        (["--stepps=5"], "unknown option '--stepps'; did you mean '--steps'?"),
        (["--step", "5"], "did you mean '--steps'?"),
        (["--no-overlapp"], "did you mean '--no-overlap'?"),
        (["extra"], "unknown argument 'extra'"),
    ],
)
def test_mistakes_are_named_with_the_nearest_valid_choice(arguments: list[str], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse("--task", "Swimmer-v5", *arguments)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_hidden_layer_can_be_asked_for() -> None:
    assert parse("--hidden", "--seed", "3")["hidden"] == []


@pytest.mark.parametrize(
    ("word", "choices", "expected"),
    [
        ("papr", ["paper", "small"], "; did you mean 'paper'?"),
        ("SWIMMER-V5", ["Swimmer-v5"], "; did you mean 'Swimmer-v5'?"),
        ("zzzz", ["b", "a"], "; choose from a, b"),
        ("zzzz", [f"abc{i}" for i in range(50)], ""),
    ],
)
def test_a_suggestion_is_the_nearest_choice_or_a_short_list(
    word: str, choices: list[str], expected: str
) -> None:
    assert suggest(word, choices) == expected
