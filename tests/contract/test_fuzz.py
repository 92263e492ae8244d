"""A few of the cases that `make fuzz` runs by the thousand, the same ones every time."""

from __future__ import annotations

from pathlib import Path

import pytest
from fuzz.cases import FALLBACK, HARMLESS, NAMED, WRONG, FileCases, run_case
from fuzz.command_lines import CommandLines
from fuzz.policy_files import PolicyFiles, make_files
from fuzz.runs import make_runs

FILES, LINES, POLICIES = 300, 40, 400


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return make_runs(tmp_path_factory.mktemp("fuzz"))


def test_damaged_runs_are_named_or_harmless(runs: dict[str, Path], tmp_path: Path) -> None:
    cases = FileCases.prepare(1, runs, tmp_path)
    outcomes = [run_case(cases, number) for number in range(FILES)]
    assert [one for one in outcomes if one.kind == WRONG] == []
    assert {HARMLESS, NAMED, FALLBACK} <= {one.kind for one in outcomes}


def test_malformed_command_lines_are_one_line_or_work(
    runs: dict[str, Path], tmp_path: Path
) -> None:
    lines = CommandLines(1, runs["finished"], tmp_path)
    outcomes = [run_case(lines, number) for number in range(LINES)]
    assert [one for one in outcomes if one.kind == WRONG] == []
    assert {HARMLESS, NAMED} == {one.kind for one in outcomes}


def test_damaged_and_hostile_policy_files_are_named_or_harmless(tmp_path: Path) -> None:
    (tmp_path / "whole").mkdir()
    make_files(tmp_path / "whole")
    cases = PolicyFiles(1, tmp_path / "whole", tmp_path)
    outcomes = [run_case(cases, number) for number in range(POLICIES)]
    assert [one for one in outcomes if one.kind == WRONG] == []
    assert {HARMLESS, NAMED} == {one.kind for one in outcomes}


def test_a_wrong_would_be_found(runs: dict[str, Path], tmp_path: Path, monkeypatch) -> None:
    """Without checksums there are silent changes among these cases, and they are counted."""
    cases = FileCases.prepare(1, runs, tmp_path)
    monkeypatch.setattr("litmus.files.check_own_json", lambda path, data, hint="": data)
    monkeypatch.setattr("litmus.runs.metrics.checksum_line", lambda line: line.get("crc32", 0))
    monkeypatch.setattr("litmus.files.hashlib.sha256", lambda data=b"": Same())
    outcomes = [run_case(cases, number) for number in range(120)]
    assert any(one.kind == WRONG for one in outcomes)


class Same:
    """A checksum that does not care."""

    def hexdigest(self) -> Same:  # type: ignore[override]
        return self

    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = None  # type: ignore[assignment]
