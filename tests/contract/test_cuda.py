"""On a GPU the same rounds are learned, within float tolerance. Skipped where there is none."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tiny_images import OPTIONS, write_set

import litmus
from litmus.algorithms.adam import Group, make_adam
from litmus.native import gpu_layers
from litmus.native.gpu_adam import GpuAdam
from litmus.policies.actions import ActionHead
from litmus.policies.cnn import CnnArchitecture
from litmus.policies.mlp_population import evaluate_perceptrons, evaluate_under_autograd
from litmus.policies.normalizer import Normalizer
from litmus.policies.rows import Activation, MlpShape
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.batched import BatchedCollector
from litmus.seeding import Stream
from litmus.tasks.base import Episode, TaskSpec
from litmus.tasks.classification import ClassificationTask
from litmus.training.side_by_side import train_side_by_side

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA GPU here")


def train_rounds(
    out: Path, device: str, task: str = "InvertedDoublePendulum-v5", preset: str = "network"
) -> litmus.Run:
    return litmus.train(
        "pssvf",
        task=task,
        preset=preset,
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
@pytest.mark.parametrize("preset", ["network", "default"])
def test_first_rounds_agree_with_the_cpu(preset: str, tmp_path: Path) -> None:
    cpu, cuda = (train_rounds(tmp_path / name, name, preset=preset) for name in ("cpu", "cuda"))
    check_agreement(cpu, cuda)


@needs_gpu
def test_transforms_of_torch_func_go_through_torch() -> None:
    shape = MlpShape(((3, 4), (4, 2)), "tanh")
    flat, asked = torch.randn(2, shape.num_params).cuda(), torch.randn(5, 3).cuda()
    jacobian = torch.func.jacrev(lambda x: evaluate_perceptrons(shape, flat, x))(asked)
    assert jacobian.shape == (2, 5, 2, 5, 3)
    assert jacobian.abs().sum() > 0


@needs_gpu
def test_rounds_on_images_agree_with_the_cpu(tmp_path: Path) -> None:
    options = {**OPTIONS, "preset": "tuned", "probing_smoothing": 2, "steps": 12}
    options |= {"probing_bounds": (0.2, 0.8), "probing_temperature": 3.0}
    runs = [
        litmus.train(
            "pssvf",
            out=tmp_path / device,
            data=str(write_set(tmp_path / "data")),
            quiet=True,
            **{**options, "device": device},
        )
        for device in ("cpu", "cuda")
    ]
    check_agreement(*runs)
    states = [run.evaluator.probing_observations for run in runs]
    torch.testing.assert_close(states[1], states[0], rtol=0, atol=2e-2)


def make_collector(device: str, images: int, size: int = 28) -> BatchedCollector:
    generator = np.random.default_rng(0)
    pixels, labels = generator.random((600, size, size)), generator.integers(10, size=600)
    task = ClassificationTask(pixels, labels, images_per_episode=images, classes=10)
    head = ActionHead.for_task("auto", task.actions)
    architecture = CnnArchitecture(task.state_shape, head, convolution_scale=0.1)
    setting = Setting(TaskSpec("unused:unused"), architecture, seed=3)
    return BatchedCollector(setting, task, device)


def make_request(collector: BatchedCollector, number: int, size: int = 32) -> Request:
    """Every round has another θ, another normaliser and other images."""
    generator = np.random.default_rng(number)
    count, pixels = collector.setting.architecture.num_params, 28 * 28
    return Request(
        generator.normal(0, 0.05, count).astype(np.float32),
        Normalizer(generator.normal(size=pixels), generator.uniform(0.5, 2, size=pixels)),
        0.02,
        Stream.TRAINING,
        range(number * size, (number + 1) * size),
        start_index=number * size,
    )


def describe(episodes: list[Episode]) -> list[tuple[float, float]]:
    return [(one.return_, one.training_return) for one in episodes]


@needs_gpu
@pytest.mark.parametrize("searches", [False, True])
def test_rounds_measured_as_a_graph_are_those_measured_as_they_come(
    searches: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first runs as it is, the second is recorded, the others are replayed. Images come in two
    pieces, and other sizes in between change nothing."""
    monkeypatch.setattr(torch.backends.cudnn, "benchmark", searches)
    captured, plain = (make_collector("cuda", images=1024) for _ in range(2))
    plain.__dict__["graph"] = None
    seen = set()
    for number in range(5):
        for size in (32, 7):
            request = make_request(captured, number, size)
            found, expected = (describe(one.start(request).result()) for one in (captured, plain))
            assert found == expected
            seen.update(found)
    assert len(seen) > 5 * (32 + 7) / 2  # not the same numbers again and again
    assert captured.graph is not None
    assert captured.graph.captured.is_recorded


@needs_gpu
def test_rounds_measured_as_a_graph_agree_with_the_cpu() -> None:
    cuda, cpu = (make_collector(device, images=64) for device in ("cuda", "cpu"))
    for number in range(4):
        request = make_request(cpu, number, size=8)
        here, there = (one.start(request).result() for one in (cpu, cuda))
        for one, other in zip(here, there, strict=True):
            assert other.training_return == pytest.approx(one.training_return, rel=2e-2)


