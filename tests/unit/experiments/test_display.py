"""One display over all jobs, on a terminal and elsewhere."""

from __future__ import annotations

import pytest

from litmus.experiments import display
from litmus.experiments.display import (
    LiveSweepDisplay,
    Overview,
    PlainSweepDisplay,
    Running,
    make_sweep_display,
)
from litmus.experiments.lines import shorten, wrap


def make_overview(done: int, *names: str, finished: int = 1, failed: int = 0) -> Overview:
    running = [Running(name, 5, 10, None if name == "new" else 3.25) for name in names]
    return Overview(finished, failed, 4, done, 40, running)


def test_a_terminal_has_a_bar_for_all_and_one_for_each_at_work(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("FORCE_COLOR", "1"), ("COLUMNS", "100"), ("TERM", "xterm")):
        monkeypatch.setenv(name, value)
    shown = LiveSweepDisplay("weighting")
    shown.update(make_overview(10, "walk [a], seed 1", "new"))
    shown.note("finished  [b]walk[/b], seed 0")
    shown.update(make_overview(20, "walk [a], seed 1", finished=2, failed=1))
    shown._progress.refresh()
    shown.close()
    text = capsys.readouterr().err
    assert "weighting" in text
    assert "walk [a], seed 1" in text
    assert "return 3.2" in text
    assert "2 of 4, 1 failed" in text
    assert "[b]walk[/b]" in text


LONG = "CartPole-v1, pssvf,noise=0.05,policy_lr=0.0001,recency=1.1,hidden=32x32,lags=4, seed 3"


def test_a_long_name_leaves_room_for_bar_and_return_and_is_broken_behind_commas(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("TERM", "xterm"), ("COLUMNS", "80")):
        monkeypatch.setenv(name, value)
    shown = LiveSweepDisplay("mine")
    shown.update(make_overview(10, LONG, LONG.replace("1.1", "1.2")))
    shown.note(f"finished  {LONG}: return 3.2")
    console = shown._progress.console
    with console.capture() as captured:
        console.print(shown._progress.get_renderable())
    shown.close()
    bars = captured.get().splitlines()
    assert bars[1].startswith("  CartPole-v1, pssvf,…,recency=1.1,…, seed 3 ━")
    assert bars[2].startswith("  CartPole-v1, pssvf,…,recency=1.2,…, seed 3 ━")
    assert bars[1].rstrip().endswith("return 3.2 --:--")
    notes = capsys.readouterr().err.splitlines()[:2]
    assert notes[0] == "finished  CartPole-v1, pssvf,noise=0.05,policy_lr=0.0001,recency=1.1,"
    assert notes[1] == "    hidden=32x32,lags=4, seed 3: return 3.2"


@pytest.mark.parametrize("width", [1, 5, 20, 44, 60, 200])
def test_a_name_is_shortened_to_the_room_there_is(width: int) -> None:
    for name in (LONG, "x" * 99, "A, " + "x" * 99 + ",b=1, seed 3"):
        short = shorten(name, width)
        assert len(short) <= width
        assert width < 20 or short.endswith(name[-8:])
        assert (short == name) == (len(name) <= width)
        assert all(len(line) <= width + 5 for line in wrap(name, width + 5))


def test_elsewhere_there_are_plain_lines(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(display, "SECONDS_BETWEEN_LINES", 0.0)
    shown = make_sweep_display("weighting", quiet=False)
    assert isinstance(shown, PlainSweepDisplay)
    shown.update(make_overview(0))
    shown.update(make_overview(10, "walk"))
    first, second = capsys.readouterr().err.splitlines()
    assert first.endswith("… left")
    assert second.startswith("weighting  1 of 4 done, 1 at work  10/40 steps")


def test_nothing_is_shown_where_that_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    shown = make_sweep_display("weighting", quiet=True)
    shown.update(make_overview(0))
    shown.note("finished")
    shown.close()
    assert capsys.readouterr() == ("", "")
