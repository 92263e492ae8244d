from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from litmus import Run
from litmus.analysis.behaviour import Behaviour, run_behaviour
from litmus.analysis.knowledge import (
    FIRST_FRESH_INDEX,
    PolicySample,
    choose_fresh_count,
    examine_probing_states,
    find_constant_components,
    judge,
    measure_fresh,
    measure_importance,
    sample_buffer,
)
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Outcome, Round
from litmus.runs.restore import open_journal
from litmus.seeding import perturb
from litmus.tasks import make_task_spec


def _round(number: int, returns: list[float | None], size: int = 3) -> Round:
    normalizer = Normalizer(np.zeros(2), np.array([1.0, 0.5]))
    outcomes = [Outcome(value, value, 10) for value in returns]
    flat_params = np.full(size, float(number), np.float32)
    return Round(number, flat_params, normalizer, 0.1, 10 * number, outcomes)


def _evaluator_that_adds(weights: list[float]) -> FingerprintEvaluator:
    """V = a weighted sum of the actions: one action, no hidden layer."""
    evaluator = FingerprintEvaluator((2,), 1, len(weights), ())
    with torch.no_grad():
        evaluator.head[0].weight.copy_(torch.tensor([weights]))
    return evaluator


def test_policies_of_the_buffer_are_those_that_were_measured() -> None:
    rounds = [_round(0, [1.0, None]), _round(1, [3.0, 4.0])]
    sample = sample_buffer(rounds, capacity=10, seed=5)
    assert sample.measured.tolist() == [1.0, 3.0, 4.0]  # what was dropped never entered
    np.testing.assert_array_equal(sample.flat_params[2], perturb(rounds[1].flat_params, 0.1, 5, 11))


def test_only_the_newest_policies_are_in_the_buffer_and_a_sample_spans_them() -> None:
    rounds = [_round(n, [float(2 * n), float(2 * n + 1)]) for n in range(10)]
    assert sample_buffer(rounds, capacity=4, seed=0).measured.tolist() == [16, 17, 18, 19]
    known = sample_buffer(rounds, capacity=3, seed=0, known={1.0, 2.0, 17.0, 18.0})
    assert known.measured.tolist() == [2, 17, 18]
    assert not sample_buffer(rounds, capacity=0, seed=0).measured.size
    thinned = sample_buffer(rounds, capacity=20, seed=0, limit=5).measured
    assert len(thinned) == 5
    assert (thinned[0], thinned[-1]) == (0, 19)


def test_a_state_whose_action_v_ignores_has_no_importance() -> None:
    actions = torch.randn(50, 3, 1, generator=torch.Generator().manual_seed(0))
    importance = measure_importance(_evaluator_that_adds([2.0, 0.0, 1.0]), actions)
    assert importance[1] == 0.0
    spread = (actions - actions.mean(dim=0)).abs().mean(dim=0)[:, 0].numpy()
    np.testing.assert_allclose(importance, spread * [2.0, 0.0, 1.0], rtol=1e-4)


def test_an_action_that_all_policies_share_has_no_importance() -> None:
    actions = torch.randn(50, 2, 1, generator=torch.Generator().manual_seed(0))
    actions[:, 0] = 0.7
    importance = measure_importance(_evaluator_that_adds([5.0, 1.0]), actions)
    assert importance[0] == pytest.approx(0.0, abs=1e-5)
    assert importance[1] > 0.1


def test_what_is_said_of_a_run_fits_its_evaluator(hopper_run: Path) -> None:
    run = Run(hopper_run)
    policy, evaluator = run.policy, run.evaluator
    assert isinstance(evaluator, FingerprintEvaluator)
    rounds = open_journal(run, policy.architecture).read()
    sample = sample_buffer(rounds, 10_000, run.config.seed)
    judged = judge(evaluator, policy.architecture, sample)
    one = FlatPopulation(policy.architecture, torch.from_numpy(sample.flat_params[:1]))
    value = float(evaluator.value(one).detach())
    assert judged.predicted[0] == pytest.approx(value, rel=1e-4, abs=1e-4)
    known = examine_probing_states(evaluator, policy, sample)
    assert known.states.shape == (3, 11)
    assert known.actions.shape == known.action_gradient.shape == (3, 3)
    assert sorted(known.ranking) == list(range(3))
    asked = policy(torch.from_numpy(known.raw_states)).detach().numpy()
    np.testing.assert_allclose(known.actions, asked, atol=1e-4)


