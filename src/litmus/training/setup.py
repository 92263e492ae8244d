"""What a run needs before its loop can start: the policy network, the device, the threads."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch

from litmus.config import TrainConfig
from litmus.errors import BadInput, option
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Architecture, make_architecture
from litmus.policies.consistency import check_architecture
from litmus.tasks.base import TaskSpec


def design_policy(config: TrainConfig, spec: TaskSpec) -> Architecture:
    """The policy network for a task."""
    task = spec.build()
    try:
        head = ActionHead.for_task(config.distribution, task.actions)
        config.check_task(task, head.distribution)
        options = config.architecture_options
        made = make_architecture(config.architecture, task.state_shape, head, **options)
    finally:
        task.close()
    if not type(made).__module__.startswith("litmus."):
        check_architecture(made)
    return made


def choose_device(name: str) -> torch.device:
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise BadInput(f"{option('device', 'cuda')}: no CUDA GPU is available here")
    if name not in ("cpu", "cuda"):
        raise BadInput(f"{option('device', name)}: choose from auto, cpu, cuda")
    return torch.device(name)


@contextlib.contextmanager
def torch_threads(device: torch.device, cores: int) -> Iterator[None]:
    """The learner shares the cores with the workers; beside a GPU one thread is enough. There,
    convolutions of the same shapes come again and again: the fastest way is worth finding."""
    threads, benchmark = torch.get_num_threads(), torch.backends.cudnn.benchmark
    torch.set_num_threads(cores if device.type == "cpu" else 1)
    torch.backends.cudnn.benchmark = benchmark or device.type == "cuda"
    try:
        yield
    finally:
        torch.set_num_threads(threads)
        torch.backends.cudnn.benchmark = benchmark
