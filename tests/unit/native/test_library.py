"""The compiled kernels are used where they can be, and nowhere else."""

from __future__ import annotations

import os
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from harness import run_python

import litmus
from litmus.native import library
from litmus.native.gpu_layers import find_kernels
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


def test_they_can_be_switched_off() -> None:
    code = "from litmus.native.library import find_library; print(find_library())"
    assert run_python("-c", code, env={"LITMUS_NATIVE": "0"}).stdout == "None\n"


@pytest.fixture
def gpu_kernels(monkeypatch) -> Iterator[Callable[[], Any]]:
    """Looks for Triton's kernels, on what seems to be a machine with a GPU."""
    monkeypatch.delenv("LITMUS_NATIVE", raising=False)
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda: (9, 0))
    monkeypatch.setitem(sys.modules, "litmus.native.gpu_kernels", ModuleType("gpu_kernels"))
    find_kernels.cache_clear()
    yield find_kernels
    find_kernels.cache_clear()


def test_where_triton_cannot_build_a_kernel_torch_does_the_work(
    gpu_kernels, monkeypatch, caplog
) -> None:
    """It needs a C compiler, and raises when it first starts a kernel."""

    def lack(kernels: Any) -> None:
        raise RuntimeError("Failed to find C compiler")

    monkeypatch.setattr("litmus.native.gpu_layers._try_out", lack)
    assert gpu_kernels() is gpu_kernels() is None
    (record,) = caplog.records
    assert "Failed to find C compiler" in record.getMessage()


@pytest.mark.parametrize(
    ("capability", "native", "are_there"),
    [((9, 0), "1", True), ((9, 0), "0", False), ((7, 5), "1", False)],
)
def test_tritons_kernels_can_be_switched_off_and_are_for_newer_gpus(
    capability, native, are_there, gpu_kernels, monkeypatch
) -> None:
    monkeypatch.setenv("LITMUS_NATIVE", native)
    monkeypatch.setattr("torch.cuda.get_device_capability", lambda: capability)
    monkeypatch.setattr("litmus.native.gpu_layers._try_out", lambda kernels: None)
    assert (gpu_kernels() is not None) == are_there


def train(out: str, **options: Any) -> list[float]:
    """What the first round of a run was like."""
    common = {"workers": 0, "device": "cpu", "seed": 3, "evaluate_every": 0}
    run = litmus.train("pssvf", out=out, quiet=True, **common, **options)
    names = ("steps", "mean", "evaluator_loss", "predicted_return")
    return [run.metrics[0][name] for name in names]


def test_training_without_them_gives_the_same_first_round_up_to_rounding(switch_kernels) -> None:
    """Everything that the kernels do, numpy and torch can do.

    A walk that no action makes longer or shorter, and one update of each kind: what they start from
    is off by some 1e-6. After more of them, or in a body that falls, rounding would decide."""
    options = {"steps": 4, "round_size": 1, "evaluator_updates": 1, "policy_updates": 1}
    rounds = {}
    for switch in ("0", "1"):
        switch_kernels(switch)
        run = f"run-{switch}"
        rounds[switch] = train(run, task="toys:ToyWalk-v0", preset="network", **options)
    assert rounds["1"] == pytest.approx(rounds["0"], rel=1e-3, abs=1e-3)


def test_a_simulated_body_needs_none_of_them(switch_kernels) -> None:
    switch_kernels("0")
    steps, *measured = train("run", task="Hopper-v5", steps=100, preset="small")
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
