"""The policies that an evaluator is fitted to: of zoos and runs, thinned evenly, all in memory."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from litmus.analysis.statistics import spread_evenly
from litmus.errors import BadInput, option
from litmus.policies.architecture import ARCHITECTURES, Architecture
from litmus.policies.grouped import GroupedPopulation, RawPolicy
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.machine import find_memory
from litmus.runs.measured import MeasuredPolicies, MeasuredPolicy, TaskChoice
from litmus.runs.zoo import Source, read_measured

SHARE_OF_MEMORY = 0.5
FEWEST_LEFT = 5
"""Policies of other lineages, to learn from where one is left out."""


@dataclass(frozen=True)
class FitData:
    task: TaskChoice
    measured: Sequence[MeasuredPolicy]
    policies: Sequence[RawPolicy]
    returns: NDArray[np.float64]  # [N], mean over each policy's episodes
    episodes: NDArray[np.int64]  # [N]
    lineages: NDArray[np.str_]  # [N]
    architectures: NDArray[np.str_]  # [N]
    algorithms: NDArray[np.str_]  # [N]
    head_units: list[list[float]]
    normalizer: Normalizer
    """What the policies saw, on average: the coordinates of probing states."""
    episode_spread: float | None
    """Standard deviation of one policy's episodes, where policies have several."""
    is_truth: NDArray[np.bool_] | None = None  # [N]
    """Whose return is known well enough to judge an evaluator by; None: all alike."""

    @cached_property
    def state_shape(self) -> tuple[int, ...]:
        return tuple(self.policies[0].architecture.state_shape)

    @cached_property
    def can_leave_lineages_out(self) -> bool:
        """Whether enough is left to learn from without any one of them."""
        _, counts = np.unique(self.lineages, return_counts=True)
        return len(counts) > 1 and len(self.lineages) - int(counts.max()) >= FEWEST_LEFT

    @cached_property
    def lineage_names(self) -> list[str]:
        return sorted(set(self.lineages.tolist()))

    def trusted(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Those of them by whose returns an evaluator is judged."""
        return places if self.is_truth is None else places[self.is_truth[places]]

    def population(self, places: NDArray[np.int64]) -> GroupedPopulation:
        return GroupedPopulation([self.policies[place] for place in places])


def read_fit_data(
    paths: Sequence[Source], most: int, device: torch.device | None = None
) -> FitData:
    """The policies of these zoos and runs; at most so many, shared evenly by the lineages. One that
    is there twice, in a copy of its run, say, counts once."""
    sources = [read_measured(path) for path in paths]
    task = sources[0].task
    for path, source in zip(paths, sources, strict=True):
        # Returns count a survival bonus anyway, and data may lie anywhere.
        same = replace(source.task, survival_bonus=task.survival_bonus, data=task.data)
        if same != task:
            raise BadInput(
                f"{path} was measured in {source.task.task} and {paths[0]} in {task.task}: an "
                "evaluator is for one task, with the same options"
            )
    lineages = {one.lineage for source in sources for one in source.policies}
    chosen = thin(sources, max(1, most // max(1, len(lineages))))
    _check_alike(chosen)
    _check_memory(chosen)
    chosen, built = drop_copies(chosen)
    policies = []
    for one, flat_params in zip(chosen, built, strict=True):
        raw = RawPolicy.of(one.architecture, flat_params, one.normalizer)
        policies.append(raw if device is None else raw.to(device))
    return FitData(
        task,
        chosen,
        policies,
        np.array([one.mean_return for one in chosen]),
        np.array([len(one.returns) for one in chosen]),
        np.array([one.lineage for one in chosen]),
        np.array([name_architecture(one.architecture) for one in chosen]),
        np.array([one.algorithm for one in chosen]),
        chosen[0].architecture.head.units.tolist(),
        average_normalizer([one.normalizer for one in chosen]),
        _find_episode_spread(chosen),
    )


def thin(sources: Sequence[MeasuredPolicies], per_lineage: int) -> list[MeasuredPolicy]:
    """Evenly over the history of each lineage."""
    groups: dict[str, list[MeasuredPolicy]] = {}
    for source in sources:
        for one in source.policies:
            groups.setdefault(one.lineage, []).append(one)
    chosen = []
    for group in groups.values():
        chosen += [group[place] for place in spread_evenly(len(group), per_lineage)]
    return chosen


def drop_copies(
    policies: Sequence[MeasuredPolicy],
) -> tuple[list[MeasuredPolicy], list[NDArray[np.float32]]]:
    """Each policy once, as it was measured in most episodes, with its flat parameters."""
    built = [one.build().copy() for one in policies]
    places: dict[tuple[Architecture, bytes], int] = {}
    for place, (one, flat_params) in enumerate(zip(policies, built, strict=True)):
        parts = (flat_params, one.normalizer.mean, one.normalizer.std)
        numbers = hashlib.sha256(b"".join(part.tobytes() for part in parts)).digest()
        known = places.setdefault((one.architecture, numbers), place)
        if len(one.returns) > len(policies[known].returns):
            places[one.architecture, numbers] = place
    kept = sorted(places.values())
    return [policies[place] for place in kept], [built[place] for place in kept]


def name_architecture(architecture: Architecture) -> str:
    """'mlp 64x64', say: what differs between architectures in words."""
    hidden = getattr(architecture, "hidden", None)
    name = ARCHITECTURES.name_of(architecture)
    if hidden is None:
        return name
    return f"{name} {'x'.join(map(str, hidden))}" if hidden else f"{name} linear"


def average_normalizer(normalizers: Sequence[Normalizer]) -> Normalizer:
    """Mean and spread over all of them, those that do nothing left out unless all do."""
    active = [one for one in normalizers if not (np.all(one.mean == 0) and np.all(one.std == 1))]
    used = active or normalizers
    means, stds = (np.stack([getattr(one, name) for one in used]) for name in ("mean", "std"))
    mean = means.mean(0)
    return Normalizer(mean, np.sqrt((stds**2 + (means - mean) ** 2).mean(0)))


def _find_episode_spread(policies: Sequence[MeasuredPolicy]) -> float | None:
    variances = [np.var(one.returns, ddof=1) for one in policies if len(one.returns) > 1]
    return float(math.sqrt(np.mean(variances))) if variances else None


def _check_alike(policies: Sequence[MeasuredPolicy]) -> None:
    first = policies[0].architecture
    for one in policies:
        if one.architecture.state_shape != first.state_shape:
            raise BadInput("these policies take states of different shapes")
        if one.architecture.head.size != first.head.size:
            raise BadInput(
                f"policies with {first.head.size} and {one.architecture.head.size} action "
                "parameters cannot be judged by one evaluator: gaussian and deterministic ones?"
            )


def _check_memory(policies: Sequence[MeasuredPolicy]) -> None:
    needed = 4.0 * sum(one.architecture.num_params for one in policies)
    if needed > SHARE_OF_MEMORY * find_memory():
        raise BadInput(
            f"{len(policies):,} policies take {needed / 2**30:.1f} GB: take fewer with "
            f"{option('policies')}"
        )
