"""An evaluator that is solved for: known answers, and what θ makes of it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from litmus.algorithms.solving import Solver
from litmus.evaluators import gaussian_process
from litmus.evaluators.base import load_evaluator
from litmus.evaluators.gaussian_process import (
    NOISES,
    PREDICTED,
    GaussianProcessEvaluator,
    decompose,
    find_likelihoods,
    find_merits,
)
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import FlatPopulation
from litmus.tasks.base import ContinuousActions

BOUNDS = ContinuousActions((-1.0, -2.0), (1.0, 2.0))
ARCHITECTURE = MlpArchitecture((3,), ActionHead("deterministic", BOUNDS), hidden=(8,))


def make_evaluator(capacity: int = 64) -> GaussianProcessEvaluator:
    torch.manual_seed(0)
    units = ARCHITECTURE.head.units.tolist()
    return GaussianProcessEvaluator((3,), 20, units, capacity)


def draw_policies(count: int, seed: int = 1, spread: float = 0.3) -> Tensor:  # [B, P]
    generator = torch.Generator().manual_seed(seed)
    return spread * torch.randn(count, ARCHITECTURE.num_params, generator=generator)


def ask(evaluator: GaussianProcessEvaluator, rows: Tensor) -> Tensor:
    return evaluator.fingerprints(FlatPopulation(ARCHITECTURE, rows))


def earn(fingerprints: Tensor) -> Tensor:
    """A return that follows from what a policy does."""
    return 50 + 300 * fingerprints[:, :10].double().mean(1)


def teach(evaluator: GaussianProcessEvaluator, rows: Tensor) -> Tensor:
    """What the policies earned."""
    asked = ask(evaluator, rows)
    returns = earn(asked)
    evaluator.remember(asked, returns)
    return returns


def value(evaluator: GaussianProcessEvaluator, rows: Tensor) -> Tensor:
    return evaluator.value(FlatPopulation(ARCHITECTURE, rows))


def test_it_predicts_policies_that_it_has_not_seen() -> None:
    evaluator, fresh = make_evaluator(128), draw_policies(40, seed=2)
    returns = teach(evaluator, draw_policies(128))
    evaluator.solve()
    truth, said = earn(ask(evaluator, fresh)), value(evaluator, fresh)
    assert np.corrcoef(truth, said)[0, 1] > 0.9
    assert float((truth - said).square().mean()) < 0.2 * float(returns.var())


def test_what_is_solved_is_the_formula_of_the_module() -> None:
    evaluator, rows = make_evaluator(), draw_policies(30)
    returns = teach(evaluator, rows).numpy()
    evaluator.solve()
    prints = ask(evaluator, rows).numpy()
    squares = np.square(prints[:, None] - prints).mean(2)
    scaled = squares / float(evaluator.unit) / float(evaluator.length) ** 2
    likeness = 0.8 * np.exp(-scaled / 2) + 0.2 * np.exp(-np.sqrt(scaled + 1e-6))
    targets = (returns - returns.mean()) / returns.std()
    alpha = np.linalg.solve(likeness + float(evaluator.noise) * np.eye(30), targets)
    expected = returns.mean() + returns.std() * (likeness @ alpha)
    np.testing.assert_allclose(value(evaluator, rows).numpy(), expected, rtol=1e-6)


def test_length_and_noise_are_judged_by_predicting_each_policy_from_the_others() -> None:
    generator = np.random.default_rng(0)
    count = PREDICTED + 6
    points, targets = generator.normal(size=(count, 3)), generator.normal(size=count)
    gram = np.exp(-np.square(points[:, None] - points).sum(2) / 2)
    expected = []
    for noise in NOISES:
        covariance = gram + noise * np.eye(count)
        scale = targets @ np.linalg.solve(covariance, targets) / count
        likelihood = 0.0
        for one in range(count - PREDICTED, count):
            others = np.delete(np.arange(count), one)
            weights = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, one])
            variance = scale * (covariance[one, one] - weights @ covariance[others, one])
            error = targets[one] - weights @ targets[others]
            likelihood -= np.log(variance) + error**2 / variance
        expected.append(likelihood)
    parts = decompose(torch.from_numpy(gram), torch.from_numpy(targets))
    found = find_likelihoods(*(one[None] for one in parts))
    np.testing.assert_allclose(found[0].numpy(), expected, rtol=1e-8)


def test_the_slope_is_the_gradient_of_the_merit() -> None:
    evaluator, rows = make_evaluator(), draw_policies(40)
    teach(evaluator, rows)
    evaluator.solve()
    for asked in (ask(evaluator, draw_policies(3, seed=4)), ask(evaluator, rows[:1])):
        fingerprints = asked.detach().requires_grad_()
        (expected,) = torch.autograd.grad(evaluator.merit(fingerprints).sum(), fingerprints)
        found = evaluator.find_slope(fingerprints.detach())
        torch.testing.assert_close(found, expected, rtol=1e-9, atol=1e-12)


def test_the_number_of_threads_changes_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    found = []
    monkeypatch.setattr(gaussian_process, "WORTH_THREADS", 2)
    for cores in (1, 3):
        threads = ThreadPoolExecutor(cores, initializer=torch.set_num_threads, initargs=(1,))
        monkeypatch.setattr(gaussian_process, "start_threads", lambda threads=threads: threads)
        evaluator = make_evaluator()
        teach(evaluator, draw_policies(64))
        evaluator.solve()
        found.append(evaluator.state_dict())
        threads.shutdown()
    for name, tensor in found[0].items():
        assert torch.equal(tensor, found[1][name]), name


def test_the_loss_is_the_error_on_what_it_has_not_learned_from() -> None:
    evaluator, rows = make_evaluator(), draw_policies(24)
    solver = Solver(ARCHITECTURE, rows[0].clone(), evaluator)
    returns = earn(ask(evaluator, rows))
    solver.take_in(rows[:16], solver.theta, returns[:16].tolist())
    assert solver.solve(0.0)[0] == pytest.approx(float(returns[:16].var(correction=0)))
    errors = value(evaluator, rows[16:]) - returns[16:]
    solver.take_in(rows[16:], solver.theta, returns[16:].tolist())
    assert solver.solve(0.0)[0] == pytest.approx(float(errors.square().mean()))


def test_the_oldest_policies_make_room() -> None:
    rows = draw_policies(40)
    all_of_them, newest = make_evaluator(16), make_evaluator(16)
    for start in range(0, 40, 8):
        teach(all_of_them, rows[start : start + 8])
    teach(newest, rows[24:])
    for evaluator in (all_of_them, newest):
        evaluator.solve()
    fresh = draw_policies(5, seed=3)
    # The order of rows differs, and so does the order of sums.
    torch.testing.assert_close(value(all_of_them, fresh), value(newest, fresh), rtol=1e-6, atol=0)


def test_a_round_larger_than_its_memory_leaves_the_newest() -> None:
    rows = draw_policies(40)
    many, few = make_evaluator(16), make_evaluator(16)
    teach(many, rows)
    teach(few, rows[24:])
    assert sorted(many.earned.tolist()) == sorted(few.earned.tolist())


def test_unlike_policies_are_less_familiar_and_their_intervals_wider() -> None:
    evaluator, rows = make_evaluator(), draw_policies(64)
    teach(evaluator, rows)
    evaluator.solve()
    _, near, familiar = evaluator.judge(ask(evaluator, rows[:8]))
    _, far, strange = evaluator.judge(ask(evaluator, draw_policies(8, seed=5, spread=5.0)))
    assert familiar.min() > strange.max()
    assert near.max() < far.min()
    estimate = evaluator.predict([lambda states: states[:, :2]])
    assert estimate.low < estimate.mean < estimate.high
    assert 0 <= float(estimate.familiarity) <= 1


def test_before_it_knows_anything_it_says_so() -> None:
    evaluator = make_evaluator()
    estimate = evaluator.predict([lambda states: states[:, :2]])
    assert (float(estimate.mean[0]), estimate.low, estimate.familiarity) == (0.0, None, None)
    _, width, familiarity = evaluator.judge(ask(evaluator, draw_policies(2)))
    assert width.tolist() == [np.inf, np.inf]
    assert familiarity.tolist() == [0.0, 0.0]


def test_policies_whose_actions_are_no_numbers_are_left_out() -> None:
    evaluator, rows = make_evaluator(), draw_policies(8)
    theta = rows[0].clone()
    solver = Solver(ARCHITECTURE, theta, evaluator)
    rows[3] = torch.nan
    solver.take_in(rows, solver.theta, list(range(8)))
    assert len(evaluator) == 7
    solver.solve(reach=0.5)
    assert theta.isfinite().all()
    solver.take_in(torch.full_like(rows, torch.nan), solver.theta, list(range(8)))
    before = theta.clone()
    solver.solve(reach=0.5)
    assert torch.equal(theta, before)


def test_equal_returns_teach_nothing_and_leave_theta_alone() -> None:
    evaluator, rows = make_evaluator(), draw_policies(8)
    theta = rows[0].clone()
    solver = Solver(ARCHITECTURE, theta, evaluator)
    solver.take_in(rows, solver.theta, [7.0] * 8)
    assert solver.solve(reach=1.0) == (0.0, 7.0)
    assert torch.equal(theta, rows[0])


def test_saved_and_loaded_it_says_the_same(tmp_path: Path) -> None:
    evaluator, fresh = make_evaluator(), draw_policies(5, seed=3)
    teach(evaluator, draw_policies(80))
    evaluator.solve()
    evaluator.save(tmp_path / "evaluator.safetensors")
    again = load_evaluator(tmp_path / "evaluator.safetensors")
    population = FlatPopulation(ARCHITECTURE, fresh)
    assert torch.equal(again.value(population), evaluator.value(population))


def test_merits_keep_the_order_and_forget_the_unit() -> None:
    returns = torch.tensor([3.0, -1e6, 4.0, 4.0, 100.0, 3.5], dtype=torch.float64)
    merits = find_merits(returns)
    assert merits.argsort(stable=True).tolist() == returns.argsort(stable=True).tolist()
    assert merits[2] == merits[3]
    assert torch.equal(find_merits(returns * 2**-9), merits)
    # The far end weighs less than it would by itself.
    spread = (returns - returns.mean()) / returns.std(correction=0)
    assert merits.min() > spread.min()


@pytest.mark.parametrize("reach", [0.1, 0.5, 1.0])
def test_theta_climbs_no_farther_than_it_may(reach: float) -> None:
    evaluator = make_evaluator()
    theta = draw_policies(1, seed=9)[0]
    solver = Solver(ARCHITECTURE, theta, evaluator)
    rows = theta + 0.1 * draw_policies(48, spread=1.0)
    before = ask(evaluator, theta[None])
    solver.take_in(rows, solver.theta, earn(ask(evaluator, rows)).tolist())
    evaluator.solve()
    merit = float(evaluator.merit(before))
    coefficients = evaluator.coefficients.clone()
    solver.solve(reach)
    after = ask(evaluator, theta[None])
    moved = float((after - before).square().mean().sqrt())
    # The last of five steps may go beyond, by its own length.
    assert 0.5 * reach < moved / solver.noise_change < 1.2 * reach
    assert float(evaluator.merit(after)) > merit
    assert torch.equal(evaluator.coefficients, coefficients)
    assert float(earn(after)) > float(earn(before))


def test_without_reach_theta_stays() -> None:
    evaluator, rows = make_evaluator(), draw_policies(8)
    theta = rows[0].clone()
    solver = Solver(ARCHITECTURE, theta, evaluator)
    solver.take_in(rows, solver.theta, list(range(8)))
    solver.solve(reach=0.0)
    assert torch.equal(theta, rows[0])
