"""Every code block of README.md and docs/ is run as it stands, or says why it cannot be."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import shlex
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from harness import run_python, tiny
from pages import PAGES, ROOT, Block, read_blocks

import litmus
from litmus.cli import build_parser, main

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.fixture
def _forget_afterwards(tmp_path: Path) -> Iterator[None]:
    """What a page registers, and modules that it writes."""
    registered = dict(gymnasium.registry)
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(registered)
    for name, module in list(sys.modules.items()):
        if str(tmp_path) in str(getattr(module, "__file__", "")):
            del sys.modules[name]


@pytest.mark.usefixtures("_forget_afterwards")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    for block in read_blocks(page):
        for seed, run in enumerate(block.runs):
            options = tiny(
                "pssvf", task="Swimmer-v5", steps=1, evaluate_every=1, seed=seed, probing_states=1
            )
            litmus.train("pssvf", out=run, quiet=True, **options)
        if block.reason is None or can_be_run(block, block.reason):
            run_block(block, names)


def run_block(block: Block, names: dict[str, Any]) -> None:
    where = f"{block.page}:{block.line}"
    if block.file is not None:
        Path(block.file).write_text(block.code)
    elif block.language == "python":
        exec(compile(block.code, where, "exec"), names)
    elif block.language == "sh":
        for words in read_commands(block):
            run_command(words, where)
    else:
        check_text(block, where)


def can_be_run(block: Block, reason: str) -> bool:
    """Whether it can be run here after all; a reason that is none is an error."""
    if block.language == "python":
        ast.parse(block.code)
    if reason == "needs a GPU":
        import torch

        return torch.cuda.is_available()
    if package := re.fullmatch(r"needs the package (\w+)", reason):
        assert re.search(rf"import {package[1]}\b", block.code)
        return importlib.util.find_spec(package[1]) is not None
    assert reason in ("trains for minutes", "goes on until it is stopped"), reason
    for words in read_commands(block) if block.language == "sh" else []:
        check_options(words)
    return False


def read_commands(block: Block) -> list[list[str]]:
    lines = block.code.replace("\\\n", " ").splitlines()
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def run_command(words: list[str], where: str) -> None:
    if words[0] == "make":
        assert re.search(rf"^{words[1]}:", MAKEFILE, re.MULTILINE), words
    elif words[:2] == ["pip", "install"]:
        for extras in re.findall(r"\[(.*?)\]", " ".join(words)):
            assert set(extras.split(",")) <= EXTRAS.keys(), words
    elif words[0] == "litmus":
        assert main(words[1:]) == 0, f"{where}: {' '.join(words)}"
    else:
        pytest.fail(f"{where}: nobody knows how to run '{' '.join(words)}'")


def check_options(words: list[str]) -> None:
    if words[0] == "litmus":
        build_parser(words[1:]).parse_args(words[1:])


def check_text(block: Block, where: str) -> None:
    assert block.language in ("", "json"), f"{where}: {block.language}?"
    for line in block.code.splitlines():
        looks_like_code = line.startswith(("litmus ", "import ", "pip ", "make "))
        assert not looks_like_code or "…" in line, f"{where}: '{line}' looks like code"


README = "\n".join(block.code for block in read_blocks(PAGES[0]) if block.language == "python")

NOTEBOOK = """
import asyncio, io, sys

class Cell(io.StringIO):  # what is printed goes to the page, and there is no file behind it
    pass

async def run(code):
    exec(compile(code, "<cell>", "exec"), {"__name__": "__main__"})

code = sys.stdin.read()
sys.stdout = sys.stderr = Cell()
asyncio.run(run(code))
"""


def test_the_readme_runs_as_a_script_and_again_in_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(README)
    for arguments in (["script.py"], ["-c", NOTEBOOK]):
        done = run_python(*arguments, text=README)
        assert done.returncode == 0, done.stderr
    assert [path.name for path in (tmp_path / "runs").iterdir()] == ["Swimmer-v5-pssvf-seed1"]


def test_every_page_is_linked_from_the_readme_and_every_link_leads_somewhere() -> None:
    linked = set()
    for page in PAGES:
        for link in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text(encoding="utf-8")):
            if not link.startswith("https://"):
                target = (page.parent / link).resolve()
                assert target.exists(), f"{page.name}: {link}"
                if page == PAGES[0]:
                    linked.add(target)
    assert {page.resolve() for page in PAGES[1:]} <= linked
    assert os.fspath(ROOT) not in "".join(page.read_text(encoding="utf-8") for page in PAGES)
