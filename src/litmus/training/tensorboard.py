"""TensorBoard event files, behind the extra `[tensorboard]`."""

from __future__ import annotations

from typing import Any, Protocol

from litmus.config import TrainConfig
from litmus.errors import BadInput, option
from litmus.runs.metrics import Event
from litmus.runs.run import Run


class TensorboardLog(Protocol):
    def write(self, event: Event) -> None: ...

    def close(self) -> None: ...


class NoLog:
    def write(self, event: Event) -> None:
        pass

    def close(self) -> None:
        pass


class EventLog:
    def __init__(self, run: Run, steps: int) -> None:
        # purge_step: what an interrupted run wrote after its checkpoint is not shown twice.
        self._writer = _import_writer()(str(run.path / "tensorboard"), purge_step=steps)

    def write(self, event: Event) -> None:
        for name, value in event.items():
            if name not in ("steps", "wall_s") and isinstance(value, int | float):
                self._writer.add_scalar(f"{event['event']}/{name}", value, event["steps"])

    def close(self) -> None:
        self._writer.close()


def check_tensorboard(config: TrainConfig) -> None:
    """Say that the extra is missing before a run directory is made."""
    if config.tensorboard:
        _import_writer()


def _import_writer() -> Any:
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise BadInput(
            f"{option('tensorboard')} needs the tensorboard package: "
            "pip install 'litmus-rl[tensorboard]'"
        ) from error
    return SummaryWriter


def make_tensorboard(run: Run, config: TrainConfig, steps: int) -> TensorboardLog:
    return EventLog(run, steps) if config.tensorboard else NoLog()
