"""The options of `litmus fit` and `litmus improve`. This module does not import torch."""

from __future__ import annotations

from dataclasses import dataclass

from litmus.fields import MOST_UNITS, between


@dataclass(frozen=True)
class FitSettings:
    """How an evaluator is fitted."""

    members: int = between(1, 64, 4)
    """Evaluators that judge together."""
    probing_states: int = between(1, MOST_UNITS, 24)
    """Number K of learned states that each member asks every policy in."""
    hidden: tuple[int, ...] = between(1, MOST_UNITS, (128, 128))
    """Units of each hidden layer of the evaluators."""
    updates: int = between(1, 10**7, 2000)
    """Most updates of one fit; fewer where left-out lineages say so."""
    checks: int = between(1, 1000, 8)
    """How often left-out lineages are asked about during a fit."""
    batch_size: int = between(2, MOST_UNITS, 32)
    """Policies in one update."""
    lr: float = between(0, 1e3, 3e-3)
    """Adam's learning rate of the heads."""
    probing_lr: float = between(0, 1e3, 3e-2)
    """Adam's learning rate of the probing states."""
    weight_decay: float = between(0, 1, 1e-4)
    """By which share the heads' weights shrink in each update."""
    averaging: float = between(0, 1, 0.99)
    """What is kept of the averaged weights in each update."""
    policies: int = between(1, 10**7, 500)
    """Most policies of each lineage, evenly over its history."""
    folds: int = between(2, 1000, 5)
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
