"""Property tests draw the same every time; `litmus` runs in processes away from the checkout."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

sys.path.insert(0, str(Path(__file__).parent))  # `toys`, here and in the rollout workers

from harness import Hold, start_python, train_tiny

from litmus.native.library import find_library

# What is started in the background may be told to ignore Ctrl-C; the commands tested here are not.
signal.signal(signal.SIGINT, signal.default_int_handler)

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
def switch_kernels(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Switch the compiled kernels on, "1", or off, "0": here, and in what is started from here."""

    def switch(value: str) -> None:
        monkeypatch.setenv("LITMUS_NATIVE", value)
        find_library.cache_clear()

    yield switch
    find_library.cache_clear()


@pytest.fixture
def litmus_process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Start `litmus …` in a process of its own; what still runs at the end is ended."""
    started: list[subprocess.Popen[str]] = []

    def start(*arguments: object, module: str = "litmus.cli", **options: Any) -> Any:
        process = start_python("-m", module, *arguments, **options)
        started.append(process)
        return process

    yield start
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate()


@pytest.fixture(scope="session")
def finished_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny run, for reading only."""
    path: Path = train_tiny(tmp_path_factory.mktemp("finished") / "run").path
    return path


@pytest.fixture
def run(finished_run: Path, tmp_path: Path) -> Path:
    """A finished run that the test may change."""
    return Path(shutil.copytree(finished_run, tmp_path / "run"))
