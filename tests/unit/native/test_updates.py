"""The compiled steps must be torch's, only faster."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace

import numpy as np
import pytest
import torch
from litmus.algorithms.updates import Learner, TorchUpdates

from litmus.algorithms.buffer import Buffer
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.evaluators.flat import FlatEvaluator
from litmus.native.library import MOST_LANES, find_library
from litmus.native.updates import compile_updates
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import flatten
from litmus.tasks.base import ContinuousActions

CPU = torch.device("cpu")
needs_kernels = pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")

UNIT = ContinuousActions((-1.0,) * 2, (1.0,) * 2)
SCALED = ContinuousActions((-2.0, 0.0, -1.0), (4.0, 1.0, 1.0))


@dataclass(frozen=True)
class Case:
    hidden: tuple[int, ...]
    actions: ContinuousActions
    states: int
    head: tuple[int, ...]
    batch: int
    activation: str = "tanh"


CASES = {
    "paper": Case((256, 256), UNIT, 200, (256, 256), 16),
    "small": Case((7, 5), SCALED, 3, (9,), 5),
    "linear": Case((), SCALED, 1, (4, 4), 1),
    "relu": Case((33,), UNIT, 50, (64,), 40, "relu"),
}


def make_learner(case: str, seed: int = 0) -> Learner:
    """A buffer of 64 policies, an evaluator and a θ; the same each time."""
    chosen = CASES[case]
    torch.manual_seed(seed)
    action_head = ActionHead("deterministic", chosen.actions)
    architecture = MlpArchitecture((4,), action_head, chosen.hidden, chosen.activation)
    theta = flatten(architecture.build()).requires_grad_()
    evaluator = FingerprintEvaluator((4,), action_head.size, chosen.states, chosen.head)
    buffer = Buffer(64, architecture.num_params, CPU)
    rows = theta.detach() + 0.1 * torch.randn(64, architecture.num_params)
    buffer.add(rows.numpy(), np.linspace(-1, 2, 64).tolist())
    optimizers = (
        torch.optim.Adam([theta], lr=1e-3, fused=True),
        torch.optim.Adam(evaluator.parameters(), lr=1e-3, fused=True),
    )
    return Learner(architecture, theta, evaluator, *optimizers, buffer)


def take_steps(updates, batch_size: int, steps: int = 12) -> list[float]:
    generator = np.random.default_rng(0)
    results = []
    for _ in range(steps):
        slots = torch.from_numpy(generator.integers(64, size=batch_size))
        results += [float(updates.fit(slots)), float(updates.climb())]
    return results


@needs_kernels
@pytest.mark.parametrize("case", CASES)
def test_compiled_steps_are_those_of_torch(case: str) -> None:
    batch = CASES[case].batch
    by_torch, by_kernels = make_learner(case), make_learner(case)
    expected = take_steps(TorchUpdates(by_torch), batch)
    compiled = compile_updates(by_kernels, batch)
    assert compiled is not None
    np.testing.assert_allclose(take_steps(compiled, batch), expected, rtol=1e-3, atol=1e-4)
    for one, other in zip(
        (by_kernels.theta, *by_kernels.evaluator.parameters()),
        (by_torch.theta, *by_torch.evaluator.parameters()),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-4)
    assert_same_adam(by_kernels.theta_optimizer, by_torch.theta_optimizer)
    assert_same_adam(by_kernels.evaluator_optimizer, by_torch.evaluator_optimizer)


def assert_same_adam(one: torch.optim.Adam, other: torch.optim.Adam) -> None:
    for values, expected in zip(one.state.values(), other.state.values(), strict=True):
        assert values["step"] == expected["step"]
        torch.testing.assert_close(values["exp_avg"], expected["exp_avg"], rtol=1e-2, atol=1e-4)


@needs_kernels
def test_every_instruction_set_gives_the_same_steps() -> None:
    library, results = find_library(), []
    assert library is not None
    for lanes in (8, 16):
        if library.choose_kernels(lanes) == lanes:
            learner = make_learner("small")
            compiled = compile_updates(learner, CASES["small"].batch)
            losses = take_steps(compiled, CASES["small"].batch)
            results.append((losses, learner.theta, *learner.evaluator.parameters()))
    library.choose_kernels(MOST_LANES)
    for result in results[1:]:
        assert result[0] == results[0][0]
        assert all(map(torch.equal, result[1:], results[0][1:]))


@needs_kernels
def test_steps_go_on_from_a_state_that_was_loaded() -> None:
    """`prepare` finds the tensors that `load_state_dict` put in the place of the old ones."""
    learner = make_learner("small")
    compiled = compile_updates(learner, CASES["small"].batch)
    take_steps(compiled, CASES["small"].batch, steps=3)
    theta, evaluator = learner.theta, learner.evaluator
    optimizers = (learner.theta_optimizer, learner.evaluator_optimizer)
    saved = copy.deepcopy(
        [theta.detach(), evaluator.state_dict(), *(one.state_dict() for one in optimizers)]
    )
    expected = take_steps(compiled, CASES["small"].batch, steps=3)
    with torch.no_grad():
        theta.copy_(saved[0])
    evaluator.load_state_dict(saved[1])
    for optimizer, state in zip(optimizers, saved[2:], strict=True):
        optimizer.load_state_dict(state)
    compiled.prepare(threads=1)
    assert take_steps(compiled, CASES["small"].batch, steps=3) == expected


@needs_kernels
def test_what_the_kernels_are_not_made_for_is_left_to_torch() -> None:
    learner = make_learner("small")
    for other in (
        {"theta": learner.theta.double()},
        {"architecture": MlpArchitecture((4,), ActionHead("gaussian", SCALED), (7, 5))},
        {"evaluator": FlatEvaluator((4,), learner.architecture.num_params, (9,))},
    ):
        assert compile_updates(replace(learner, **other), batch_size=4) is None


def test_a_saturated_policy_stands_still() -> None:
    """Where no action can change, there is no slope; a trace of one would become steps."""
    learner = make_learner("small")
    with torch.no_grad():
        learner.theta[-3:] = 50.0  # the biases of the actions
    before = learner.theta.detach().clone()
    updates = compile_updates(learner, batch_size=5) or TorchUpdates(learner)
    for _ in range(5):
        updates.climb()
    assert torch.equal(learner.theta.detach(), before)
