"""THE JUDGE: V(θ), from a population to predicted returns. The registry of its kinds.

Adding one is one new file and one line here. This module does not import torch.
"""

from __future__ import annotations

from dataclasses import dataclass

from litmus.errors import BadInput, option
from litmus.fields import MOST_UNITS, above, between
from litmus.policies.rows import Activation
from litmus.registry import Entry, NoOptions, Registry


@dataclass(frozen=True)
class FlatOptions:
    evaluator_hidden: tuple[int, ...] = between(1, MOST_UNITS, (256, 256))
    """Units of each hidden layer of the evaluator."""
    evaluator_activation: Activation = "relu"
    """Activation of the evaluator's hidden layers."""


@dataclass(frozen=True)
class ProbingOptions:
    probing_states: int = between(1, MOST_UNITS, 200)
    """Number K of states in which every policy is asked what it does."""
    probing_low: float = between(-1e6, 1e6, 0.0)
    """Lower end of the range that probing states are drawn from at first, in normalised
    coordinates."""
    probing_high: float = between(-1e6, 1e6, 1.0)
    """Upper end of that range."""

    def __post_init__(self) -> None:
        if self.probing_high < self.probing_low:
            raise BadInput(
                f"{option('probing_high')} must be at least {option('probing_low')}, "
                f"{self.probing_low}, not {self.probing_high}"
            )


MOST_REMEMBERED = 10_000
"""Policies that an evaluator is solved for: the square of it in numbers must be held."""


@dataclass(frozen=True)
class GaussianProcessOptions(ProbingOptions):
    remembered_policies: int = between(2, MOST_REMEMBERED, 256)
    """Measured policies that the evaluator is solved for: the newest."""
    noise_change: float = between(0, 1e6, 0.0)
    """Let the noise follow what it changes: after each round σ becomes as large as makes perturbed
    policies differ from θ in the probing states by so many half ranges of the actions; it begins as
    noise says, and is at most doubled or halved from round to round. 0: it stays so."""
    cut_steadiness: float = between(0, 1, 0.0)
    """Cut episodes short where rewards come steadily: where at least so much of how whole returns
    vary within a round is told by a quarter or half of each episode, had it gone on as it began.
    Every now and then a round is whole, to see whether it still is so. 0: all episodes are
    whole."""


@dataclass(frozen=True)
class FingerprintOptions(FlatOptions, ProbingOptions):
    probing_lr: float = between(0, 1e30, 0.0)
    """Adam's learning rate for the probing states; 0: as for the rest of the evaluator."""
    probing_settled: float = between(0, 1, 0.0)
    """Share of the run after which probing states stay as they are: till then their learning rate
    falls to 0, along half a cosine. 0: they learn to the end, as the rest of the evaluator."""
    probing_averaged: float = between(0, 1, 0.0)
    """Share of the run after which probing states are the average of what they were after each
    round, and stay so. 0: they learn to the end."""
    probing_average_until: float = above(0, 1.0, 1)
    """Share of the run after which that average takes in no further round; at most the one after
    which it takes the place of the probing states."""
    probing_decay: float = between(0, 1e30, 0.0)
    """How strongly probing states are drawn towards 0: what nothing else speaks for fades."""
    probing_smoothing: int = between(0, 1000, 0)
    """How often probing images are blurred, at first and in each step, over 3 × 3 pixels:
    neighbours learn alike. For tasks whose states are images."""
    probing_bounds: tuple[float, ...] = ()
    """Least and largest number that a probing state may hold, in the environment's own units, such
    as 0 1 for images; none: they may hold any."""
    probing_temperature: float = above(0, 1.0, 1e6)
    """Show the evaluator probabilities of choices as at this temperature: above 1 they are nearer
    to each other, and a choice that is all but certain still tells policies apart. For tasks with
    discrete actions."""
    evaluator_unit_actions: bool = False
    """Show the evaluator actions with two bounds as -1 to 1, whatever the bounds are; others as
    they are."""

    def __post_init__(self) -> None:
        super().__post_init__()
        bounds = self.probing_bounds
        if bounds and not (len(bounds) == 2 and -1e6 <= bounds[0] < bounds[1] <= 1e6):
            raise BadInput(
                f"{option('probing_bounds')} takes two numbers from -1e6 to 1e6, the smaller one "
                "first, not " + " ".join(f"{one:g}" for one in bounds)
            )


EVALUATORS = Registry(
    "evaluator",
    {
        "fingerprint": Entry(
            "litmus.evaluators.fingerprint:FingerprintEvaluator",
            "asks what a policy does in learned probing states",
            FingerprintOptions,
        ),
        "gaussian-process": Entry(
            "litmus.evaluators.gaussian_process:GaussianProcessEvaluator",
            "compares what policies do in probing states: solved for",
            GaussianProcessOptions,
        ),
        "kernel": Entry(
            "litmus.evaluators.kernel:KernelEvaluator",
            "compares fingerprints with a zoo's; `litmus fit` makes it",
            NoOptions,
        ),
        "flat": Entry(
            "litmus.evaluators.flat:FlatEvaluator",
            "reads the flat parameters of a policy: vanilla PSSVF",
            FlatOptions,
        ),
    },
)
