"""Property tests draw the same every time; `litmus` runs in processes away from the checkout."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # `toys`, here and in the rollout workers

from harness import DEADLINE, Hold, make_environment

# The same examples every time, so that no run fails by chance; `make search` looks further.
settings.register_profile("ci", derandomize=True, deadline=None, database=None, print_blob=True)
settings.register_profile(
    "search", max_examples=5000, deadline=None, database=None, print_blob=True
)
settings.load_profile("ci")


@pytest.fixture(autouse=True)
def _stay_out_of_the_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def hold(tmp_path: Path) -> Hold:
    return Hold(tmp_path)


@pytest.fixture
def litmus_process(tmp_path: Path) -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `litmus …` in a process of its own, in `tmp_path`; what still runs is ended."""
    started: list[subprocess.Popen[str]] = []

    def start(
        *arguments: object, env: dict[str, str] | None = None, **options: Any
    ) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "litmus.cli", *map(str, arguments)],
            cwd=tmp_path,
            env=make_environment(**(env or {})),
            **{
                "stdout": subprocess.PIPE,
                "stderr": subprocess.PIPE,
                "text": True,
                **options,
            },
        )
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture
def run_litmus(
    litmus_process: Callable[..., subprocess.Popen[str]],
) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `litmus …` in a process of its own to its end."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        process = litmus_process(*arguments, **options)
        out, err = process.communicate(timeout=DEADLINE)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    return run
