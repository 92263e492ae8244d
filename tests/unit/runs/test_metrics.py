"""metrics.jsonl: strict when written, tolerant when read."""

from __future__ import annotations

import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from litmus.runs.metrics import MetricsFile, read_metrics


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


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "m.jsonl"
    path.write_bytes(b'{"event": "round"}\n\xff\xfe\n[1]\n{"no": "event"}\n3\n{"event": "x"}\n')
    assert [e["event"] for e in read_metrics(path)] == ["round", "x"]


def test_no_file_is_no_events(tmp_path: Path) -> None:
    assert read_metrics(tmp_path / "nothing.jsonl") == []
