"""Kernel evaluators: known answers, saving and reading, intervals, familiarity, damaged files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from toys import TargetTask

from litmus.errors import BadInput
from litmus.evaluators.base import load_evaluator
from litmus.evaluators.calibration import LeftOut, calibrate
from litmus.evaluators.kernel import KernelEvaluator
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import MixedPopulation
from litmus.registry import NoOptions


def make_left_out(
    generator: np.random.Generator, lineages: int, policies: int = 200
) -> list[LeftOut]:
    """Errors that grow with the distance, and lineages that differ."""
    found = []
    for _ in range(lineages):
        distances = generator.uniform(0.05, 0.5) + 0.1 * generator.random(policies)
        errors = generator.normal(size=policies) * (0.1 + 2 * distances)
        found.append(LeftOut(errors, np.full(policies, 0.05), distances))
    return found


def test_intervals_hold_for_lineages_that_calibration_did_not_see() -> None:
    generator = np.random.default_rng(0)
    covered = []
    for _ in range(20):
        calibration = calibrate(make_left_out(generator, 10))
        for one in make_left_out(generator, 5):
            widths = calibration.widths(one.spreads, one.distances)
            covered.append(np.mean(np.abs(one.errors) <= widths))
    assert 0.87 < np.mean(covered) < 0.93


def test_intervals_widen_with_distance_and_where_returns_vary() -> None:
    calibration = calibrate(make_left_out(np.random.default_rng(0), 10))
    none, some = np.zeros(1), np.ones(1)
    width = calibration.widths(none, none)
    assert calibration.widths(none, some) > 2 * width
    assert calibration.widths(some, none) > 2 * width


def test_a_large_lineage_counts_no_more_than_a_small_one() -> None:
    generator = np.random.default_rng(0)
    exact = LeftOut(generator.normal(size=5000) * 0.01, np.zeros(5000), np.full(5000, 0.1))
    poor = LeftOut(generator.normal(size=50), np.zeros(50), np.full(50, 0.1))
    calibration = calibrate([exact, poor])
    covered = np.mean(np.abs(poor.errors) <= calibration.widths(poor.spreads, poor.distances))
    assert covered > 0.7


def make_evaluator() -> KernelEvaluator:
    """Learned from nine policies."""
    torch.manual_seed(0)
    made = KernelEvaluator((3,), 4, [[0.0, 0.0], [1.0, 1.0]], card={"policies": 9})
    made.probing_states.normal_()
    made.set_return_statistics(100.0, 20.0)
    policies = [torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()) for _ in range(9)]
    with torch.no_grad():
        prints = made.fingerprints(MixedPopulation(policies))
    made.learn(prints, torch.linspace(-1, 1, 9), torch.linspace(-1, 1, 9), (0.5, 0.1))
    made.calibrate(calibrate(make_left_out(np.random.default_rng(0), 4)))
    return made


def test_the_value_is_a_sum_over_the_policies_learned_from() -> None:
    evaluator = KernelEvaluator((1,), 2, [[1.0], [2.0]])
    evaluator.learn(torch.tensor([[0.0, 0.0], [3.0, 3.0]]), torch.ones(2), torch.ones(2), (1, 1))
    in_units = 1.0
    policy = lambda states: torch.full((len(states), 1), 1 + 2 * in_units)  # noqa: E731
    value = float(evaluator.output(MixedPopulation([policy])))
    assert value == pytest.approx(np.exp(-1) + np.exp(-2), rel=1e-3)


def test_there_is_a_gradient_at_a_policy_that_was_learned_from() -> None:
    evaluator = make_evaluator()
    asked = evaluator.references[:2].clone().requires_grad_()
    outputs, width, _ = evaluator.judge(asked)
    (outputs - width).sum().backward()
    assert asked.grad is not None
    assert asked.grad.isfinite().all()
    assert asked.grad.abs().sum() > 0


def test_far_from_all_it_says_the_mean_of_the_returns() -> None:
    odd = lambda states: torch.full((len(states), 2), 1e3)  # noqa: E731
    assert float(make_evaluator().predict([odd]).mean) == pytest.approx(100.0)


def test_other_statistics_of_returns_change_no_prediction() -> None:
    evaluator, policy = make_evaluator(), torch.nn.Linear(3, 2)
    before = evaluator.score(policy)
    evaluator.set_return_statistics(-7.0, 3.0)
    assert evaluator.score(policy) == pytest.approx(before, rel=1e-5)


def test_no_run_trains_it() -> None:
    architecture = MlpArchitecture((3,), ActionHead.for_task("auto", TargetTask.actions))
    with pytest.raises(BadInput, match="not trained in a run"):
        KernelEvaluator.design(architecture, NoOptions())


def test_what_is_saved_says_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    evaluator = make_evaluator()
    evaluator.save(tmp_path / "judge.safetensors")
    again = load_evaluator(tmp_path / "judge.safetensors")
    assert isinstance(again, KernelEvaluator)
    assert again.card == {"policies": 9}
    policy = torch.nn.Linear(3, 2)
    one, other = evaluator.predict([policy]), again.predict([policy])
    for name in ("mean", "low", "high", "familiarity"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert one.low < one.mean < one.high


def test_what_is_like_nothing_seen_is_unfamiliar_and_uncertain() -> None:
    evaluator = make_evaluator()
    seen = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    odd = lambda states: torch.full((len(states), 2), 9.0)  # noqa: E731
    estimate = evaluator.predict([seen, odd])
    assert estimate.familiarity[0] > estimate.familiarity[1]
    widths = estimate.high - estimate.low
    assert widths[1] > 3 * widths[0]


@pytest.mark.parametrize(
    "change",
    [
        {"num_probing_states": 3},
        {"num_probing_states": 10**9},
        {"num_references": 10**12},
        {"action_units": "x"},
        {"card": 7},
    ],
)
def test_a_description_that_was_changed_is_refused(change: dict, tmp_path: Path) -> None:
    path = tmp_path / "judge.json"
    make_evaluator().save(path.with_suffix(".safetensors"))
    described = json.loads(path.read_text())
    described["options"] |= change
    path.write_text(json.dumps(described))
    with pytest.raises(BadInput):
        load_evaluator(path.with_suffix(".safetensors"))
