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
            "what preferring recent policies is worth",
        ),
        "vanilla-comparison": Entry(
            "litmus.experiments.ablations:VANILLA_COMPARISON",
            "flat parameters beside fingerprints",
        ),
        "probing-states-ablation": Entry(
            "litmus.experiments.ablations:PROBING_STATES",
            "how many probing states are enough",
        ),
        "ars-grid": Entry(
            "litmus.experiments.ars_grid:ARS_GRID",
            "the paper's search for ARS' best values",
        ),
        "mnist-online": Entry(
            "litmus.experiments.mnist_online:MNIST_ONLINE",
            "images classified from returns alone",
        ),
        "mnist-offline": Entry(
            "litmus.experiments.mnist_offline:MNIST_OFFLINE",
            "good classifiers from a V that saw only bad ones",
        ),
        "zero-shot": Entry(
            "litmus.experiments.zero_shot:ZERO_SHOT",
            "another architecture climbs the frozen V of a run",
        ),
        "clone": Entry(
            "litmus.experiments.cloning:CLONING",
            "a policy copied from what it does in a few states",
        ),
        "judge": Entry(
            "litmus.experiments.judge:JUDGE",
            "how well policies of other runs are judged",
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
