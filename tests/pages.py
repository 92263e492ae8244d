"""Code blocks of the project's pages, and the remarks that say how a test runs them.

A remark is an HTML comment right above its block:

    <!-- in the test: 100_000 → 2_000 -->     words that the test replaces, to be quick
    <!-- file: my_task.py -->                 the block is the content of this file
    <!-- needs runs: runs/a runs/b -->        small runs that must exist before
    <!-- not run: needs a GPU -->             why it is not run; the reason is checked

Blocks without a language are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

_REMARK = re.compile(r"<!-- (in the test|file|needs runs|not run): (.*?) -->", re.DOTALL)


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    code: str
    """As the test runs it."""
    file: str | None = None
    runs: tuple[str, ...] = ()
    reason: str | None = None
    """Why it is not run."""


def read_blocks(page: Path) -> list[Block]:
    return list(_read_blocks(page.name, page.read_text(encoding="utf-8")))


def _read_blocks(page: str, text: str) -> Iterator[Block]:
    pattern = r"((?:^<!-- .*? -->\n)*)^```(\w*)\n(.*?)^```$"
    for found in re.finditer(pattern, text, re.DOTALL | re.MULTILINE):
        above, language, code = found.groups()
        line = text[: found.start(2)].count("\n") + 1
        remarks = _REMARK.findall(above)
        assert len(remarks) == above.count("<!--"), f"{page}:{line}: a remark that nobody knows"
        named = dict(remarks)
        for kind, words in remarks:
            if kind == "in the test":
                old, _, new = words.partition(" → ")
                assert old in code, f"{page}:{line}: there is no '{old}' to replace"
                code = code.replace(old, new)
        runs = tuple(named.get("needs runs", "").split())
        yield Block(page, line, language, code, named.get("file"), runs, named.get("not run"))
