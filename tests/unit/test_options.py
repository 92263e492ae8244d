"""What is typed on the command line."""

from __future__ import annotations

import gymnasium
import pytest
from harness import to_arguments

from litmus.algorithms import ALGORITHMS, find_options, read_config
from litmus.cli import build_parser
from litmus.errors import BadInput, spell_option, suggest
from litmus.options import parse_whole

NAMES = sorted(ALGORITHMS)
OPTIONS = [*map(spell_option, find_options("pssvf", {})), "--help", "--out", "--preset"]


def parse(*arguments: str) -> dict[str, object]:
    words = ["train", "pssvf", *arguments]
    return vars(build_parser(words).parse_args(words))


@pytest.mark.parametrize("name", NAMES)
def test_every_field_of_a_configuration_can_be_typed(name: str) -> None:
    values = {"task": "Swimmer-v5", "workers": 2, "env_kwargs": {"reset_noise_scale": 0.2}}
    values |= {"max_episode_steps": 90, "ray_address": "127.0.0.1:6379", "data": "images"}
    values = read_config(name, values).to_dict()
    assert values.pop("algorithm") == name
    words = ["train", name, *to_arguments(values)]
    typed = vars(build_parser(words).parse_args(words))
    assert {name: typed[name] for name in values} == values


def test_options_of_what_is_chosen_can_be_typed() -> None:
    typed = parse("--task", "Swimmer-v5", "--architecture=toys:ConvArchitecture", "--channels", "3")
    assert typed["channels"] == 3
    with pytest.raises(BadInput, match="unknown option '--hidden'"):
        parse("--task", "Swimmer-v5", "--architecture", "toys:ConvArchitecture", "--hidden", "3")


def test_options_of_what_a_preset_chooses_can_be_typed() -> None:
    assert parse("--task", "mnist", "--preset", "quick", "--channels", "3")["channels"] == [3]


def test_options_of_what_a_configuration_file_chooses_can_be_typed(tmp_path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"task": "Swimmer-v5", "architecture": "toys:ConvArchitecture"}')
    assert parse("--config", str(file), "--channels", "3")["channels"] == 3


@pytest.mark.parametrize("text", ["{", "[1]", "3", "nothing"])
def test_environment_options_are_a_json_object(text: str) -> None:
    def read() -> object:
        typed = parse("--task", "Swimmer-v5", "--env-kwargs", text)
        return read_config("pssvf", {"task": "Swimmer-v5", "env_kwargs": typed["env_kwargs"]})

    with pytest.raises(BadInput, match=r"takes (a JSON object|names with values)") as caught:
        read()
    assert caught.value.for_shell.startswith("--env-kwargs takes")


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
    assert words in caught.value.for_shell
    assert "\n" not in caught.value.for_shell


def test_no_hidden_layer_can_be_asked_for() -> None:
    assert parse("--hidden", "--seed", "3")["hidden"] == []


@pytest.mark.parametrize(
    ("word", "choices", "expected"),
    [
        ("papr", ["paper", "small"], "; did you mean 'paper'?"),
        ("SWIMMER-V5", ["Swimmer-v5"], "; did you mean 'Swimmer-v5'?"),
        ("Swimmer", ["Swimmer-v4", "Swimmer-v5", "Hopper-v5"], "; did you mean 'Swimmer-v5'?"),
        ("swimer", ["Swimmer-v4", "Swimmer-v5", "Hopper-v5"], "; did you mean 'Swimmer-v5'?"),
        ("Hopper-v9", ["Hopper-v4", "Hopper-v5"], "; did you mean 'Hopper-v5'?"),
        ("mpl", ["mlp"], "; did you mean 'mlp'?"),
        ("--probing", ["--probing-states", "--seed"], "; did you mean '--probing-states'?"),
        ("batch_sise", ["batch_size"], "; did you mean 'batch_size'?"),
        ("zzzz", ["b", "a"], "; choose from a, b"),
        ("zzzz", [f"abc{i}" for i in range(50)], ""),
        ("", ["a", "b"], "; choose from a, b"),
    ],
)
def test_a_suggestion_is_the_nearest_choice_or_a_short_list(
    word: str, choices: list[str], expected: str
) -> None:
    assert suggest(word, choices) == expected


@pytest.mark.parametrize(
    "word",
    [
        *("Breakout-v5", "MyTask", "Pong", "cheetah-run", "dm_control", "Atari", "chess", "env"),
        *("--learning-rate", "--gamma", "--lr", "--gpu", "--epochs", "--batch", "--name", "--log"),
    ],
)
def test_an_unrelated_word_is_not_taken_for_a_choice(word: str) -> None:
    names = list(gymnasium.registry) if not word.startswith("--") else OPTIONS
    offered = suggest(word, names)
    near = ("; did you mean '--batch-size'?", "; did you mean '--batches'?")
    assert offered in ("", *near), offered
