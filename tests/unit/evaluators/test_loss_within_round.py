"""Learning from one round at a time: what all its returns share does not count."""

from __future__ import annotations

import torch

from litmus.evaluators.base import LEVEL_WEIGHT
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import FlatPopulation
from litmus.tasks.base import ContinuousActions


def make() -> tuple[FingerprintEvaluator, FlatPopulation, torch.Tensor]:
    torch.manual_seed(0)
    head = ActionHead("deterministic", ContinuousActions((-1.0,), (1.0,)))
    architecture = MlpArchitecture((2,), head, hidden=(3,))
    evaluator = FingerprintEvaluator((2,), 1, 4, (5,))
    population = FlatPopulation(architecture, torch.randn(6, architecture.num_params))
    return evaluator, population, torch.full((6,), 1 / 6)


def test_it_is_the_variance_of_the_errors_and_a_little_of_their_mean() -> None:
    evaluator, population, weights = make()
    returns = torch.randn(6, dtype=torch.float64)
    error = evaluator.output(population) - returns.float()
    expected = error.var(correction=0) + LEVEL_WEIGHT * error.mean().square()
    found = evaluator.loss_within_round(population, returns, weights)
    torch.testing.assert_close(found, expected)


def test_a_round_that_earned_more_as_a_whole_moves_the_probing_states_hardly() -> None:
    evaluator, population, weights = make()
    returns = torch.randn(6, dtype=torch.float64)
    gradients = []
    for shift in (0.0, 1.0):
        compute = (evaluator.loss, evaluator.loss_within_round)
        gradients.append(
            [
                torch.autograd.grad(
                    one(population, returns + shift, weights), evaluator.probing_states
                )[0]
                for one in compute
            ]
        )
    plain, within = ((b - a).norm() for a, b in zip(*gradients, strict=True))
    assert within < 2 * LEVEL_WEIGHT * plain
