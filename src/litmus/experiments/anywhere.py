"""One preset for all: thirteen tasks that nobody tuned it for, and five bodies for longer."""

from __future__ import annotations

from litmus.experiments.grid import Grid, Variant
from litmus.experiments.learning_curves import PAPER, SEEDS
from litmus.experiments.random_policy import RANDOM
from litmus.experiments.sb3_ars import SB3_ARS

SHORT = (
    *("CartPole-v1", "Acrobot-v1", "MountainCarContinuous-v0", "Pendulum-v1"),
    *("litmus.experiments.toys:PointMass", "litmus.experiments.toys:ImageGrid"),
)
"""Classic control and toys: 200,000 steps."""
LONG = (
    *("LunarLander-v3", "LunarLanderContinuous-v3", "Reacher-v5", "Pusher-v5"),
    *("InvertedPendulum-v5", "InvertedDoublePendulum-v5", "BipedalWalker-v3"),
)


def count_steps(task: str) -> int:
    return 200_000 if task in SHORT else 1_000_000


ANYWHERE = Grid(
    title="One preset on tasks that nobody tuned it for",
    tasks=(*SHORT, *LONG),
    variants=(Variant("pssvf", "pssvf"),),
    seeds=SEEDS,
    steps=count_steps,
    beside=(SB3_ARS, RANDOM),
)

CONTROL = Grid(
    title="The default preset on five bodies",
    tasks=("Swimmer-v5", "Hopper-v5", "Walker2d-v5", "HalfCheetah-v5", "Ant-v5"),
    variants=(Variant("pssvf", "pssvf"),),
    seeds=SEEDS,
    steps=lambda task: 3_000_000,
    beside=(RANDOM,),
    paper=PAPER,
)
