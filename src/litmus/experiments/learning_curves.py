"""C1: PSSVF beside ARS and DDPG on six MuJoCo tasks."""

from __future__ import annotations

from litmus.algorithms import ALGORITHMS
from litmus.experiments.grid import Grid, Variant
from litmus.tasks.names import find_body

TASKS = (
    *("Walker2d-v5", "Swimmer-v5", "HalfCheetah-v5", "Ant-v5", "Hopper-v5"),
    "InvertedDoublePendulum-v5",
)
SEEDS = tuple(range(100, 110))
"""Of everything that is reported: options are chosen on seeds below 100."""

PAPER = {
    "Walker2d": {"pssvf": (2333.0, 343.0), "ars": (1488.0, 961.0), "ddpg": (2432.0, 1330.0)},
    "Swimmer": {"pssvf": (349.0, 60.0), "ars": (342.0, 21.0), "ddpg": (129.0, 25.0)},
    "HalfCheetah": {"pssvf": (3067.0, 820.0), "ars": (2497.0, 611.0), "ddpg": (10695.0, 1358.0)},
    "Ant": {"pssvf": (1549.0, 240.0), "ars": (1697.0, 225.0), "ddpg": (466.0, 716.0)},
    "Hopper": {"pssvf": (2969.0, 165.0), "ars": (2340.0, 199.0), "ddpg": (1634.0, 1036.0)},
    "InvertedDoublePendulum": {
        "pssvf": (7649.0, 2640.0),
        "ars": (4515.0, 2733.0),
        "ddpg": (7377.0, 3770.0),
    },
}
"""The paper's table of final returns: mean and standard deviation over 20 runs, on -v3 and -v2."""


def count_steps(task: str) -> int:
    """The paper's number of steps."""
    body = find_body(task)
    return int((body.paper if body else {}).get("steps", 3_000_000))


LEARNING_CURVES = Grid(
    title="PSSVF, ARS and DDPG on the paper's six tasks",
    tasks=TASKS,
    variants=tuple(
        variant
        for variant in (
            Variant("pssvf", "pssvf"),
            Variant("pssvf-paper", "pssvf", "paper"),
            Variant("ars", "ars", "paper"),
            Variant("ddpg", "ddpg", "paper"),
        )
        if variant.algorithm in ALGORITHMS
    ),
    seeds=SEEDS,
    steps=count_steps,
    paper={task: {**row, "pssvf-paper": row["pssvf"]} for task, row in PAPER.items()},
)
