"""The compiled kernels are used where they can be, and nowhere else."""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from litmus.native import library
from litmus.native.library import find_library


def supports_avx2() -> bool:
    try:
        return " avx2 " in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


@pytest.mark.skipif(
    platform.machine() != "x86_64" or not supports_avx2() or shutil.which("cc") is None,
    reason="needs an x86-64 processor with AVX2, and a C compiler",
)
@pytest.mark.skipif(os.environ.get("LITMUS_NATIVE") == "0", reason="switched off")
def test_where_there_is_a_compiler_they_were_built() -> None:
    assert find_library() is not None


def ask(code: str, **environment: str) -> str:
    """What a fresh process prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_they_can_be_switched_off() -> None:
    code = "from litmus.native.library import find_library; print(find_library())"
    assert ask(code, LITMUS_NATIVE="0") == "None"


def test_training_without_them_gives_the_same_first_round_up_to_rounding() -> None:
    """Everything that the kernels do, numpy and torch can do."""
    code = (
        "import litmus, os; "
        "run = litmus.train('pssvf', task='Hopper-v5', steps=600, evaluate_every=0, seed=3, "
        "out='run-' + os.environ['LITMUS_NATIVE'], quiet=True, workers=0, device='cpu'); "
        "print(*[run.metrics[0][name] for name in ('steps', 'mean', 'evaluator_loss')])"
    )
    without, with_them = (
        [float(number) for number in ask(code, LITMUS_NATIVE=switch).split()]
        for switch in ("0", "1")
    )
    assert with_them[0] == without[0]
    assert with_them[1] == pytest.approx(without[1], rel=1e-3)
    # Eighty steps of Adam, whose first go by the signs of gradients: rounding grows.
    assert with_them[2] == pytest.approx(without[2], rel=5e-2)


def test_a_file_that_is_no_library_is_passed_over(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "_kernels.damaged.so").write_bytes(b"not a library")
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    assert library.find_library.__wrapped__() is None


@pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")
def test_a_library_of_another_version_is_passed_over(monkeypatch) -> None:
    monkeypatch.setattr(library, "INTERFACE", library.INTERFACE + 1)
    assert library.find_library.__wrapped__() is None
