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

ROW_BYTES = 5 * 4 + 2 * 2 * 8


def make_round(number: int) -> Round:
    generator = np.random.default_rng(number)
    return Round(
        number,
        generator.normal(size=5).astype(np.float32),
        Normalizer(generator.normal(size=2), generator.random(2)),
        0.05,
        number * 2,
        [Outcome(1.5 * number, 0.1 + number, 7), Outcome(None, None, 3)],
        most_steps=8 if number % 2 else None,
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
        assert round_.most_steps == expected.most_steps


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
    for path in ((history.directory / "rounds.bin"), (history.directory / "rounds.jsonl")):
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
    rows = history.directory / "rounds.bin"
    whole = rows.read_bytes()
    for position in range(len(whole)):
        rows.write_bytes(flip(whole, position))
        with pytest.raises(BadInput, match=f"round {position // ROW_BYTES} .*damaged"):
            history.read()


def test_damage_after_the_rounds_that_count_does_no_harm(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    history.close()
    rows = history.directory / "rounds.bin"
    rows.write_bytes(flip(rows.read_bytes(), -1))
    assert_rounds(history.read(2), 2)


def test_a_line_without_its_checksum_is_bad_input(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    history.close()
    lines = (history.directory / "rounds.jsonl").read_text().splitlines()
    lines[1] = lines[1].partition(', "line_crc32"')[0] + "}"
    (history.directory / "rounds.jsonl").write_text("\n".join(lines) + "\n")
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
    lines = (history.directory / "rounds.jsonl").read_text().splitlines()
    line = json.loads(lines[1])
    del line["line_crc32"]
    line[name] = value
    lines[1] = json.dumps({**line, "line_crc32": checksum_line(line)})
    (history.directory / "rounds.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(BadInput, match="round 1"):
        history.read()


@pytest.mark.parametrize("line", [b"not json", b"{}", b"[]", b'{"round": 1}', b"null", b"\xff\xfe"])
def test_a_line_that_is_not_a_round_is_bad_input(line: bytes, tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    history.close()
    lines = (history.directory / "rounds.jsonl").read_bytes().split(b"\n")
    lines[1] = line
    (history.directory / "rounds.jsonl").write_bytes(b"\n".join(lines))
    with pytest.raises(BadInput, match="round 1"):
        history.read()


def test_a_returns_digit_that_changed_is_noticed(tmp_path: Path) -> None:
    """Returns are what the evaluator learns from: they are as precious as the policies."""
    history = write(tmp_path / "h", 3)
    history.close()
    text = (history.directory / "rounds.jsonl").read_text()
    assert "1.5" in text
    (history.directory / "rounds.jsonl").write_text(text.replace("1.5", "7.5"))
    with pytest.raises(BadInput, match="round 1"):
        history.read()


def test_a_round_is_one_theta_however_many_episodes_it_has(tmp_path: Path) -> None:
    history = write(tmp_path / "h", 3)
    assert (history.directory / "rounds.bin").stat().st_size == 3 * ROW_BYTES


def write_in_files(directory: Path, count: int, rounds_per_file: int) -> Journal:
    history = Journal(directory, 5, 2, rounds_per_file)
    for number in range(count):
        history.append(make_round(number))
    history.sync()
    return history


def list_files(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.glob("*.bin"))


def test_several_files_are_one_history(tmp_path: Path) -> None:
    history = write_in_files(tmp_path, 7, 3)
    assert list_files(tmp_path) == ["rounds-00000003.bin", "rounds-00000006.bin", "rounds.bin"]
    assert_rounds(history.read(), 7)
    assert_rounds(history.read(5), 5)
    again = Journal(tmp_path, 5, 2, 3)
    again.append(make_round(7))
    assert_rounds(again.read(), 8)


def test_files_that_nobody_needs_are_forgotten_as_a_whole(tmp_path: Path) -> None:
    history = write_in_files(tmp_path, 8, 3)
    history.forget(2)
    assert_rounds(history.read(), 8)
    history.forget(5)
    assert list_files(tmp_path) == ["rounds-00000003.bin", "rounds-00000006.bin"]
    assert [one.number for one in history.read(least=8)] == [3, 4, 5, 6, 7]
    assert [one.number for one in history.read(7, first=6)] == [6]
    with pytest.raises(BadInput, match="4 of the 7 rounds"):
        history.read(7)


@pytest.mark.parametrize("count", range(9))
def test_a_history_of_several_files_is_cut_anywhere(count: int, tmp_path: Path) -> None:
    history = write_in_files(tmp_path, 8, 3)
    history.cut(min(count, 8))
    assert_rounds(history.read(), min(count, 8))
    history.append(make_round(min(count, 8)))
    assert_rounds(history.read(), min(count, 8) + 1)


@pytest.mark.parametrize("per_file", [0, 3])
def test_rounds_that_nobody_asks_for_may_be_damaged(per_file: int, tmp_path: Path) -> None:
    history = write_in_files(tmp_path, 8, per_file)
    rows = tmp_path / "rounds.bin"
    rows.write_bytes(flip(rows.read_bytes(), 3))
    assert [one.number for one in history.read(8, first=2)] == list(range(2, 8))
    with pytest.raises(BadInput, match="damaged"):
        history.read(8)


def test_a_file_in_the_middle_that_is_gone_or_short_is_noticed(tmp_path: Path) -> None:
    history = write_in_files(tmp_path, 8, 3)
    history.close()
    middle = tmp_path / "rounds-00000003.bin"
    middle.write_bytes(middle.read_bytes()[:-1])
    with pytest.raises(BadInput, match="of the 3 rounds"):
        history.read()
