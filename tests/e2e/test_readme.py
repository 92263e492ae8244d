"""The README's table of commands; its code is run by `test_pages.py`."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from litmus.cli import build_parser

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_every_command_in_the_table_exists(capsys: pytest.CaptureFixture[str]) -> None:
    named = set(re.findall(r"^\| `litmus ([a-z]+)", README, re.MULTILINE))
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--help"])
    offered = set(re.findall(r"^    ([a-z]+)(?:  |$)", capsys.readouterr().out, re.MULTILINE))
    assert named == offered
