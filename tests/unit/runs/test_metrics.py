"""metrics.jsonl: strict when written, tolerant when read."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from litmus.runs.metrics import MetricsFile, check_metrics, read_last_events, read_metrics


def test_events_come_back_in_order_with_the_event_first(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path / "m.jsonl")
    file.write("round", steps=3, mean=1.5)
    file.write("finished", steps=9)
    file.close()
    assert [e["event"] for e in read_metrics(tmp_path / "m.jsonl")] == ["round", "finished"]
    for line in (tmp_path / "m.jsonl").read_text().splitlines():
        assert next(iter(json.loads(line))) == "event"


def test_what_is_not_finite_becomes_null(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path / "m.jsonl")
    file.write("evaluation", mean=float("nan"), returns=[1.0, float("inf"), [float("-inf")]])
    file.close()
    (event,) = read_metrics(tmp_path / "m.jsonl")
    assert event == {"event": "evaluation", "mean": None, "returns": [1.0, None, [None]]}
    assert "NaN" not in (tmp_path / "m.jsonl").read_text()


def test_the_size_is_where_the_next_line_starts(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    file = MetricsFile(path)
    file.write("round", steps=1)
    file.close()
    file = MetricsFile(path)
    assert file.size == path.stat().st_size > 0
    file.close()


@given(cut=st.integers(0, 200))
def test_a_file_cut_anywhere_gives_its_whole_lines(tmp_path_factory, cut: int) -> None:
    path = tmp_path_factory.mktemp("metrics") / "m.jsonl"
    file = MetricsFile(path)
    for steps in range(5):
        file.write("round", steps=steps)
    file.close()
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    events = read_metrics(path)
    # A line counts from its closing brace on, whether or not the line break got through.
    assert [e["steps"] for e in events] == list(range(len(events)))
    assert len(events) == sum(cut >= end for end in line_ends(whole))


def line_ends(data: bytes) -> list[int]:
    return [position for position, byte in enumerate(data) if byte == ord("\n")]


def write_lines(path: Path, count: int) -> list[bytes]:
    file = MetricsFile(path)
    for steps in range(count):
        file.write("round", steps=steps, mean=0.5)
    file.close()
    return path.read_bytes().splitlines(keepends=True)


DAMAGES = {
    "not text": b"\xff\xfe\n",
    "not an object": b"[1]\n",
    "no event": b'{"no": "event"}\n',
    "a number": b"3\n",
    "without its checksum": b'{"event": "round", "steps": 1}\n',
    "nested without end": b"[" * 100_000 + b"\n",
    "not a number": b'{"event": "round", "steps": NaN}\n',
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_line_is_left_out_and_named(damage: str, tmp_path: Path) -> None:
    lines = write_lines(tmp_path / "m.jsonl", 3)
    lines[1] = DAMAGES[damage]
    (tmp_path / "m.jsonl").write_bytes(b"".join(lines))
    found = check_metrics(tmp_path / "m.jsonl")
    assert [event["steps"] for event in found.events] == [0, 2]
    assert found.describe_problems() == ["1 damaged line left out (line 2)"]


def test_every_flipped_bit_of_a_line_is_noticed(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    whole = b"".join(write_lines(path, 2))
    events = read_metrics(path)
    for position in range(len(whole) - 1):
        for bit in range(8):
            broken = bytearray(whole)
            broken[position] ^= 1 << bit
            path.write_bytes(broken)
            found = check_metrics(path)
            assert found.describe_problems() or found.events == events, (position, bit)


@pytest.mark.parametrize("order", [(0, 2), (1, 0, 2), (0, 1, 1, 2), (1, 2)])
def test_lost_doubled_and_moved_lines_are_noticed(order: tuple[int, ...], tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    lines = write_lines(path, 3)
    path.write_bytes(b"".join(lines[number] for number in order))
    found = check_metrics(path)
    assert [event["steps"] for event in found.events] == sorted(set(order))
    assert "lost, doubled or out of order" in found.describe_problems()[0]


def test_lines_are_numbered_on_when_a_file_is_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    write_lines(path, 2)
    write_lines(path, 2)
    found = check_metrics(path)
    assert len(found.events) == 4
    assert found.describe_problems() == []


def test_values_of_a_wrong_kind_are_damage_though_the_checksum_matches(tmp_path: Path) -> None:
    file = MetricsFile(tmp_path / "m.jsonl")
    file.write("round", steps="three")
    file.write("round", steps=-1)
    file.write("round", steps=1, wall_s=True)
    file.write("evaluation", steps=1, mean="x")
    file.write("evaluation", steps=1, returns="x")
    file.close()
    assert len(check_metrics(tmp_path / "m.jsonl").damaged) == 5


def test_no_file_is_no_events(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "nothing.jsonl") == []


def test_the_last_events_are_the_end_of_all_events(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    assert read_last_events(path) == []
    file = MetricsFile(path)
    for steps in range(500):
        file.write("round", steps=steps, mean=0.1 * steps)
    file.close()
    last, events = read_last_events(path), read_metrics(path)
    assert 20 < len(last) < 500
    assert last == events[-len(last) :]
    path.write_bytes(path.read_bytes()[:-5])  # killed in the middle of a line
    assert read_last_events(path)[-1] == events[-2]
