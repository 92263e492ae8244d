"""The options of `litmus.train`, as editors and type checkers see them.

Each is a field of a configuration (`config.py`, `policies/mlp.py`, `evaluators/__init__.py`), which
says what it means and what its default is; a test keeps the two alike.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeAlias, TypedDict

Whole: TypeAlias = int | float
"""A whole number; 1e5 is one too."""


class SharedKeywords(TypedDict, total=False):
    """What every algorithm shares, and the options of a perceptron."""

    task: str
    env_kwargs: Mapping[str, Any]
    data: str | None
    max_episode_steps: Whole | None
    seed: Whole
    steps: Whole
    workers: Whole | None
    collector: Literal["local", "ray"]
    ray_address: str | None
    device: Literal["auto", "cpu", "cuda"]
    architecture: str
    hidden: Sequence[int]
    activation: Literal["tanh", "relu"]
    distribution: Literal["auto", "deterministic", "gaussian", "categorical"]
    normalize_observations: bool
    survival_bonus: Literal["auto", "idle", "keep", "remove"]
    evaluate_every: Whole
    evaluate_episodes: Whole
    selection_share: float
    selection_episodes: Whole
    checkpoint_seconds: float
    history_rounds: Whole
    tensorboard: bool


class VanillaKeywords(SharedKeywords, total=False):
    """Of vanilla-pssvf."""

    beginnings: Whole
    round_size: Whole
    round_steps: Whole
    max_round_size: Whole
    overlap: bool
    shared_start: bool
    noise: float
    noise_decay: float
    final_noise: float
    evaluator: str
    evaluator_hidden: Sequence[int]
    evaluator_activation: Literal["tanh", "relu"]
    policy_lr: float
    policy_step: float
    policy_step_decay: float
    policy_average: float
    evaluator_lr: float
    evaluator_lr_decay: float
    policy_updates: Whole
    evaluator_updates: Whole
    round_turns: Whole
    batch_size: Whole
    batches: Literal["mixed", "rounds"]
    buffer_size: Whole
    recency: float
    recency_unit: Literal["episode", "round"]
    standardize_returns: bool


class PssvfKeywords(VanillaKeywords, total=False):
    """Of pssvf, with either kind of evaluator that asks in probing states."""

    remembered_policies: Whole
    noise_change: float
    cut_steadiness: float
    probing_states: Whole
    probing_low: float
    probing_high: float
    probing_lr: float
    probing_settled: float
    probing_averaged: float
    probing_average_until: float
    probing_decay: float
    probing_smoothing: Whole
    probing_bounds: Sequence[float]
    probing_temperature: float
    evaluator_unit_actions: bool


class ArsKeywords(SharedKeywords, total=False):
    """Of ars."""

    directions: Whole
    top_directions: Whole
    step_size: float
    noise: float


class DdpgKeywords(SharedKeywords, total=False):
    """Of ddpg."""

    noise: float
    start_steps: Whole
    update_after: Whole
    update_every: Whole
    updates: Whole
    batch_size: Whole
    buffer_size: Whole
    policy_lr: float
    critic_lr: float
    critic_hidden: Sequence[int]
    discount: float
    polyak: float


def show_keywords(function: Callable[..., Any], defaults: Mapping[str, Any]) -> None:
    """Name each keyword, with its default, in the signature that notebooks and `help` show."""
    shown = inspect.signature(function)
    own = [one for one in shown.parameters.values() if one.kind is not one.VAR_KEYWORD]
    rest = [one for one in shown.parameters.values() if one.kind is one.VAR_KEYWORD]
    named = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(name),
            annotation=annotation,
        )
        for name, annotation in PssvfKeywords.__annotations__.items()
    ]
    changed = shown.replace(parameters=[*own, *named, *rest])
    setattr(function, "__signature__", changed)  # noqa: B010 - a function has no such field
