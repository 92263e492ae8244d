"""Probing states as pictures and short animations, made by a process of its own.

EGL first, OSMesa where that is missing; `MUJOCO_GL`, where it is set, decides instead. Without
either there are no pictures and one line that says so.
"""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.statistics import Floats
from litmus.analysis.stopping import IsStopped, Stopped, never
from litmus.policies.architecture import architecture_to_json
from litmus.policies.policy import Policy
from litmus.tasks.names import find_body

LIBRARIES = ("egl", "osmesa")
MOST_SECONDS = 120
NO_LIBRARY = (
    "nothing could be rendered: no GL library works here; install EGL or OSMesa "
    "(on Debian libegl1 or libosmesa6)"
)

ROLL_TITLES = {
    "nothing": "no action",
    "first": "the policy's first action, then none",
    "policy": "the policy acts",
}


class CannotRender(Exception):
    """There will be no pictures; the message is one line that says why."""


class NoRenderer(CannotRender):
    """Nothing is wrong: there is no renderer for this task."""


@dataclass(frozen=True)
class Roll:
    """What follows from a state: an animation, its first still, and a strip of stills."""

    animation: bytes
    still: bytes
    strip: bytes


@dataclass(frozen=True)
class RenderedState:
    rolls: Mapping[str, Roll]
    problem: str | None
    """Why the environment cannot be in this state."""
    can_be_set: bool
    """False where the rolls start from the nearest visited state instead."""
    nearest: bytes | None
    """A still of the nearest visited state, where there is a problem."""


class Rendering:
    """Pictures that are being made; `result` waits for them."""

    def __init__(
        self,
        task: str,
        policy: Policy,
        states: Floats,  # [N, D], raw
        nearest: Floats | None,  # [N, D]
        env_kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        body = find_body(task)
        if body is None or body.view is None:
            raise NoRenderer(
                f"states of {task} are shown as numbers: litmus has no renderer for it"
            )
        if importlib.util.find_spec("PIL") is None:
            raise CannotRender("pictures need Pillow: pip install 'litmus-rl[report]'")
        self._directory = tempfile.TemporaryDirectory(prefix="litmus-render-")
        self.path = Path(self._directory.name)
        arrays = {
            "flat_params": policy.flat_params.cpu().numpy(),
            "mean": policy.normalizer.mean,
            "std": policy.normalizer.std,
            "states": states,
        }
        if nearest is not None:
            arrays["nearest"] = nearest
        np.savez(self.path / "arrays.npz", **arrays)  # type: ignore[arg-type]
        job = {
            "task": task,
            "env_kwargs": dict(env_kwargs or {}),
            "architecture": architecture_to_json(policy.architecture),
        }
        (self.path / "job.json").write_text(json.dumps(job))
        self._libraries = list_libraries()
        self._process = self._start(self._libraries[0])

    def result(self, is_stopped: IsStopped = never) -> list[RenderedState]:
        """Wait for the pictures; raises CannotRender where no GL library works."""
        try:
            for following in (*self._libraries[1:], None):
                errors = self._wait(is_stopped)
                if self._process.returncode == 0:
                    return self._read()
                if (self.path / "gl-works").exists():
                    raise CannotRender(f"nothing could be rendered: {find_error(errors)}")
                if following is not None:
                    self._process = self._start(following)
            raise CannotRender(f"{NO_LIBRARY} ({find_error(errors)})")
        finally:
            self._directory.cleanup()

    def cancel(self) -> None:
        """Nobody wants the pictures any more."""
        self._process.kill()
        self._process.communicate()
        self._directory.cleanup()

    def _wait(self, is_stopped: IsStopped) -> str:
        """Until the process ends; returns what it said last."""
        deadline = time.monotonic() + MOST_SECONDS
        while True:
            try:
                return self._process.communicate(timeout=0.3)[1]
            except subprocess.TimeoutExpired:
                if time.monotonic() < deadline and not is_stopped():
                    continue
                self._process.kill()
                self._process.communicate()
                if is_stopped():
                    raise Stopped from None
                raise CannotRender(f"rendering took over {MOST_SECONDS} s") from None

    def _start(self, library: str) -> subprocess.Popen[str]:
        environment = {
            **os.environ,
            "MUJOCO_GL": library,
            "PYOPENGL_PLATFORM": library,
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        }
        return subprocess.Popen(
            [sys.executable, "-m", "litmus.reports.render_worker", str(self.path)],
            env=environment,
            cwd=self.path,  # MuJoCo writes its log where it stands
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def _read(self) -> list[RenderedState]:
        result = json.loads((self.path / "result.json").read_text())
        return [
            RenderedState(
                {
                    kind: Roll(
                        self._bytes(f"{name}.webp"),
                        self._bytes(f"{name}-still.webp"),
                        self._bytes(f"{name}-strip.webp"),
                    )
                    for kind, name in state["rolls"].items()
                },
                state["problem"],
                state["can_be_set"],
                self._bytes(f"{state['nearest']}.webp") if "nearest" in state else None,
            )
            for state in result["states"]
        ]

    def _bytes(self, name: str) -> bytes:
        return (self.path / name).read_bytes()


def list_libraries() -> tuple[str, ...]:
    """GL libraries to try, in order."""
    chosen = os.environ.get("MUJOCO_GL", "").lower()
    return (chosen,) if chosen else LIBRARIES


def find_error(errors: str) -> str:
    """One line out of a worker's standard error."""
    lines = [line.strip() for line in errors.splitlines() if line.strip()]
    last = next((line for line in reversed(lines) if "error" in line.lower()), "")
    return last[:160] or "the renderer ended without a word"


def data_uri(data: bytes, kind: str = "image/webp") -> str:
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"
