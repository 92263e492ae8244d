"""With standardised returns the unit of the reward does not matter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from harness import GONE, PROCESS, train_tiny
from hypothesis import given
from hypothesis import strategies as st

import litmus
from litmus.algorithms.buffer import Buffer, Recency
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import FlatPopulation
from litmus.tasks.base import ContinuousActions

EVALUATORS: dict[str, dict[str, Any]] = {
    "compiled": {},
    "through torch": {"architecture": "toys:PlainArchitecture", "hidden": GONE},
    "flat": {"algorithm": "vanilla-pssvf"},
    "solved for": {**PROCESS, "standardize_returns": GONE},
}


def train(out: Path, factor: float, kind: str = "compiled", **options: Any) -> litmus.Run:
    own = {"task": "toys:ScaledWalk", "env_kwargs": {"scale": factor}, **EVALUATORS[kind]}
    options = {"standardize_returns": True, "evaluate_every": 0, **own, **options}
    run: litmus.Run = train_tiny(out, steps=80, **options)
    return run


def rounds_of(run: litmus.Run, name: str) -> list[float]:
    return [event[name] for event in run.metrics if event["event"] == "round"]


@pytest.mark.parametrize("kind", EVALUATORS)
@pytest.mark.parametrize("factor", [2.0**-20, 2.0**11])
def test_a_power_of_two_gives_the_same_run_bit_for_bit(
    kind: str, factor: float, tmp_path: Path
) -> None:
    one, other = (train(tmp_path / str(f), f, kind) for f in (1.0, factor))
    assert one.policy_path.read_bytes() == other.policy_path.read_bytes()
    for name, power in (("mean", 1), ("predicted_return", 1), ("evaluator_loss", 2)):
        expected = [value * factor**power for value in rounds_of(one, name)]
        assert rounds_of(other, name) == pytest.approx(expected, rel=1e-6), name
    ours, theirs = one.evaluator, other.evaluator
    in_returns = {"return_mean", "return_std", "earned"}
    for name, tensor in ours.state_dict().items():
        if name not in in_returns:
            assert torch.equal(tensor, theirs.state_dict()[name]), name
    assert float(theirs.return_std) == float(ours.return_std) * factor
    assert theirs.score(one.policy) == pytest.approx(ours.score(one.policy) * factor, rel=1e-6)


def test_without_it_the_unit_matters(tmp_path: Path) -> None:
    """Otherwise the test above could not fail."""
    one, other = (train(tmp_path / str(f), f, standardize_returns=False) for f in (1.0, 2.0**-20))
    assert one.policy_path.read_bytes() != other.policy_path.read_bytes()


@given(
    returns=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=30),
    factor=st.floats(1e-3, 1e3),
    constant=st.floats(-1e3, 1e3),
    recency=st.sampled_from([0.0, 1.1]),
)
def test_any_factor_and_constant_give_the_same_targets_up_to_rounding(
    returns, factor, constant, recency
) -> None:
    """A target is off by the rounding of the returns (at most u of the largest M of them, from
    either side of the subtraction and of the mean) over their spread."""
    targets, noise = [], 0.0
    for scaled in (returns, [factor * value + constant for value in returns]):
        buffer = Buffer(50, 1, torch.device("cpu"))
        buffer.add(np.zeros((len(scaled), 1), np.float32), scaled, [0] * len(scaled))
        mean, std = buffer.describe_returns(Recency(recency))
        largest = max(map(abs, scaled)) + abs(constant)
        if std <= 1e-6 * largest:
            return  # all the same, as far as float64 can tell
        noise += 100 * len(scaled) * 2.0**-53 * largest / std
        targets.append((np.array(scaled) - mean) / std)
    spread = max(1.0, np.abs(targets[0]).max())
    np.testing.assert_allclose(targets[1], targets[0], rtol=0, atol=noise * spread)


def make() -> tuple[FingerprintEvaluator, FlatPopulation]:
    torch.manual_seed(0)
    head = ActionHead("deterministic", ContinuousActions((-1.0,), (1.0,)))
    architecture = MlpArchitecture((3,), head, hidden=(4,))
    population = FlatPopulation(architecture, torch.randn(5, architecture.num_params).double())
    return FingerprintEvaluator((3,), 1, 4, (6,)).double(), population


def test_what_is_predicted_is_kept_when_the_statistics_move() -> None:
    evaluator, population = make()
    evaluator.set_return_statistics(100.0, 20.0)
    before = evaluator.value(population)
    outputs = evaluator.output(population)
    for mean, std in ((-3.0, 0.5), (1e6, 1e5), (100.0, 20.0)):
        evaluator.set_return_statistics(mean, std)
        torch.testing.assert_close(evaluator.value(population), before, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(evaluator.output(population), outputs, rtol=1e-9, atol=1e-9)


def test_the_first_statistics_give_the_network_its_unit() -> None:
    """Before them it has none: what it puts out at random is standard deviations from the mean."""
    evaluator, population = make()
    outputs = evaluator.output(population)
    evaluator.set_return_statistics(1000.0, 10.0)
    assert torch.equal(evaluator.output(population), outputs)
    torch.testing.assert_close(evaluator.value(population), 1000 + 10 * outputs)


@pytest.mark.parametrize(("mean", "std"), [(5.0, 0.0), (float("nan"), 1.0), (0.0, float("inf"))])
def test_statistics_that_say_nothing_of_the_unit_change_nothing(mean: float, std: float) -> None:
    evaluator, population = make()
    evaluator.set_return_statistics(7.0, 2.0)
    before = evaluator.value(population)
    evaluator.set_return_statistics(mean, std)
    assert torch.equal(evaluator.value(population), before)


def test_the_statistics_are_those_of_what_is_drawn() -> None:
    buffer = Buffer(4, 1, torch.device("cpu"))
    returns = [9.0, 1.0, 2.0, 4.0, 8.0]  # the first is overwritten
    buffer.add(np.zeros((5, 1), np.float32), returns, [0] * 5)
    assert buffer.describe_returns(Recency(0.0)) == pytest.approx((3.75, np.std(returns[1:])))
    weights = 1 / np.arange(1, 5) ** 1.1
    mean = np.average(returns[:0:-1], weights=weights)
    assert buffer.describe_returns(Recency(1.1))[0] == pytest.approx(mean)
