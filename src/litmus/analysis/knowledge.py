"""What V knows: how well it predicts, which probing states change it, which components it uses.

Predicted and measured are *training* returns (survival bonus removed, where it is): that is what
the evaluator learned.
"""

from __future__ import annotations

import time
from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from litmus.analysis.judgement import Judgement
from litmus.analysis.statistics import Floats, spread_evenly
from litmus.analysis.stopping import IsStopped, never
from litmus.evaluators.base import Evaluator
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.evaluators.gaussian_process import GaussianProcessEvaluator
from litmus.policies.architecture import Architecture
from litmus.policies.policy import Policy
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Request, Round, Setting
from litmus.rollouts.make import make_collector
from litmus.seeding import Stream, perturb
from litmus.tasks.base import TaskSpec

SAMPLED_POLICIES = 400
"""Of the buffer, evenly spaced in age: enough for a picture, and seconds instead of minutes."""
MOST_FRESH, FEWEST_FRESH = 48, 16
FRESH_STEPS = 40_000
"""Environment steps that fresh perturbations may cost: some seconds."""
FRESH_SECONDS = 30.0
"""For an environment that is slower than any we know, the count is cut short."""
FRESH_CHUNK = 8
FIRST_FRESH_INDEX = 2**40
"""Perturbations are numbered by episode; no run gets this far, so these were never seen."""
POLICIES_FOR_IMPORTANCE = 64
CHUNK = 32

AskingEvaluator = FingerprintEvaluator | GaussianProcessEvaluator
"""Evaluators of which it can be told what they make of each probing action."""


@dataclass(frozen=True)
class PolicySample:
    """Policies with their measured training returns."""

    flat_params: NDArray[np.float32]  # [B, P]
    measured: Floats  # [B]


@dataclass(frozen=True)
class ProbingKnowledge:
    """What the evaluator's probing states are to it."""

    states: Floats  # [K, D], normalised
    raw_states: Floats  # [K, D], as the environment would observe them
    actions: Floats  # [K, A], the run's policy asked there
    importance: Floats  # [K], |change of V| when the action is replaced by its mean
    action_gradient: Floats  # [K, A], ∂V/∂action at the run's policy
    component_use: Floats  # [D], |∂V/∂s| over policies and probing states, in normalised units

    @property
    def ranking(self) -> NDArray[np.int64]:
        """Probing states, the most important first."""
        return np.argsort(-self.importance, kind="stable")


def sample_buffer(
    rounds: Sequence[Round],
    capacity: int,
    seed: int,
    known: Container[float] | None = None,
    limit: int = SAMPLED_POLICIES,
) -> PolicySample:
    """Rebuild policies of the buffer from the history: the last `capacity`, thinned evenly.

    `known`: returns of those that are in it, where that is not all that were measured last.
    """
    kept = [
        (past, index, float(outcome.training_return or 0.0))
        for past in rounds
        for index, outcome in past.whole
        if known is None or outcome.training_return in known
    ]
    kept = kept[len(kept) - min(capacity, len(kept)) :]
    kept = [kept[place] for place in spread_evenly(len(kept), limit)]
    rows = [past.rebuild(seed, index) for past, index, _ in kept]
    size = rounds[0].flat_params.size if rounds else 0
    flat_params = np.stack(rows) if rows else np.empty((0, size), np.float32)
    return PolicySample(flat_params, np.array([value for *_, value in kept], dtype=np.float64))


def measure_fresh(
    task: TaskSpec,
    policy: Policy,
    noise: float,
    seed: int,
    number: int = MOST_FRESH,
    workers: int | None = None,
    is_stopped: IsStopped = never,
) -> PolicySample:
    """Perturb the policy anew and run one episode of each, within a bounded time."""
    flat_params = policy.flat_params.cpu().numpy()
    setting = Setting(task, policy.architecture, seed)
    collector = make_collector(setting, workers, capacity=FRESH_CHUNK)
    rows, measured = [], []
    try:
        deadline = time.monotonic() + FRESH_SECONDS
        last = FIRST_FRESH_INDEX + number
        for first in range(FIRST_FRESH_INDEX, last, FRESH_CHUNK):
            indices = range(first, min(first + FRESH_CHUNK, last))
            request = Request(flat_params, policy.normalizer, noise, Stream.MEASUREMENT, indices)
            for index, episode in zip(indices, collector.start(request).result(), strict=True):
                if episode.is_finite:
                    rows.append(perturb(flat_params, noise, seed, index))
                    measured.append(episode.training_return)
            if time.monotonic() > deadline or is_stopped():
                break
    finally:
        collector.close()
    stacked = np.stack(rows) if rows else np.empty((0, flat_params.size), np.float32)
    return PolicySample(stacked, np.array(measured, dtype=np.float64))


