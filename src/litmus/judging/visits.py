"""The states that policies are asked in: those that some of them visit; else drawn by chance."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from litmus.analysis.behaviour import NoSingleSteps, run_behaviour
from litmus.judging.data import FitData
from litmus.judging.settings import FitSettings
from litmus.policies.policy import Policy
from litmus.runs.measured import MeasuredPolicy
from litmus.seeding import Stream, make_generator

DRAWN = 1.7
"""Drawn states lie within this many standard deviations: their own is then 1."""


@dataclass(frozen=True)
class ProbingStates:
    states: NDArray[np.float64]  # [K, *state], normalised coordinates
    lineages: NDArray[np.str_]  # [K]
    """Whose policy visited each; '' where nobody did."""

    def places_without(self, lineages: NDArray[np.str_]) -> NDArray[np.int64]:
        """Where the states are that none of these lineages visited; all, where that leaves none."""
        places = np.flatnonzero(~np.isin(self.lineages, lineages))
        return places if len(places) else np.arange(len(self.lineages))


def find_states(data: FitData, settings: FitSettings) -> ProbingStates:
    """Of one episode of each of `visits` policies, evenly over lineages and their histories."""
    generator = make_generator(settings.seed, Stream.FIT, 0)
    visited: list[NDArray[np.float64]] = []
    lineages: list[str] = []
    visitors = choose_visitors(data, settings.visits)
    shares = np.diff(np.linspace(0, settings.probing_states, len(visitors) + 1).astype(int))
    for place, share in zip(visitors, shares, strict=True):
        if not share:
            continue
        try:
            seen = visit(data, place, settings.seed)
        except NoSingleSteps:
            break
        chosen = generator.choice(len(seen), min(share, len(seen)), replace=False)
        visited.append(seen[np.sort(chosen)])
        lineages += [str(data.lineages[place])] * len(chosen)
    missing = 0 if visited else settings.probing_states
    drawn = generator.uniform(-DRAWN, DRAWN, (missing, *data.state_shape))
    return ProbingStates(np.concatenate([*visited, drawn]), np.array([*lineages, *[""] * missing]))


def choose_visitors(data: FitData, count: int) -> list[int]:
    """Turn by turn from each lineage; of each, evenly over its history."""
    names = data.lineage_names
    found = []
    for turn, name in enumerate(names):
        places = np.flatnonzero(data.lineages == name)
        share = count // len(names) + (turn < count % len(names))
        spread = (np.arange(share) + 0.5) / max(1, share) * len(places)
        found += [int(place) for place in places[spread.astype(int)]]
    return found


def visit(data: FitData, place: int, seed: int) -> NDArray[np.float64]:  # [T, *state]
    """The states of one episode, in normalised coordinates."""
    policy = build_policy(data.measured[place])
    seen = run_behaviour(data.task.spec, policy, seed).states
    normal = (seen - data.normalizer.mean.ravel()) / data.normalizer.std.ravel()
    return normal.reshape(-1, *data.state_shape)


def build_policy(one: MeasuredPolicy) -> Policy:
    return Policy(one.architecture, torch.from_numpy(one.build().copy()), one.normalizer)
