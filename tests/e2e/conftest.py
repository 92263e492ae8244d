"""A real browser, and small runs for the tests of the report page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import litmus

# Nothing of the browser's own may reach out, and it may run as root in a container.
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the browser tests need playwright: pip install playwright"
    )
    path = next(filter(None, map(shutil.which, NAMES)), None)
    if path is None:
        pytest.skip("the browser tests need Chromium: apt-get install chromium")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


def train_small(out: Path, task: str, steps: int, **options: Any) -> Path:
    litmus.train(
        "pssvf",
        task=task,
        out=out,
        steps=steps,
        hidden=(8,),
        evaluator_hidden=(8,),
        probing_states=2,
        round_size=2,
        evaluate_every=steps // 5,
        evaluate_episodes=2,
        workers=0,
        quiet=True,
        **options,
    )
    return out


@pytest.fixture(scope="session")
def small_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two seeds of one configuration."""
    folder = tmp_path_factory.mktemp("runs")
    return [train_small(folder / f"hopper-{s}", "Hopper-v5", 400, seed=s) for s in (0, 1)]
