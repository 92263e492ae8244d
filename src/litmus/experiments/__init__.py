"""THE PAPER: experiments, each of many runs. Adding one is one new file and one line here.

An experiment makes a `Plan` (`plan.py`) of what the user chose: jobs, and how to write up what they
leave. Most are a `Grid` (`grid.py`) of runs: tasks × algorithms × seeds.
"""

from __future__ import annotations

from litmus.registry import Entry, Registry

EXPERIMENTS = Registry(
    "experiment",
    {
        "learning-curves": Entry(
            "litmus.experiments.learning_curves:LEARNING_CURVES",
            "PSSVF beside ARS and DDPG on the paper's six tasks",
        ),
        "weighting": Entry(
            "litmus.experiments.ablations:WEIGHTING",
            "how much the preference for recent policies in the buffer matters",
        ),
        "vanilla-comparison": Entry(
            "litmus.experiments.ablations:VANILLA_COMPARISON",
            "flat parameters, fingerprints, and fingerprints with weighted sampling",
        ),
        "probing-states-ablation": Entry(
            "litmus.experiments.ablations:PROBING_STATES",
            "how many probing states are enough",
        ),
        "ars-grid": Entry(
            "litmus.experiments.ars_grid:ARS_GRID",
            "the paper's search for the best step size, directions and noise of ARS",
        ),
        "mnist-online": Entry(
            "litmus.experiments.mnist_online:MNIST_ONLINE",
            "images classified from returns alone, with 10 and 50 probing images",
        ),
        "mnist-offline": Entry(
            "litmus.experiments.mnist_offline:MNIST_OFFLINE",
            "from classifiers no better than chance to good ones, through a frozen evaluator",
        ),
        "zero-shot": Entry(
            "litmus.experiments.zero_shot:ZERO_SHOT",
            "a fresh policy of another architecture climbs the frozen V of a run",
        ),
        "clone": Entry(
            "litmus.experiments.cloning:CLONING",
            "a run's policy copied from what it does in a few of its probing states",
        ),
        "judge": Entry(
            "litmus.experiments.judge:JUDGE",
            "how well an evaluator judges, ranks and improves policies of other runs",
        ),
        "anywhere": Entry(
            "litmus.experiments.anywhere:ANYWHERE",
            "one preset on thirteen tasks that nobody tuned it for",
        ),
        "control": Entry(
            "litmus.experiments.anywhere:CONTROL",
            "the same preset on five bodies, for 3 million steps",
        ),
    },
)
