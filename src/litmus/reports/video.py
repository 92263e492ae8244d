"""One episode of a policy as a video file, drawn by the environment itself.

In a process of its own, as `render.py` does and for the same reasons: the GL library is chosen
before MuJoCo is imported, and a broken driver may end the process that asks it.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from litmus.errors import BadInput, option
from litmus.files import write_bytes
from litmus.policies.architecture import architecture_to_json
from litmus.policies.policy import Policy
from litmus.reports.render import find_error, list_libraries
from litmus.tasks.base import TaskSpec

NEEDS = {
    ".webp": ("PIL", "Pillow", "pip install 'litmus-rl[report]'"),
    ".mp4": ("imageio_ffmpeg", "imageio-ffmpeg", "pip install imageio-ffmpeg"),
}
MOST_SECONDS = 600


@dataclass(frozen=True)
class Video:
    path: Path
    seconds: float
    return_: float
    is_whole: bool
    """False where the episode was longer than a video may be."""


def check_video(path: Path | str) -> Path:
    """Everything that can be said against a file before an episode is run for it."""
    path = Path(path)
    if path.suffix.lower() not in NEEDS:
        raise BadInput(f"{option('video')} takes a file that ends in .webp or .mp4, not '{path}'")
    module, package, command = NEEDS[path.suffix.lower()]
    if importlib.util.find_spec(module) is None:
        raise BadInput(f"a {path.suffix} video needs {package}, which is not installed: {command}")
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise BadInput(f"cannot write to {path}: it is a directory, or is in none")
    return path


def record_video(path: Path, task: TaskSpec, policy: Policy, seed: int) -> Video:
    """The first episode that `litmus.evaluate` measures with this seed."""
    if task.only_here:
        raise BadInput(f"no video can be made: {task.only_here}, and drawing is another process's")
    with tempfile.TemporaryDirectory(prefix="litmus-video-") as folder:
        job, problem = Path(folder), ""
        _write_job(job, path.suffix.lower(), task, policy, seed)
        for library in list_libraries():
            problem = _draw(job, library)
            if not problem:
                told = json.loads((job / "result.json").read_text())
                data = (job / f"video{path.suffix.lower()}").read_bytes()
                break
            if (job / "is-final").exists():
                raise BadInput(f"no video could be made: {problem}")
        else:
            raise BadInput(f"no video could be made: {problem}")
    try:
        write_bytes(path, data)
    except OSError as error:
        raise BadInput(f"cannot write to {path}: {error.strerror}") from error
    return Video(path, told["seconds"], told["return"], told["is_whole"])


def _write_job(job: Path, suffix: str, task: TaskSpec, policy: Policy, seed: int) -> None:
    normalizer = policy.normalizer
    np.savez(
        job / "arrays.npz",
        flat_params=policy.flat_params.cpu().numpy(),
        mean=normalizer.mean,
        std=normalizer.std,
    )
    described = {
        "suffix": suffix,
        "task": task.factory,
        "arguments": dict(task.arguments),
        "architecture": architecture_to_json(policy.architecture),
        "seed": seed,
    }
    (job / "job.json").write_text(json.dumps(described))


def _draw(job: Path, library: str) -> str:
    """Run the process that draws; returns what was wrong, in one line, or nothing."""
    environment = {
        **os.environ,
        "MUJOCO_GL": library,
        "PYOPENGL_PLATFORM": library,
        "SDL_VIDEODRIVER": "dummy",
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    try:
        done = subprocess.run(
            [sys.executable, "-m", "litmus.reports.video_worker", str(job)],
            env=environment,
            cwd=job,  # MuJoCo writes its log where it stands
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        (job / "is-final").touch()
        return f"it took over {MOST_SECONDS} s"
    if done.returncode == 0:
        return ""
    told = job / "problem.txt"
    return told.read_text() if told.exists() else find_error(done.stderr)