def choose_fresh_count(steps_per_episode: float | None) -> int:
    """As many as the steps allow: the same run always gets the same number."""
    affordable = FRESH_STEPS / max(1.0, steps_per_episode or 1000.0)
    return int(min(MOST_FRESH, max(FEWEST_FRESH, affordable)))


def judge(evaluator: Evaluator, architecture: Architecture, sample: PolicySample) -> Judgement:
    """Ask V about each policy."""
    predicted = [np.empty(0)]
    with torch.no_grad():
        for start in range(0, len(sample.flat_params), CHUNK):
            rows = torch.from_numpy(sample.flat_params[start : start + CHUNK])
            predicted.append(evaluator.value(FlatPopulation(architecture, rows)).double().numpy())
    return Judgement(np.concatenate(predicted), sample.measured)


def examine_probing_states(
    evaluator: AskingEvaluator, policy: Policy, sample: PolicySample
) -> ProbingKnowledge:
    """Importance, gradients and component use of the probing states."""
    architecture = policy.architecture
    rows = sample.flat_params[spread_evenly(len(sample.flat_params), POLICIES_FOR_IMPORTANCE)]
    if not len(rows):
        rows = policy.flat_params.cpu().numpy()[None]
    states = evaluator.probing_states.detach()
    flat = states.flatten(1).double().numpy()
    raw = evaluator.to_observations(evaluator.probing_states.detach()).flatten(1).numpy()
    own = policy.flat_params.cpu().unsqueeze(0)
    own_actions, gradient = _differentiate_by_action(evaluator, architecture, own)
    actions = _collect_actions(architecture, rows, states)
    return ProbingKnowledge(
        states=flat,
        raw_states=raw,
        actions=own_actions,
        importance=measure_importance(evaluator, actions),
        action_gradient=gradient,
        component_use=_measure_component_use(evaluator, architecture, rows),
    )


def measure_importance(evaluator: AskingEvaluator, actions: Tensor) -> Floats:
    """Mean |V(actions) - V(actions with the k-th replaced by its mean)|.  [B, K, A] -> [K]"""
    with torch.no_grad():
        values = evaluator.value_of_actions(actions)
        means = actions.mean(dim=0)  # [K, A]
        changes = []
        for k in range(actions.shape[1]):
            replaced = actions.clone()
            replaced[:, k] = means[k]
            changes.append((evaluator.value_of_actions(replaced) - values).abs().mean())
    return torch.stack(changes).double().numpy()


def _differentiate_by_action(
    evaluator: AskingEvaluator, architecture: Architecture, own: Tensor
) -> tuple[Floats, Floats]:  # [1, P] -> [K, A], [K, A]
    with torch.no_grad():
        actions = FlatPopulation(architecture, own).actions(evaluator.probing_states)
    actions = actions.detach().requires_grad_()
    (gradient,) = torch.autograd.grad(evaluator.value_of_actions(actions).sum(), actions)
    return actions.detach()[0].double().numpy(), gradient[0].double().numpy()


def _collect_actions(
    architecture: Architecture, rows: NDArray[np.float32], states: Tensor
) -> Tensor:  # [B, K, A]
    with torch.no_grad():
        return torch.cat(
            [
                FlatPopulation(architecture, torch.from_numpy(rows[i : i + CHUNK])).actions(states)
                for i in range(0, len(rows), CHUNK)
            ]
        )


def _measure_component_use(
    evaluator: AskingEvaluator, architecture: Architecture, rows: NDArray[np.float32]
) -> Floats:  # [D]
    """How much V moves when a component of the probing states does, through the policies."""
    total = torch.zeros(evaluator.probing_states[0].numel(), dtype=torch.float64)
    # Each policy alone: the sign of its gradient must not cancel another's.
    chosen = rows[spread_evenly(len(rows), 16)]
    for row in chosen:
        states = evaluator.probing_states.detach().clone().requires_grad_()
        actions = FlatPopulation(architecture, torch.from_numpy(row).unsqueeze(0)).actions(states)
        (gradient,) = torch.autograd.grad(evaluator.value_of_actions(actions).sum(), states)
        total += gradient.flatten(1).abs().sum(dim=0).double()
    return np.asarray((total / max(1, len(chosen))).numpy())


def find_constant_components(
    rounds: Sequence[Round], visited: Floats | None, is_normalized: bool
) -> NDArray[np.bool_] | None:
    """Which components of the state never varied, as far as the run can tell.

    The normaliser leaves a component that never varied unscaled: its std is exactly 1.
    """
    flat_in_episode = None if visited is None else np.ptp(visited, axis=0) == 0
    if not is_normalized or len(rounds) < 2:
        return flat_in_episode
    never_scaled = np.asarray(rounds[-1].normalizer.std == 1.0)
    return never_scaled if flat_in_episode is None else never_scaled & flat_in_episode
