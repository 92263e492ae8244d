"""What a policy does and where its merit rises, compiled: torch's numbers, but for rounding."""

from __future__ import annotations

import math

import pytest
import torch
from toys import PlainArchitecture

from litmus.algorithms.solving import TorchMerit
from litmus.evaluators.gaussian_process import GaussianProcessEvaluator
from litmus.native.library import find_library
from litmus.native.merit import CompiledMerit, compile_merit
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Architecture
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import FlatPopulation, flatten
from litmus.tasks.base import Actions, ContinuousActions, DiscreteActions

needs_kernels = pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")

SCALED = ContinuousActions((-2.0, 0.0, -1.0), (4.0, 1.0, 1.0))
PARTLY_BOUNDED = ContinuousActions(
    (-1.0, 0.3, -math.inf, -math.inf), (3.0, math.inf, -2.0, math.inf)
)
CASES: dict[str, tuple[Actions, str, tuple[int, ...], int]] = {
    "scaled": (SCALED, "auto", (64, 64), 200),
    "partly bounded": (PARTLY_BOUNDED, "auto", (7, 5), 3),
    "gaussian": (SCALED, "gaussian", (33,), 20),
    "categorical": (DiscreteActions(3), "auto", (33,), 21),
    "linear": (SCALED, "auto", (), 1),
}


def make(case: str) -> tuple[MlpArchitecture, torch.Tensor, GaussianProcessEvaluator]:
    """An architecture, θ, and an evaluator that has learned from policies near it."""
    actions, distribution, hidden, states = CASES[case]
    torch.manual_seed(0)
    head = ActionHead.for_task(distribution, actions)
    architecture = MlpArchitecture((4,), head, hidden)
    theta = flatten(architecture.build())
    evaluator = GaussianProcessEvaluator((4,), states, head.units.tolist(), capacity=40)
    teach(architecture, theta, evaluator)
    return architecture, theta, evaluator


def teach(
    architecture: Architecture, theta: torch.Tensor, evaluator: GaussianProcessEvaluator
) -> None:
    rows = theta + 0.2 * torch.randn(30, len(theta))
    asked = evaluator.fingerprints(FlatPopulation(architecture, rows))
    evaluator.remember(asked, asked.sum(1) + torch.randn(30, dtype=torch.float64))
    evaluator.solve()


def assert_alike(found: torch.Tensor, expected: torch.Tensor) -> None:
    """Both are rounded as float32, in sums of up to a few hundred numbers."""
    assert (found - expected).abs().max() <= 1e-5 * expected.abs().max()


@needs_kernels
@pytest.mark.parametrize("case", CASES)
def test_compiled_and_by_autograd_it_is_the_same(case: str) -> None:
    architecture, theta, evaluator = make(case)
    compiled = compile_merit(architecture, theta, evaluator)
    assert isinstance(compiled, CompiledMerit)
    reference = TorchMerit(architecture, evaluator)
    for _ in range(2):
        for policy in (theta, theta + 0.1 * torch.randn(len(theta))):
            (found, gradient), (expected, slope) = (
                merit.find_uphill(policy) for merit in (compiled, reference)
            )
            assert_alike(found, expected)
            assert_alike(gradient, slope)
            assert torch.equal(compiled.ask(policy), found)
        teach(architecture, theta, evaluator)  # it sees what the evaluator has learned since


@needs_kernels
def test_what_it_gives_is_not_written_over_by_the_next_call() -> None:
    architecture, theta, evaluator = make("scaled")
    compiled = compile_merit(architecture, theta, evaluator)
    asked, gradient = compiled.find_uphill(theta)
    before = asked.clone(), gradient.clone()
    compiled.find_uphill(theta + 1)
    assert torch.equal(asked, before[0])
    assert torch.equal(gradient, before[1])


def test_what_the_kernels_are_not_made_for_goes_through_torch() -> None:
    architecture, theta, evaluator = make("scaled")
    assert compile_merit(architecture, theta.double(), evaluator) is None
    own = PlainArchitecture((4,), architecture.head)
    assert compile_merit(own, flatten(own.build()), evaluator) is None
