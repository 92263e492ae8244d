"""What the README shows must work as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import gymnasium
import pytest

from litmus.cli import build_parser

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_library_example_runs(tmp_path: Path) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    short = example.replace(
        "steps=100_000", "steps=2_000, preset='small', round_size=2, evaluate_episodes=1"
    )
    assert short != example
    observation, _ = gymnasium.make("Swimmer-v5").reset(seed=0)
    names = {"observation": observation}
    exec(short, names)
    assert names["run"].status == "finished"


def test_every_command_in_the_table_exists(capsys: pytest.CaptureFixture[str]) -> None:
    named = set(re.findall(r"^\| `litmus ([a-z]+)", README, re.MULTILINE))
    with pytest.raises(SystemExit):
        build_parser().parse_args(["--help"])
    offered = set(re.findall(r"^    ([a-z]+)  ", capsys.readouterr().out, re.MULTILINE))
    assert named == offered


def test_every_link_leads_to_a_file() -> None:
    links = re.findall(r"\]\(([^)]+)\)", README)
    assert links
    for link in links:
        assert link.startswith("https://") or (ROOT / link).is_file(), link


def test_the_make_targets_it_names_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^make ([a-z]+)", README, re.MULTILINE)
    assert targets
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
