"""How the offline experiment on images is done: in the paper's way, and in ours."""

from __future__ import annotations

from dataclasses import dataclass

from litmus.fields import Values


@dataclass(frozen=True)
class OfflineSettings:
    policies: int
    """Measured, before those above the accuracy are thrown away."""
    noise: float
    """Standard deviation of what is added to a CNN that was just initialised."""
    heads: tuple[tuple[int, ...], ...]
    """Hidden layers of each evaluator; what they agree on is climbed."""
    updates: int
    batch_size: int
    familiarity_weight: float
    """Of how far a policy's probing actions are from those seen, against what V promises."""
    probing_lr: float = 1e-3
    evaluator_lr: float = 1e-3
    most_accuracy: float = 0.12
    images: int = 1024
    probing_states: int = 200
    climb_lr: float = 1e-3
    climb_steps: int = 200
    fresh: int = 8
    """CNNs that climb."""


PRESETS = {
    "paper": OfflineSettings(
        policies=90_000,
        noise=0.1,
        heads=((64, 64),),
        updates=90_000,
        batch_size=4,
        familiarity_weight=0.0,
    ),
    # Near-uniform answers make returns almost linear in the logits: little noise keeps CNNs there.
    "tuned": OfflineSettings(
        policies=75_000,
        noise=0.01,
        heads=((), (), (), ()),
        updates=6_000,
        batch_size=64,
        familiarity_weight=2.0,
        probing_lr=1e-2,
        evaluator_lr=1e-2,
    ),
}


def read_settings(values: Values) -> OfflineSettings:
    heads = tuple(tuple(one) for one in values["heads"])
    return OfflineSettings(**{**values, "heads": heads})
