"""The tiny runs that are damaged."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from harness import train_tiny

from litmus.training.trainer import Trainer

KINDS = ("finished", "unfinished", "vanilla")


def make_runs(folder: Path) -> dict[str, Path]:
    """One that is finished, one that was stopped after three of its five rounds, and one whose
    evaluator asks no probing states."""
    train_tiny(folder / "finished", checkpoint_seconds=0)
    train_tiny(folder / "vanilla", "vanilla-pssvf", checkpoint_seconds=0)
    iterate = Trainer._iterate

    def pressing(trainer: Any) -> None:
        if trainer.counters.rounds == 2:
            os.kill(os.getpid(), signal.SIGINT)
        iterate(trainer)

    Trainer._iterate = pressing  # type: ignore[method-assign]
    try:
        train_tiny(folder / "unfinished", checkpoint_seconds=0)
    except KeyboardInterrupt:
        pass
    finally:
        Trainer._iterate = iterate  # type: ignore[method-assign]
    return {kind: folder / kind for kind in KINDS}
