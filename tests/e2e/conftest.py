"""A real browser, and small runs for the tests of the report page."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from harness import train_tiny

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


@pytest.fixture(scope="session")
def small_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two seeds of one configuration."""
    folder = tmp_path_factory.mktemp("runs")
    options = {"task": "Hopper-v5", "steps": 400, "evaluate_every": 80, "probing_states": 2}
    return [train_tiny(folder / f"hopper-{s}", seed=s, **options).path for s in (0, 1)]
