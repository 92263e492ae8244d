"""One policy: what it takes, what it gives, and that a file brings the same one back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from litmus.errors import BadInput
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import FlatPopulation
from litmus.rollouts.episode import ActingPolicy
from litmus.tasks.base import Actions, ContinuousActions, DiscreteActions

CHOICES = ActionHead("categorical", DiscreteActions(3, start=5))
MATRIX = ActionHead("gaussian", ContinuousActions((-1.0,) * 4, (3.0,) * 4, (2, 2), "float64"))


def make_policy(head: ActionHead = CHOICES, state_shape: tuple[int, ...] = (4,)) -> Policy:
    architecture = MlpArchitecture(state_shape, head, hidden=(5,))
    generator = torch.Generator().manual_seed(1)
    flat_params = torch.randn(architecture.num_params, generator=generator)
    return Policy(architecture, flat_params, Normalizer.identity(state_shape))


@pytest.mark.parametrize("shape", [(), (1,), (3,), (5,), (1, 4), (4, 1), (4, 4)])
def test_an_observation_of_another_shape_is_an_error_that_names_both(shape: Any) -> None:
    policy, wrong = make_policy(), np.zeros(shape)
    with pytest.raises(BadInput) as caught:
        policy.act(wrong)
    assert f"shape (4,), not {shape}" in str(caught.value)
    normalizer, generator = Normalizer.identity((4,)), np.random.default_rng(0)
    acting = ActingPolicy(policy.architecture, policy.flat_params.numpy(), normalizer, generator)
    with pytest.raises(BadInput, match=r"of shape \(4,\), and the task shows"):
        acting.act(wrong)


@pytest.mark.parametrize("shape", [(4,), (2, 1), (2, 3), (2, 4, 1), (1, 2, 4)])
def test_a_batch_of_another_shape_is_an_error_that_names_both(shape: Any) -> None:
    with pytest.raises(BadInput) as caught:
        make_policy()(torch.zeros(shape))
    assert f"['N', 4], not {list(shape)}" in str(caught.value)


@pytest.mark.parametrize("state_shape", [(1,), (3,), (2, 2)])
def test_an_evaluator_of_other_states_says_so(state_shape: tuple[int, ...]) -> None:
    evaluator, policy = FingerprintEvaluator(state_shape, 3, 2, (4,)), make_policy()
    population = FlatPopulation(policy.architecture, policy.flat_params[None])
    for ask in (lambda: evaluator.score(policy), lambda: evaluator.value(population)):
        with pytest.raises(BadInput) as caught:
            ask()
        assert f"states of shape (4,), not {state_shape}" in str(caught.value)


def test_a_greedy_policy_takes_the_likeliest_action() -> None:
    for head in (CHOICES, MATRIX):
        policy, observation = make_policy(head), np.ones(4)
        parameters = policy(torch.ones(1, 4)).detach().numpy()[0]
        expected = 5 + parameters.argmax() if head is CHOICES else parameters[:4].reshape(2, 2)
        np.testing.assert_array_equal(policy.act(observation, greedy=True), expected)
    drawn = {make_policy().act(np.ones(4), np.random.default_rng(seed)) for seed in range(50)}
    assert len(drawn) > 1
    assert drawn <= {5, 6, 7}


@pytest.mark.parametrize("head", [CHOICES, MATRIX])
@pytest.mark.parametrize("as_path", [str, Path])
def test_a_file_brings_the_same_policy_back(head: ActionHead, as_path: Any, tmp_path: Path) -> None:
    policy, path = make_policy(head), as_path(tmp_path / "policy.safetensors")
    policy.save(path)
    again = Policy.load(path)
    assert again.architecture == policy.architecture
    for greedy in (False, True):
        first, second = (
            one.act(np.ones(4), np.random.default_rng(3), greedy=greedy) for one in (policy, again)
        )
        np.testing.assert_array_equal(first, second)
        assert type(first) is type(second)


@pytest.mark.parametrize("actions", [CHOICES.actions, MATRIX.actions])
def test_workers_act_as_the_policy_does(actions: Actions) -> None:
    head = CHOICES if actions is CHOICES.actions else MATRIX
    policy = make_policy(head)
    acting, own = (np.random.default_rng(7) for _ in range(2))
    worker = ActingPolicy(
        policy.architecture, policy.flat_params.numpy(), policy.normalizer, acting
    )
    for _ in range(10):
        np.testing.assert_allclose(
            worker.act(np.ones(4)), policy.act(np.ones(4), own), rtol=1e-5, atol=1e-5
        )
