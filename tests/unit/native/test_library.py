"""The compiled kernels are used where they can be, and nowhere else."""

from __future__ import annotations

import os
import platform
import shutil
from pathlib import Path

import numpy as np
import pytest
from harness import run_python

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
    done = run_python("-c", code, env=environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_they_can_be_switched_off() -> None:
    code = "from litmus.native.library import find_library; print(find_library())"
    assert ask(code, LITMUS_NATIVE="0") == "None"


def train(switch: str, options: str) -> list[float]:
    """The first round of a run with the kernels, or without."""
    names = ("steps", "mean", "evaluator_loss", "predicted_return")
    code = (
        f"import litmus; run = litmus.train('pssvf', out='run-{switch}', quiet=True, workers=0, "
        f"device='cpu', seed=3, evaluate_every=0, {options}); "
        f"print(*[run.metrics[0][name] for name in {names}])"
    )
    return [float(number) for number in ask(code, LITMUS_NATIVE=switch).split()]


def test_training_without_them_gives_the_same_first_round_up_to_rounding() -> None:
    """Everything that the kernels do, numpy and torch can do.

    A walk that no action makes longer or shorter, and one update of each kind: what they start from
    is off by some 1e-6. After more of them, or in a body that falls, rounding would decide."""
    options = "task='toys:ToyWalk-v0', steps=4, round_size=1, evaluator_updates=1, policy_updates=1"
    without, with_them = train("0", options), train("1", options)
    assert with_them == pytest.approx(without, rel=1e-3, abs=1e-3)


def test_a_simulated_body_needs_none_of_them() -> None:
    steps, *measured = train("0", "task='Hopper-v5', steps=100, preset='small'")
    assert steps > 0
    assert np.isfinite(measured).all()


def test_a_file_that_is_no_library_is_passed_over(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "_kernels.damaged.so").write_bytes(b"not a library")
    monkeypatch.setattr(library, "__file__", str(tmp_path / "library.py"))
    assert library.find_library.__wrapped__() is None


@pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")
def test_a_library_of_another_version_is_passed_over(monkeypatch) -> None:
    monkeypatch.setattr(library, "INTERFACE", library.INTERFACE + 1)
    assert library.find_library.__wrapped__() is None
