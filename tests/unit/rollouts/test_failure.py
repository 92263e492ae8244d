"""What is said of an error, whatever else goes on in the process."""

from __future__ import annotations

import traceback

import pytest

from litmus.rollouts.failure import TRIES, format_whole


@pytest.mark.parametrize(("fails", "is_whole"), [(0, True), (TRIES - 1, True), (TRIES, False)])
def test_an_error_is_told_though_python_cannot_always_write_down_its_traceback(
    fails: int, is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python 3.11 parses the lines again, and its parser is not made for several threads."""
    calls = []
    format_exception = traceback.format_exception

    def fail_at_first(*arguments) -> list[str]:
        calls.append(arguments)
        if len(calls) <= fails:
            raise SystemError("AST constructor recursion depth mismatch")
        return format_exception(*arguments)

    monkeypatch.setattr(traceback, "format_exception", fail_at_first)
    try:
        raise ValueError("the arm fell off")
    except ValueError as error:
        told = format_whole(error)
    assert told.endswith("ValueError: the arm fell off")
    assert ("Traceback" in told) == is_whole
