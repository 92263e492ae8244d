"""What a number needs beside it to be made again: command, versions, commit, hardware."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

from litmus.native.library import find_library

PACKAGES = ("litmus-rl", "torch", "gymnasium", "mujoco", "numpy", "safetensors", "triton")


def describe_process() -> dict[str, Any]:
    return {
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]],
        "commit": _find_commit(),
        "versions": {"python": platform.python_version(), **_list_versions()},
        "hardware": {
            "system": f"{platform.system()} {platform.machine()}",
            "processor": _find_processor(),
            "cores": os.cpu_count(),
            "gpu": _find_gpu(),
            "kernels": find_kernels(),
        },
    }


@cache
def _list_versions() -> dict[str, str]:
    versions = {}
    for package in PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


@cache
def _find_commit() -> str | None:
    """The commit of the checkout that this file belongs to, if it belongs to one."""
    if _ask_git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None  # installed: a repository around it is another project's
    commit = _ask_git("rev-parse", "HEAD")
    changes = _ask_git("status", "--porcelain", "--untracked-files=no")
    return f"{commit}-dirty" if commit and changes else commit


def _ask_git(*arguments: str) -> str | None:
    try:
        done = subprocess.run(
            # Without writing: a training that is killed here would leave the index locked.
            ["git", "--no-optional-locks", *arguments],
            cwd=Path(__file__).parent,
            capture_output=True,
            text=True,
            timeout=5,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout.strip() or None) if done.returncode == 0 else None


def _find_processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor()


def find_kernels() -> str | None:
    """The instruction set of the compiled kernels in use."""
    library = find_library()
    return None if library is None else {8: "AVX2", 16: "AVX-512"}[library.lanes]


def _find_gpu() -> str | None:
    import torch

    return torch.cuda.get_device_name() if torch.cuda.is_available() else None
