"""What the tests share: tiny runs, and how to wait for and compare them."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent

DEADLINE = 300.0
"""Seconds within which whatever a test waits for must have happened, on the slowest and busiest
machine: reached only where something is broken."""

TINY: dict[str, Any] = {
    "hidden": (8,),
    "evaluate_every": 8,
    "evaluate_episodes": 2,
    "workers": 0,
    "device": "cpu",
}
"""A run that takes a moment on any task."""


OWN: dict[str, dict[str, Any]] = {
    "pssvf": {"evaluator_hidden": (8,), "round_size": 2, "probing_states": 3},
    "vanilla-pssvf": {"evaluator_hidden": (8,), "round_size": 2},
    "ars": {"directions": 2, "top_directions": 1},
}
"""What algorithms have of their own."""

GONE: Any = object()
"""As the value of an option: leave it out of a tiny run."""


def tiny(algorithm: str, **options: Any) -> dict[str, Any]:
    """The options of a tiny run."""
    merged = {**TINY, **OWN.get(algorithm, {}), **options}
    return {name: value for name, value in merged.items() if value is not GONE}


def train_tiny(out: Path, algorithm: str = "pssvf", **options: Any) -> Any:
    import litmus

    options = {"task": "toys:ToyWalk-v0", "steps": 40, **options}
    return litmus.train(algorithm, out=out, quiet=True, **tiny(algorithm, **options))


def to_arguments(options: dict[str, Any]) -> list[str]:
    """Options of the library call, as they are typed."""
    arguments = []
    for name, value in options.items():
        option = name.replace("_", "-")
        if isinstance(value, bool):
            arguments.append(f"--{option}" if value else f"--no-{option}")
        elif isinstance(value, dict):
            arguments += [f"--{option}", json.dumps(value)]
        elif isinstance(value, tuple | list):
            arguments += [f"--{option}", *map(str, value)]
        else:
            arguments += [f"--{option}", str(value)]
    return arguments


def make_environment(**variables: str) -> dict[str, str]:
    path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    return {**os.environ, "PYTHONPATH": path, "COLUMNS": "80", **variables}


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Poll until `condition` holds; fail when the process ends first, or the deadline passes."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if process is not None and process.poll() is not None:
            out, err = process.communicate()
            pytest.fail(f"ended with {process.returncode} before its time:\n{out}\n{err}")
        if time.monotonic() > deadline:
            pytest.fail("waited in vain")
        time.sleep(0.002)


class Hold:
    """Holds the slow walk, in whatever process it walks, from the moment that a run has so many
    lines of metrics; so a test that acts while a run is under way cannot come too late."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "hold.json"
        self.environment = {"LITMUS_TOY_HOLD": str(self.path)}

    def hold(self, metrics: Path | None = None, lines: int = 0) -> None:
        """At once where there are no metrics to look at."""
        write_whole(self.path, json.dumps({"metrics": str(metrics or ""), "lines": lines}))

    def release(self) -> None:
        self.path.unlink()


def write_whole(path: Path, text: str) -> None:
    """So that no other process reads half of it."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def count_lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0


def without_times(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """And without the checksums, which cover the times."""
    return [{k: v for k, v in event.items() if k not in ("wall_s", "crc32")} for event in events]


def assert_same_result(first: Path, second: Path) -> None:
    """Two finished runs ended with the same bytes and measured the same, wall times aside."""
    assert (first / "policy.safetensors").exists()
    kept = ("rounds.bin", "rounds.jsonl", "probing.bin")
    for name in (
        *("policy.safetensors", "policy.json", "evaluator.safetensors", "evaluator.json"),
        *(f"history/{name}" for name in kept),
    ):
        one, other = first / name, second / name
        assert one.exists() == other.exists(), name
        if one.exists():
            assert one.read_bytes() == other.read_bytes(), name
    assert without_times(read_events(first)) == without_times(read_events(second))


def read_events(run: Path) -> list[dict[str, Any]]:
    """The metrics, read strictly: every line must be whole."""
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def assert_one_line(text: str, *words: str) -> None:
    """What a person sees of a mistake: one line, no traceback, with these words in it."""
    lines = text.strip().splitlines()
    assert len(lines) == 1, text
    assert lines[0].startswith("litmus: ")
    for word in words:
        assert word in lines[0]
