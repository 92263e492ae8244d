"""The history of a run: every round, verified when it is read."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from harness import flip

from litmus.errors import BadInput
from litmus.files import checksum_line
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Outcome, Round
from litmus.runs.journal import Journal


def make_round(number: int) -> Round:
    generator = np.random.default_rng(number)
    return Round(
        number,
        generator.normal(size=5).astype(np.float32),
        Normalizer(generator.normal(size=2), generator.random(2)),
        0.05,
        number * 2,
        [Outcome(1.5 * number, 0.1 + number, 7), Outcome(None, None, 3)],
    )


def write(directory: Path, count: int) -> Journal:
    history = Journal(directory, num_params=5, state_size=2)
    for number in range(count):
        history.append(make_round(number))
    history.sync()
    return history


def assert_rounds(found: list[Round], count: int) -> None:
    assert len(found) == count
    for number, round_ in enumerate(found):
        expected = make_round(number)
        assert np.array_equal(round_.flat_params, expected.flat_params)
        assert np.array_equal(round_.normalizer.mean, expected.normalizer.mean)
        assert np.array_equal(round_.normalizer.std, expected.normalizer.std)
        assert list(round_.episodes) == list(expected.episodes)
        assert (round_.number, round_.noise, round_.first_episode) == (number, 0.05, 2 * number)


def test_what_is_appended_is_read_back_exactly(tmp_path: Path) -> None:
    assert_rounds(write(tmp_path / "h", 4).read(), 4)


def test_the_first_rounds_can_be_read_alone(tmp_path: Path) -> None:
    assert_rounds(write(tmp_path / "h", 4).read(2), 2)


def test_an_empty_history_is_no_rounds(tmp_path: Path) -> None:
    assert Journal(tmp_path / "h", 5, 2).read(0) == []


def test_fewer_rounds_than_a_checkpoint_counts_on_is_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="4 of the 5"):
        write(tmp_path / "h", 4).read(5)


def test_a_half_written_last_round_is_left_out_and_cut_off(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 4)
    history.close()
    for path in (history.rows_path, history.lines_path):
        path.write_bytes(path.read_bytes()[:-9])
    assert_rounds(history.read(), 3)
    history.cut(3)
    history.append(make_round(3))
    assert_rounds(history.read(), 4)


def test_what_comes_after_a_checkpoint_is_cut_and_written_again(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 4)
    history.cut(1)
    assert_rounds(history.read(), 1)
    for number in (1, 2):
        history.append(make_round(number))
    assert_rounds(history.read(), 3)


def test_every_flipped_bit_of_the_policies_is_noticed(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    history.close()
    whole = history.rows_path.read_bytes()
    for position in range(len(whole)):
        history.rows_path.write_bytes(flip(whole, position))
        with pytest.raises(BadInput, match=f"round {position // history.row_bytes} .*damaged"):
            history.read()


def test_damage_after_the_rounds_that_count_does_no_harm(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    history.close()
    history.rows_path.write_bytes(flip(history.rows_path.read_bytes(), -1))
    assert_rounds(history.read(2), 2)


def test_a_line_without_its_checksum_is_bad_input(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    history.close()
    lines = history.lines_path.read_text().splitlines()
    lines[1] = lines[1].partition(', "line_crc32"')[0] + "}"
    history.lines_path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput, match="round 1"):
        history.read()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", "seven"),
        ("steps", [7, -3]),
        ("steps", [7]),
        ("returns", [True, None]),
        ("returns", {"0": 1.0}),
        ("noise", None),
        ("first_episode", 10**30),
        ("round", 1.0),
        ("crc32", "x"),
    ],
)
def test_values_of_a_wrong_kind_are_bad_input_though_the_checksum_matches(
    name: str, value: object, tmp_path: Path
) -> None:
    history = write(tmp_path / "h", 3)
    history.close()
    lines = history.lines_path.read_text().splitlines()
    line = json.loads(lines[1])
    del line["line_crc32"]
    line[name] = value
    lines[1] = json.dumps({**line, "line_crc32": checksum_line(line)})
    history.lines_path.write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput, match="round 1"):
        history.read()


@pytest.mark.parametrize("line", [b"not json", b"{}", b"[]", b'{"round": 1}', b"null", b"\xff\xfe"])
def test_a_line_that_is_not_a_round_is_bad_input(line: bytes, tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    history.close()
    lines = history.lines_path.read_bytes().split(b"\n")
    lines[1] = line
    history.lines_path.write_bytes(b"\n".join(lines))
    with pytest.raises(BadInput, match="round 1"):
        history.read()


def test_a_returns_digit_that_changed_is_noticed(tmp_path: Path) -> None:
    """Returns are what the evaluator learns from: they are as precious as the policies."""
    history = write(tmp_path / "h", 3)
    history.close()
    text = history.lines_path.read_text()
    assert "1.5" in text
    history.lines_path.write_text(text.replace("1.5", "7.5"))
    with pytest.raises(BadInput, match="round 1"):
        history.read()


def test_a_round_is_one_theta_however_many_episodes_it_has(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    assert history.rows_path.stat().st_size == 3 * (5 * 4 + 2 * 2 * 8)
