"""The paper's search for ARS' options: every combination of step size, directions and noise."""

from __future__ import annotations

from litmus.experiments.grid import Grid, Variant
from litmus.experiments.learning_curves import TASKS, count_steps

STEP_SIZES = (1e-2, 1e-3, 1e-4)
DIRECTIONS = ((1, 1), (8, 4), (8, 8), (32, 4), (32, 16), (64, 8), (64, 32))
"""How many are tried, and how many of them the step is made of."""
NOISES = (0.1, 0.05, 0.025)

ARS_GRID = Grid(
    title="Step size, directions and noise of ARS",
    tasks=TASKS,
    variants=tuple(
        Variant(
            f"step={step:g},directions={directions},top={top},noise={noise:g}",
            "ars",
            "paper",
            {"step_size": step, "directions": directions, "top_directions": top, "noise": noise},
        )
        for step in STEP_SIZES
        for directions, top in DIRECTIONS
        for noise in NOISES
    ),
    seeds=(0, 1, 2),  # to choose by, not to report
    steps=count_steps,
)
