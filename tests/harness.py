"""What the tests share: tiny runs, processes, and how to wait for and compare them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import litmus

TESTS = Path(__file__).parent
SOURCE = Path(litmus.__file__).parents[1]

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
    "pssvf": {
        "evaluator": "fingerprint",
        "beginnings": 1,
        "evaluator_hidden": (8,),
        "round_size": 2,
        "probing_states": 3,
    },
    "vanilla-pssvf": {"evaluator_hidden": (8,), "round_size": 2},
    "ars": {"directions": 2, "top_directions": 1},
    "ddpg": {
        "critic_hidden": (8,),
        "batch_size": 4,
        "buffer_size": 24,
        "start_steps": 6,
        "update_after": 8,
        "update_every": 6,
        "updates": 2,
    },
}
"""What algorithms have of their own."""

PROCESS: dict[str, Any] = {
    "evaluator": "gaussian-process",
    "remembered_policies": 6,
    "noise_change": 0.2,
}
"""Beside them, for an evaluator that is solved for: fewer policies than a run measures."""

STEADY: dict[str, Any] = {
    "env_kwargs": {"length": 400},
    "steps": 40_000,
    "round_size": 16,
    "noise": 1.0,
    "noise_change": 0.9,
    "policy_step": 0.01,
}
"""Beside both: episodes whose rewards come steadily, and enough policies that differ to see it."""

GONE: Any = object()
"""As the value of an option: leave it out of a tiny run."""


def tiny(algorithm: str, **options: Any) -> dict[str, Any]:
    """The options of a tiny run."""
    merged = {**TINY, **OWN.get(algorithm, {}), **options}
    if merged.get("evaluator") == PROCESS["evaluator"]:
        merged.setdefault("policy_step", 1.0)
        merged["evaluator_hidden"] = GONE
    return {name: value for name, value in merged.items() if value is not GONE}


def train_tiny(out: Path, algorithm: str = "pssvf", **options: Any) -> Any:
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


class Killed(BaseException):
    """Stands for SIGKILL: nothing after it may write anything."""


def raise_(error: BaseException) -> Any:
    raise error


def kill_at(patch: pytest.MonkeyPatch, target: str, call: int, when: str) -> None:
    """Raise around the n-th call of `target`."""
    module, _, name = target.rpartition(".")
    try:
        owner = import_module(module)
    except ModuleNotFoundError:
        parent, _, class_name = module.rpartition(".")
        owner = getattr(import_module(parent), class_name)
    original, calls = getattr(owner, name), [0]

    def wrapped(*args: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == call and when == "before":
            raise Killed
        result = original(*args, **options)
        if calls[0] == call:
            raise Killed
        return result

    patch.setattr(owner, name, wrapped)


def interrupt(train: Callable[[], Any], rounds: int) -> None:
    """Begin or resume a training, and press Ctrl-C, as a signal, when so many rounds are done."""
    from litmus.training.trainer import Trainer

    iterate = Trainer._iterate

    def pressing(trainer: Trainer) -> None:
        if trainer.counters.rounds == rounds:
            os.kill(os.getpid(), signal.SIGINT)
        iterate(trainer)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "_iterate", pressing)
        with pytest.raises(KeyboardInterrupt):
            train()


def make_environment(**variables: str) -> dict[str, str]:
    """With the tests, and the litmus that they test, on the path."""
    path = filter(None, [str(TESTS), str(SOURCE), os.environ.get("PYTHONPATH")])
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path), "COLUMNS": "80", **variables}


def start_python(
    *words: object, env: Mapping[str, str] | None = None, **options: Any
) -> subprocess.Popen[str]:
    """Start a Python process in the current directory; whoever calls ends it."""
    return subprocess.Popen(
        [sys.executable, *map(str, words)],
        env=make_environment(**(env or {})),
        **{"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **options},
    )


def run_python(*words: object, text: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a Python process to its end; it reads `text`."""
    process = start_python(*words, **{"stdin": subprocess.PIPE, **options})
    try:
        out, err = process.communicate(text, timeout=DEADLINE)
    finally:
        process.kill()
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def run_litmus(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run `litmus …` in a process of its own to its end."""
    return run_python("-m", "litmus.cli", *arguments, **options)


def list_children(process: subprocess.Popen[str]) -> list[int]:
    pid = process.pid
    return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition: Callable[[], bool], process: subprocess.Popen[str] | None = None) -> None:
    """Poll until `condition` holds; fail when the process ends first, or the deadline passes."""
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if process is not None and process.poll() is not None and not condition():
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
        self.path.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """So that no other process reads half of it."""
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def flip(data: bytes, position: int) -> bytes:
    """The same with one bit the other way round."""
    broken = bytearray(data)
    broken[position] ^= 1 << (position % 8)
    return bytes(broken)


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
