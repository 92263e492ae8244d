from __future__ import annotations

import io
from pathlib import Path

import pytest
from rich.console import Console

from litmus.reports import progress
from litmus.reports.details import PARTS
from litmus.reports.report import build_report


def test_where_there_is_no_terminal_each_part_is_a_plain_line(
    cartpole_run: Path, vanilla_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_report([cartpole_run, vanilla_run])
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "\x1b" not in shown.err
    lines = shown.err.splitlines()
    assert [f"report  cartpole: {part}" for part in PARTS] == lines[: len(PARTS)]
    assert "report  vanilla: reading the run" in lines
    assert not any("vanilla" in line and "probing" in line for line in lines)
    assert max(map(len, lines)) <= 80


def test_a_quiet_report_says_nothing(
    cartpole_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    build_report([cartpole_run], quiet=True)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def test_on_a_terminal_a_bar_grows_and_goes_away(
    cartpole_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen = io.StringIO()
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(
        progress, "Console", lambda stderr: Console(file=screen, force_terminal=True, width=100)
    )
    told: list[tuple[int, int]] = []
    original = progress.LiveProgress.tell

    def tell(self: progress.LiveProgress, text: str, done: int, total: int) -> None:
        told.append((done, total))
        original(self, text, done, total)

    monkeypatch.setattr(progress.LiveProgress, "tell", tell)
    build_report([cartpole_run])
    assert "cartpole: " in screen.getvalue()
    assert [done for done, _ in told] == sorted({done for done, _ in told})
    assert {total for _, total in told} == {len(PARTS) + 1}
