"""Configurations are strict: what is not understood is an error, never ignored."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litmus.algorithms import ALGORITHMS, find_options, read_config
from litmus.errors import BadInput
from litmus.options import field_docstrings
from litmus.training.api import make_config

NAMES = sorted(ALGORITHMS)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


@pytest.mark.parametrize("name", NAMES)
def test_a_configuration_survives_json(name: str) -> None:
    config = make_config(name, {"task": "Swimmer-v5", "hidden": (3, 4), "seed": 7}, "paper")
    values = json.loads(json.dumps(config.to_dict(), allow_nan=False))
    assert values.pop("algorithm") == name
    assert read_config(name, values) == config


@given(
    name=st.sampled_from([name for name in find_options("pssvf", {}) if name != "algorithm"]),
    value=json_values,
)
def test_any_value_is_either_taken_and_kept_or_bad_input(name: str, value: object) -> None:
    try:
        config = read_config("pssvf", {"task": "Swimmer-v5", name: value})
    except BadInput:
        return
    values = json.loads(json.dumps(config.to_dict(), allow_nan=False))
    assert read_config(values.pop("algorithm"), values) == config


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"stepz": 3}, "did you mean 'steps'"),
        ({"probing_statez": 3}, "did you mean 'probing_states'"),
        ({"steps": -1}, "--steps must be at least 1, not -1"),
        ({"steps": 0}, "--steps must be at least 1"),
        ({"steps": 1.5}, "--steps takes a whole number"),
        ({"steps": "many"}, "--steps takes a whole number"),
        ({"steps": True}, "--steps takes a whole number"),
        ({"seed": -1}, "--seed must be at least 0"),
        ({"seed": 2**32}, "--seed must be at most 4294967295"),
        ({"noise": 0}, "--noise must be above 0"),
        ({"noise": float("nan")}, "--noise must be a finite number"),
        ({"noise": 10**400}, "--noise must be a finite number"),
        ({"policy_lr": float("inf")}, "--policy-lr must be a finite number"),
        ({"hidden": [8, 0]}, "--hidden must be at least 1"),
        ({"hidden": 8}, "--hidden takes whole numbers"),
        ({"device": "gpu"}, "--device cannot be 'gpu'"),
        ({"overlap": "yes"}, "--overlap takes true or false"),
        ({"recency": -0.1}, "--recency must be at least 0"),
        ({"round_size": 0}, "--round-size must be at least 1"),
        ({"workers": -1}, "--workers must be at least 0"),
        ({"probing_low": 2.0, "probing_high": 1.0}, "--probing-high"),
    ],
)
def test_bad_values_are_named_with_what_is_allowed(values: dict[str, object], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        read_config("pssvf", {"task": "Swimmer-v5", **values})
    assert words in caught.value.for_shell


def test_an_option_of_another_evaluator_or_architecture_is_an_error() -> None:
    with pytest.raises(BadInput, match="unknown option 'probing_states' for vanilla-pssvf"):
        make_config("vanilla-pssvf", {"task": "Swimmer-v5", "probing_states": 3})
    values = {"task": "Swimmer-v5", "architecture": "toys:ConvArchitecture", "hidden": (3,)}
    with pytest.raises(BadInput, match="unknown option 'hidden'"):
        make_config("pssvf", values)


def test_what_is_chosen_by_name_brings_its_own_options() -> None:
    values = {"task": "Swimmer-v5", "architecture": "toys:ConvArchitecture", "channels": 5}
    config = make_config("pssvf", values)
    assert config.architecture_options == {"channels": 5}
    assert config.to_dict()["channels"] == 5
    with pytest.raises(BadInput, match="channels must be at least 1, not 0"):
        make_config("pssvf", {**values, "channels": 0})


def test_an_option_whose_name_is_taken_is_an_error() -> None:
    values = {"task": "Swimmer-v5", "architecture": "toys:NoisyArchitecture"}
    with pytest.raises(BadInput, match="NoisyArchitecture both have an option 'noise'"):
        make_config("pssvf", values)


@pytest.mark.parametrize(
    ("choice", "name", "words"),
    [
        ("architecture", "mpl", "unknown architecture 'mpl'; did you mean 'mlp'?"),
        ("architecture", "nowhere:Net", "the module 'nowhere' is not installed"),
        ("architecture", "toys:ConvArchitectur", "did you mean 'ConvArchitecture'?"),
        ("architecture", "toys:", "has no ''"),
        ("evaluator", "flut", "did you mean 'flat'?"),
        ("evaluator", 3, "--evaluator takes a name, not '3'"),
    ],
)
def test_a_name_that_stands_for_nothing_is_bad_input(choice: str, name: object, words: str) -> None:
    with pytest.raises(BadInput) as caught:
        make_config("pssvf", {"task": "Swimmer-v5", choice: name})
    assert words in caught.value.for_shell
    assert "\n" not in str(caught.value)


def test_options_go_before_the_file_and_the_file_before_the_preset(tmp_path) -> None:
    file = tmp_path / "config.json"
    file.write_text('{"algorithm": "pssvf", "noise": 0.5, "seed": 5, "task": "Hopper-v5"}')
    config = make_config("pssvf", {"seed": 6}, "small", file)
    assert (config.task, config.seed, config.noise) == ("Hopper-v5", 6, 0.5)
    assert config.architecture_options["hidden"] == (64, 64)  # of the preset
    assert config.batch_size == 16  # the field's own default


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"algorithm": "vanilla-pssvf", "task": "Hopper-v5"}', "is for vanilla-pssvf, not pssvf"),
        ('{"task": "Hopper-v5", "sed": 1}', "did you mean 'seed'"),
        ('{"task": "Hopper-v5",', "is not JSON"),
        ("[1]", "does not hold a JSON object"),
        ("{}", "no task given"),
        ('{"task": 5}', "--task takes text"),
    ],
)
def test_a_configuration_file_is_read_strictly(text: str, words: str, tmp_path) -> None:
    file = tmp_path / "config.json"
    file.write_text(text)
    with pytest.raises(BadInput) as caught:
        make_config("pssvf", {}, config_file=file)
    assert words in caught.value.for_shell


def test_what_a_file_says_of_another_evaluator_is_left_out(tmp_path) -> None:
    file = tmp_path / "config.json"
    config = make_config("pssvf", {"task": "Hopper-v5", "remembered_policies": 99, "noise": 0.3})
    file.write_text(json.dumps(config.to_dict()))
    made = make_config("pssvf", {"evaluator": "fingerprint"}, config_file=file).to_dict()
    assert (made["evaluator"], made["noise"]) == ("fingerprint", 0.3)
    assert "remembered_policies" not in made
    more = {"evaluator": "fingerprint", "remembered_policies": 9}
    with pytest.raises(BadInput, match="remembered_policies"):  # one's own words are not
        make_config("pssvf", more, config_file=file)


def test_a_file_that_is_not_text_or_not_there_is_bad_input(tmp_path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    for path in (tmp_path / "binary", tmp_path / "nothing", tmp_path):
        with pytest.raises(BadInput):
            make_config("pssvf", {}, config_file=path)


@pytest.mark.parametrize("algorithm", NAMES)
def test_every_option_has_a_help_text(algorithm: str) -> None:
    for name, option in find_options(algorithm, {}).items():
        assert field_docstrings(option.owner)[name].strip().endswith("."), name


def test_what_is_solved_for_needs_no_gpu() -> None:
    task = {"task": "Swimmer-v5"}
    assert make_config("pssvf", task).wanted_device == "cpu"
    assert make_config("pssvf", {**task, "device": "cuda"}).wanted_device == "cuda"
    assert make_config("pssvf", task, "network").wanted_device == "auto"
