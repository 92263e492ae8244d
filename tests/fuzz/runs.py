"""The tiny runs that are damaged."""

from __future__ import annotations

from pathlib import Path

from harness import PROCESS, interrupt, train_tiny

KINDS = ("finished", "unfinished", "vanilla", "solved", "solved, unfinished")


def make_runs(folder: Path) -> dict[str, Path]:
    """One that is finished, one that was stopped after three of its five rounds, one whose
    evaluator asks no probing states, and two whose evaluator is solved for."""
    train_tiny(folder / "finished", checkpoint_seconds=0)
    train_tiny(folder / "vanilla", "vanilla-pssvf", checkpoint_seconds=0)
    interrupt(lambda: train_tiny(folder / "unfinished", checkpoint_seconds=0), rounds=2)
    solved = {**PROCESS, "checkpoint_seconds": 0}
    train_tiny(folder / "solved", **solved)
    interrupt(lambda: train_tiny(folder / "solved, unfinished", **solved), rounds=2)
    return {kind: folder / kind for kind in KINDS}