def test_gradients_say_how_v_moves_with_the_action(hopper_run: Path) -> None:
    run = Run(hopper_run)
    assert isinstance(run.evaluator, FingerprintEvaluator)
    known = examine_probing_states(run.evaluator, run.policy, _no_policies(run))
    evaluator = run.evaluator.double()
    actions = torch.from_numpy(known.actions)[None]
    moved = actions.clone()
    moved[0, 2, 1] += 1e-7  # in float64: so little meets no kink
    change = evaluator.value_of_actions(moved) - evaluator.value_of_actions(actions)
    expected = known.action_gradient[2, 1]
    assert float(change.detach()) / 1e-7 == pytest.approx(expected, rel=1e-4, abs=1e-6)


def _no_policies(run: Run) -> PolicySample:
    return PolicySample(np.empty((0, run.policy.flat_params.numel()), np.float32), np.empty(0))


def test_fresh_perturbations_are_ones_that_training_never_drew(cartpole_run: Path) -> None:
    run = Run(cartpole_run)
    task, seed = make_task_spec("CartPole-v1"), run.config.seed
    sample = measure_fresh(task, run.policy, 0.1, seed, 3, workers=0)
    assert len(sample.measured) == 3
    theta = run.policy.flat_params.numpy()
    np.testing.assert_array_equal(
        sample.flat_params[1], perturb(theta, 0.1, run.config.seed, FIRST_FRESH_INDEX + 1)
    )
    assert run.metrics[-1]["episodes_done"] < FIRST_FRESH_INDEX


def test_long_episodes_get_fewer_fresh_perturbations() -> None:
    assert choose_fresh_count(50.0) == 48
    assert choose_fresh_count(1000.0) == 40
    assert choose_fresh_count(100_000.0) == 16


def test_a_component_that_never_varies_is_found() -> None:
    visited = np.array([[0.0, 1.0], [0.0, 2.0]])
    constant = find_constant_components([_round(0, [1.0]), _round(1, [1.0])], visited, True)
    assert constant is not None
    assert constant.tolist() == [True, False]
    varied = np.array([[0.0, 1.0], [0.5, 2.0]])  # std is 1 by chance, yet it varies
    constant = find_constant_components([_round(0, [1.0]), _round(1, [1.0])], varied, True)
    assert constant is not None
    assert not constant.any()
    assert find_constant_components([], None, True) is None


def test_distances_are_those_of_each_pair() -> None:
    generator = np.random.default_rng(0)
    trace, states = generator.normal(size=(7, 3)), generator.normal(size=(4, 3))
    behaviour = Behaviour(trace, trace, trace, np.zeros(7))
    expected = [[np.linalg.norm(a - b) for b in states] for a in trace]
    np.testing.assert_allclose(behaviour.distances(states), expected)
    used = np.array([True, False, True])
    expected = [[np.linalg.norm((a - b)[used]) for b in states] for a in trace]
    np.testing.assert_allclose(behaviour.distances(states, used), expected)


def test_the_same_policy_behaves_the_same_twice(cartpole_run: Path) -> None:
    policy = Run(cartpole_run).policy
    first, second = (run_behaviour(make_task_spec("CartPole-v1"), policy) for _ in range(2))
    np.testing.assert_array_equal(first.states, second.states)
    assert first.actions.shape[1] == 2
    np.testing.assert_allclose(first.actions.sum(axis=1), 1.0, rtol=1e-5)
    assert first.return_ == len(first.rewards)  # CartPole pays one a step
