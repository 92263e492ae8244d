"""`litmus.improve`: a policy climbs an evaluator, as far as that knows what it says.

Half of the steps climb V, the others the lower end of its interval, which decides what is kept.
A policy that is less familiar than nine in ten policies of lineages never seen (and than it was at
the start) is pulled back and never kept. The climb ends where the fingerprint has moved by
`radius`. No episode is run on the way.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.optim import Adam

from litmus.errors import BadInput
from litmus.evaluators.base import Estimate, Evaluator
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.evaluators.gaussian_process import GaussianProcessEvaluator
from litmus.evaluators.kernel import KernelEvaluator
from litmus.fields import MOST_EPISODES, check_whole
from litmus.judging.episodes import EpisodeRunner, pick
from litmus.judging.settings import ImproveSettings
from litmus.judging.subjects import (
    GivenEvaluator,
    GivenPolicy,
    Judge,
    check_out,
    find_judge,
    find_policies,
)
from litmus.option_list import build_settings
from litmus.policies.foreign import Reading
from litmus.policies.policy import Policy
from litmus.policies.population import MixedPopulation
from litmus.runs.directory import as_bad_input
from litmus.runs.measured import TaskChoice
from litmus.seeding import Stream

FARTHEST = 0.9
"""Of left-out policies, by their distance: beyond that nobody knows what V says."""
SHARE_ON_MEAN = 0.5
"""Of the steps."""
PULL = 20.0
"""Back to what is known: standard deviations of the returns per unit of distance beyond it."""
SLACK = 1.2
"""That a policy may go beyond where it starts, if that is beyond already: it may come nearer."""


@dataclass(frozen=True)
class Improvement:
    policy: Policy
    """The better one; the one that was given is untouched."""
    estimate: Estimate
    """What the evaluator says of the policy before and after."""
    steps: int
    """Of the climb, to the policy that was chosen."""
    why_ended: str
    before: tuple[float, ...]
    """Returns of verifying episodes, before and after; episode by episode they start alike."""
    after: tuple[float, ...]
    unit: str

    @property
    def predicted_gain(self) -> float:
        return float(self.estimate.mean[1] - self.estimate.mean[0])

    @property
    def verified_gain(self) -> float | None:
        return float(np.mean(self.after) - np.mean(self.before)) if self.after else None

    @property
    def is_better(self) -> bool:
        """As measured where that was done, else as predicted; not one that is as it was."""
        gain = self.verified_gain
        return self.steps > 0 and (self.predicted_gain if gain is None else gain) > 0


def improve(
    evaluator: GivenEvaluator,
    policy: GivenPolicy,
    *,
    out: Path | str | None = None,
    verify: float = 0,
    seed: float = 0,
    task: TaskChoice | str | None = None,
    reading: Reading | None = None,
    **options: Any,
) -> Improvement:
    """Make a policy better by following an evaluator, and with `verify` measure that it is.

    `verify` is a number of episodes for the policy before and as many for it after. With `out` the
    better policy is saved there; where it is no better, nothing is.
    """
    settings = build_settings(ImproveSettings, options)
    verify = check_whole("verify", verify, 0, MOST_EPISODES)
    seed = check_whole("seed", seed, 0, 2**32 - 1)
    target = None if out is None else check_out(out)
    judge = find_judge(evaluator, task)
    (found,) = find_policies([policy], judge, reading)
    if not isinstance(found, Policy):
        raise BadInput("only a policy that litmus can read can be made better, not a function")
    better, steps, why = climb(judge.evaluator, found, settings)
    estimate = judge.evaluator.predict([found, better])
    has_changed = steps > 0  # else there is nothing to verify
    before, after = (
        _verify(judge, found, better, verify, seed) if verify and has_changed else ((), ())
    )
    done = Improvement(better, estimate, steps, why, before, after, judge.unit)
    if target is not None and done.is_better:
        with as_bad_input(target):
            better.save(target)
    return done


def climb(
    evaluator: Evaluator,
    policy: Policy,
    settings: ImproveSettings,
    watch: Callable[[int, Policy], None] = lambda step, policy: None,
) -> tuple[Policy, int, str]:
    """The policy with the best lower bound on the way, its step, and why the climb ended; `watch`
    sees each policy on the way."""
    ascent = Ascent(evaluator, policy)
    climbing = copy.deepcopy(policy).requires_grad_(True)
    best, best_value, best_step = copy.deepcopy(policy), float(ascent.first.low), 0
    optimizer = Adam(climbing.network.parameters(), lr=settings.lr)
    why = "all steps were taken"
    seen = ascent.look(climbing)
    for step in range(1, settings.steps + 1):
        watch(step - 1, climbing)
        # The lower bound alone has a peak at every cluster of policies that V knows well.
        goal = seen.mean if step <= settings.steps * SHARE_ON_MEAN else seen.low
        loss = PULL * (seen.distance - ascent.farthest).clamp_min(0) - goal
        if not loss.requires_grad:
            raise BadInput("a policy that takes the likeliest choice alone has no slope to follow")
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        seen = ascent.look(climbing)
        reached = float(seen.low.detach())
        if not math.isfinite(reached):
            why = "V is not a finite number there"
            break
        if float(seen.moved.detach()) > settings.radius:
            why = "it does other things than before in the probing states, as far as allowed"
            break
        if reached > best_value and float(seen.distance.detach()) <= ascent.farthest:
            best, best_value, best_step = copy.deepcopy(climbing), reached, step
    return best.requires_grad_(False), best_step, why


@dataclass(frozen=True)
class Look:
    """What V says of a policy on its way, in standard deviations of the returns."""

    mean: Tensor
    low: Tensor
    """The lower end of its interval."""
    moved: Tensor
    """How far its fingerprint is from where it began."""
    distance: Tensor
    """How far it is from policies that V knows."""


_Comparing = KernelEvaluator | GaussianProcessEvaluator
"""Evaluators that compare fingerprints."""


class Ascent:
    """What is climbed, and how far from the start and from what is known."""

    def __init__(self, evaluator: Evaluator, policy: Policy) -> None:
        if not isinstance(evaluator, _Comparing | FingerprintEvaluator):
            raise BadInput("only an evaluator that asks policies what they do can be climbed")
        self.evaluator = evaluator
        self.start: Tensor | None = None
        self.farthest = float("inf")
        with torch.no_grad():
            self.first = self.look(policy)
            self.start = self._ask(policy)
        if isinstance(evaluator, KernelEvaluator) and evaluator.is_calibrated:
            known = float(torch.quantile(evaluator.distances, FARTHEST))
            self.farthest = max(known, SLACK * float(self.first.distance))

    def look(self, policy: Policy) -> Look:
        fingerprint = self._ask(policy)
        zero = torch.zeros(())
        moved = zero
        if self.start is not None:
            moved = (fingerprint - self.start).square().mean().sqrt()
        if isinstance(self.evaluator, KernelEvaluator) and self.evaluator.is_calibrated:
            mean, width, distance = self.evaluator.judge(fingerprint)
            return Look(mean[0], (mean - width)[0], moved, distance[0])
        if isinstance(self.evaluator, GaussianProcessEvaluator):
            mean, width, familiarity = self.evaluator.judge(fingerprint)
            return Look(mean[0], (mean - width)[0], moved, 1 - familiarity[0])
        value: Tensor = self.evaluator.output(MixedPopulation([policy]))[0]
        return Look(value, value, moved, zero)

    def _ask(self, policy: Policy) -> Tensor:  # [1, F]
        population = MixedPopulation([policy])
        if isinstance(self.evaluator, _Comparing):
            return self.evaluator.fingerprints(population)
        states = self.evaluator.to_observations(self.evaluator.probing_states.detach())
        units = torch.from_numpy(policy.architecture.head.units)
        scaled: Tensor = (population.actions(states) - units[0]) / units[1]
        return scaled.flatten(1)


def _verify(
    judge: Judge, before: Policy, after: Policy, episodes: int, seed: int
) -> tuple[tuple[float, ...], tuple[float, ...]]:
    with EpisodeRunner(judge.require_task(), seed, None, Stream.VERIFICATION) as runner:
        measured = [
            tuple(pick(one, judge.predicts) for one in runner.run(policy, range(episodes)))
            for policy in (before, after)
        ]
    return measured[0], measured[1]
