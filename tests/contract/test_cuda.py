"""On a GPU the same rounds are learned, within float tolerance. Skipped where there is none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import litmus

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here")


def train_rounds(out: Path, device: str, task: str = "InvertedDoublePendulum-v5") -> litmus.Run:
    return litmus.train(
        "pssvf",
        task=task,
        steps=400,
        round_size=8,
        overlap=False,
        evaluate_every=0,
        device=device,
        seed=3,
        out=out,
        quiet=True,
    )


def check_agreement(cpu: litmus.Run, cuda: litmus.Run) -> None:
    on_cpu, on_cuda = (
        [event for event in run.metrics if event["event"] == "round"][:3] for run in (cpu, cuda)
    )
    assert len(on_cpu) == 3
    for here, there in zip(on_cpu, on_cuda, strict=True):
        assert here["steps"] == there["steps"]
        for name in ("mean", "evaluator_loss", "predicted_return"):
            assert there[name] == pytest.approx(here[name], rel=2e-2), name


@needs_gpu
def test_first_rounds_agree_with_the_cpu(tmp_path: Path) -> None:
    check_agreement(train_rounds(tmp_path / "cpu", "cpu"), train_rounds(tmp_path / "cuda", "cuda"))


@needs_gpu
def test_run_made_on_a_gpu_is_judged_on_the_cpu(tmp_path: Path) -> None:
    run = train_rounds(tmp_path / "cuda", "cuda")
    assert np.isfinite(run.evaluator.score(run.policy))


@needs_gpu
def test_buffer_that_outgrows_its_table_keeps_learning(tmp_path: Path) -> None:
    run = train_rounds(tmp_path / "cuda", "cuda", task="CartPole-v1")
    assert all(np.isfinite(e["evaluator_loss"]) for e in run.metrics if e["event"] == "round")
