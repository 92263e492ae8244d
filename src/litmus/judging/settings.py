"""The options of `litmus fit` and `litmus improve`. This module does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from litmus.fields import MOST_UNITS, between

FEWEST_POLICIES = 20


@dataclass(frozen=True)
class FitSettings:
    """How an evaluator is fitted."""

    probing_states: int = between(1, MOST_UNITS, 150)
    """Number K of states that every policy is asked in."""
    visits: int = between(1, 100_000, 50)
    """Policies that are run for one episode: the states are among those that they visit."""
    policies: int = between(FEWEST_POLICIES, 100_000, 4000)
    """Most policies to learn from, as many of each lineage, evenly over its history."""
    remeasure: int = between(0, 10_000, 0)
    """Episodes by which 40 policies of each lineage are measured again, so that the card and the
    intervals speak of mean returns and not of single episodes."""
    folds: int = between(2, 1000, 8)
    """Parts that lineages are divided into, each left out once."""
    seed: int = between(0, 2**32 - 1, 0)
    """Of all that is drawn."""


@dataclass(frozen=True)
class ImproveSettings:
    """How a policy climbs an evaluator."""

    steps: int = between(1, 10**6, 400)
    """Most gradient steps."""
    lr: float = between(0, 10, 3e-4)
    """Adam's learning rate."""
    radius: float = between(0, 1e6, 1.0)
    """How far probing actions may move, as the root of the mean squared change, in half ranges of
    the actions."""