@needs_gpu
def test_run_made_on_a_gpu_is_judged_on_the_cpu(tmp_path: Path) -> None:
    run = train_rounds(tmp_path / "cuda", "cuda")
    assert np.isfinite(run.evaluator.score(run.policy))


@needs_gpu
def test_buffer_that_outgrows_its_table_keeps_learning(tmp_path: Path) -> None:
    run = train_rounds(tmp_path / "cuda", "cuda", task="CartPole-v1")
    assert all(np.isfinite(e["evaluator_loss"]) for e in run.metrics if e["event"] == "round")


def train_blocks(out: Path, device: str, **options: Any) -> litmus.Run:
    """Actions are random, so that all devices learn from the same transitions."""
    given = {"steps": 300, "start_steps": 300, "update_after": 100, **options}
    return litmus.train(
        "ddpg",
        task="InvertedDoublePendulum-v5",
        preset="paper",
        evaluate_every=0,
        device=device,
        seed=3,
        out=out,
        quiet=True,
        **given,
    )


@needs_gpu
@pytest.mark.parametrize("normalize", [False, True])
def test_blocks_of_updates_as_graphs_agree_with_the_cpu(normalize: bool, tmp_path: Path) -> None:
    runs = [
        train_blocks(tmp_path / device, device, normalize_observations=normalize)
        for device in ("cpu", "cuda")
    ]
    on_cpu, on_cuda = ([e for e in run.metrics if "critic_loss" in e] for run in runs)
    assert len(on_cpu) == 5  # the first runs as it is, the second is recorded, the others replayed
    for here, there in zip(on_cpu, on_cuda, strict=True):
        for name in ("critic_loss", "policy_value"):
            assert there[name] == pytest.approx(here[name], rel=5e-2), name


@needs_gpu
def test_transitions_learned_from_on_a_gpu_are_resumed(tmp_path: Path) -> None:
    whole = train_blocks(tmp_path / "whole", "cuda", steps=500)
    train_blocks(tmp_path / "run", "cuda")
    longer = litmus.resume(tmp_path / "run", steps=500, quiet=True)
    assert longer.metrics[-1]["steps"] == whole.metrics[-1]["steps"] == 500
    last, expected = ([e for e in run.metrics if "critic_loss" in e] for run in (longer, whole))
    assert last[6]["critic_loss"] == pytest.approx(expected[6]["critic_loss"], rel=5e-2)


@needs_gpu
@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("shares_states", [True, False])
@pytest.mark.parametrize("sizes", [((11, 70), (70, 33), (33, 3)), ((17, 256), (256, 1)), ((5, 2),)])
def test_layers_in_kernels_are_those_of_torch(
    sizes: tuple[tuple[int, int], ...], shares_states: bool, activation: Activation
) -> None:
    shape, generator = MlpShape(sizes, activation), torch.Generator("cuda").manual_seed(0)

    def draw(*size: int) -> torch.Tensor:
        return torch.randn(*size, device="cuda", generator=generator).requires_grad_()

    rows = draw(3, shape.num_params)
    states = draw(50, sizes[0][0]) if shares_states else draw(3, 50, sizes[0][0])
    assert gpu_layers.can_evaluate(shape, rows, states)
    found = gpu_layers.evaluate(shape, rows, states)
    expected = evaluate_under_autograd(shape, rows.double(), states.double())
    weights = draw(*found.shape).detach()
    gradients, wanted = (
        torch.autograd.grad((one * weights.to(one.dtype)).sum(), (rows, states))
        for one in (found, expected)
    )
    for one, other in zip((found, *gradients), (expected, *wanted), strict=True):
        torch.testing.assert_close(one, other.float(), rtol=1e-3, atol=1e-4 * float(other.std()))


@needs_gpu
def test_adam_in_one_kernel_is_that_of_torch() -> None:
    start = torch.randn(3000, device="cuda", generator=torch.Generator("cuda").manual_seed(0))
    ours, theirs = (start.clone().requires_grad_() for _ in range(2))
    optimizers = make_adam(Group(1e-2, [ours])), torch.optim.Adam([theirs], lr=1e-2)
    assert isinstance(optimizers[0], GpuAdam)
    for number in range(20):
        gradient = torch.sin(start * number)
        for one, optimizer in zip((ours, theirs), optimizers, strict=True):
            one.grad = gradient.clone()
            optimizer.step()
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    assert float(optimizers[0].state[ours]["step"]) == 20


@needs_gpu
def test_blocks_of_several_runs_as_one_graph_are_those_of_each(tmp_path: Path) -> None:
    alone = train_blocks(tmp_path / "alone", "cuda", steps=400)
    configs = [replace(alone.config, seed=seed) for seed in (alone.config.seed, 4)]
    folders = [tmp_path / f"seed-{config.seed}" for config in configs]
    train_side_by_side(list(zip(configs, folders, strict=True)))
    found, expected = (
        [event["critic_loss"] for event in run.metrics if "critic_loss" in event]
        for run in (litmus.Run(folders[0]), alone)
    )
    assert len(found) == 7
    np.testing.assert_allclose(found, expected, rtol=5e-2)
