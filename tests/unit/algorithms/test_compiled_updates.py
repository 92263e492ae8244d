"""The compiled steps must be torch's, only faster."""

from __future__ import annotations

import copy
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from litmus.algorithms.compiled_updates import compile_updates
from litmus.algorithms.updates import TorchUpdates
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.evaluators.flat import FlatEvaluator
from litmus.native.library import MOST_LANES, find_library
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import flatten
from litmus.tasks.base import ContinuousActions
from litmus.training.buffer import Buffer

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


def make_parts(case: str, seed: int = 0):
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
    return architecture, theta, evaluator, *optimizers, buffer


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
    by_torch, by_kernels = make_parts(case), make_parts(case)
    expected = take_steps(TorchUpdates(*by_torch), batch)
    compiled = compile_updates(*by_kernels, batch)
    assert compiled is not None
    np.testing.assert_allclose(take_steps(compiled, batch), expected, rtol=1e-3, atol=1e-4)
    for one, other in zip(
        (by_kernels[1], *by_kernels[2].parameters()),
        (by_torch[1], *by_torch[2].parameters()),
        strict=True,
    ):
        torch.testing.assert_close(one, other, rtol=1e-3, atol=2e-4)
    for one, other in zip(by_kernels[3:5], by_torch[3:5], strict=True):
        assert_same_adam(one, other)


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
            parts = make_parts("small")
            compiled = compile_updates(*parts, CASES["small"].batch)
            losses = take_steps(compiled, CASES["small"].batch)
            results.append((losses, parts[1], *parts[2].parameters()))
    library.choose_kernels(MOST_LANES)
    for result in results[1:]:
        assert result[0] == results[0][0]
        assert all(map(torch.equal, result[1:], results[0][1:]))


@needs_kernels
def test_steps_go_on_from_a_state_that_was_loaded() -> None:
    """`prepare` finds the tensors that `load_state_dict` put in the place of the old ones."""
    parts = make_parts("small")
    compiled = compile_updates(*parts, CASES["small"].batch)
    take_steps(compiled, CASES["small"].batch, steps=3)
    theta, evaluator, *optimizers = parts[1:5]
    saved = copy.deepcopy(
        [theta.detach(), evaluator.state_dict(), *(one.state_dict() for one in optimizers)]
    )
    expected = take_steps(compiled, CASES["small"].batch, steps=3)
    with torch.no_grad():
        theta.copy_(saved[0])
    evaluator.load_state_dict(saved[1])
    for optimizer, state in zip(optimizers, saved[2:], strict=True):
        optimizer.load_state_dict(state)
    compiled.prepare()
    assert take_steps(compiled, CASES["small"].batch, steps=3) == expected


@needs_kernels
def test_what_the_kernels_are_not_made_for_is_left_to_torch() -> None:
    architecture, theta, evaluator, *optimizers, buffer = make_parts("small")
    assert compile_updates(architecture, theta.double(), evaluator, *optimizers, buffer, 4) is None
    gaussian = MlpArchitecture((4,), ActionHead("gaussian", SCALED), (7, 5))
    assert compile_updates(gaussian, theta, evaluator, *optimizers, buffer, 4) is None
    flat = FlatEvaluator((4,), architecture.num_params, (9,))
    assert compile_updates(architecture, theta, flat, *optimizers, buffer, 4) is None


def test_a_saturated_policy_stands_still() -> None:
    """Where no action can change, there is no slope; a trace of one would become steps."""
    architecture, theta, *rest = make_parts("small")
    with torch.no_grad():
        theta[-3:] = 50.0  # the biases of the actions
    before = theta.detach().clone()
    updates = compile_updates(architecture, theta, *rest, 5) or TorchUpdates(
        architecture, theta, *rest
    )
    for _ in range(5):
        updates.climb()
    assert torch.equal(theta.detach(), before)
