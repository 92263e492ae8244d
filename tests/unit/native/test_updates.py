"""The compiled steps must be torch's, only faster."""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import NamedTuple

import numpy as np
import pytest
import torch
from error_bounds import (
    Bounded,
    Perceptrons,
    Squashed,
    assert_within,
    concatenate,
    exactly,
    exceeds,
    rounded,
)
from toys import PlainArchitecture

from litmus.algorithms.buffer import Buffer
from litmus.algorithms.pssvf import Learner
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.evaluators.flat import FlatEvaluator
from litmus.native.library import MOST_LANES, find_library
from litmus.native.updates import CompiledUpdates, compile_updates
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.population import flatten
from litmus.tasks.base import Actions, ContinuousActions, DiscreteActions

CPU = torch.device("cpu")
needs_kernels = pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")

UNIT = ContinuousActions((-1.0,) * 2, (1.0,) * 2)
SCALED = ContinuousActions((-2.0, 0.0, -1.0), (4.0, 1.0, 1.0))
PARTLY_BOUNDED = ContinuousActions(
    (-1.0, 0.3, -math.inf, -math.inf), (3.0, math.inf, -2.0, math.inf)
)


@dataclass(frozen=True)
class Case:
    hidden: tuple[int, ...]
    actions: Actions
    states: int
    head: tuple[int, ...]
    batch: int
    activation: str = "tanh"
    head_activation: str = "relu"
    unit_actions: bool = False
    distribution: str = "auto"


CASES = {
    "paper": Case((256, 256), UNIT, 200, (256, 256), 16),
    "small": Case((7, 5), SCALED, 3, (9,), 5),
    "linear": Case((), SCALED, 1, (4, 4), 1),
    "relu": Case((33,), UNIT, 50, (64,), 40, "relu"),
    "tanh head": Case((7, 5), SCALED, 20, (33, 9), 16, head_activation="tanh"),
    "unit actions": Case((7, 5), SCALED, 3, (9,), 5, unit_actions=True),
    "partly bounded": Case((7, 5), PARTLY_BOUNDED, 3, (9,), 5, unit_actions=True),
    "gaussian": Case((33,), SCALED, 20, (9,), 16, distribution="gaussian"),
    "gaussian, unit actions": Case((7,), SCALED, 3, (9,), 5, "relu", "tanh", True, "gaussian"),
    "categorical": Case((33,), DiscreteActions(3), 20, (9,), 16, unit_actions=True),
    "one choice": Case((7, 5), DiscreteActions(1), 3, (9,), 5),
}
INTEGER_CASES = {
    "integers": Case((9, 7), SCALED, 5, (9,), 4, "relu"),
    "integers, as wide as the paper's": Case((256, 256), UNIT, 200, (256, 256), 16, "relu"),
}


def make_learner(case: str, seed: int = 0) -> Learner:
    """A buffer of 64 policies, an evaluator and a θ; the same each time."""
    chosen = {**CASES, **INTEGER_CASES}[case]
    torch.manual_seed(seed)
    action_head = ActionHead.for_task(chosen.distribution, chosen.actions)
    architecture = MlpArchitecture((4,), action_head, chosen.hidden, chosen.activation)
    theta = flatten(architecture.build()).requires_grad_()
    evaluator = FingerprintEvaluator(
        (4,),
        action_head.size,
        chosen.states,
        chosen.head,
        activation=chosen.head_activation,
        action_units=action_head.units.tolist() if chosen.unit_actions else None,
    )
    buffer = Buffer(64, architecture.num_params, CPU)
    rows = theta.detach() + 0.1 * torch.randn(64, architecture.num_params)
    buffer.add(rows.numpy(), np.linspace(-1, 2, 64).tolist(), [0] * 64)
    optimizers = (
        torch.optim.Adam([theta], lr=1e-3, fused=True),
        torch.optim.Adam(evaluator.parameters(), lr=1e-3, fused=True),
    )
    return Learner(architecture, theta, evaluator, *optimizers, buffer, policy_updates=5)


def compile_for(learner: Learner) -> CompiledUpdates:
    compiled = compile_updates(learner, batch_size=64, count_threads=one_thread)
    assert compiled is not None
    return compiled


def one_thread(steps: int) -> int:
    return 1


def as_it_is(learner: Learner) -> Learner:
    return learner


def take_steps(updates, batch_size: int, steps: int = 12) -> list[float]:
    generator = np.random.default_rng(0)
    results = []
    for _ in range(steps):
        slots = torch.from_numpy(generator.integers(64, size=batch_size))
        results += [float(updates.fit(slots)), float(updates.climb())]
    return results


class Step(NamedTuple):
    """What a step gives, flat: the loss or the value, parameters and both of Adam's moments."""

    result: Bounded | torch.Tensor
    params: Bounded | torch.Tensor
    means: Bounded | torch.Tensor
    squares: Bounded | torch.Tensor


def take_one(step: str, updates, slots: torch.Tensor) -> Step:
    learner = updates if isinstance(updates, Learner) else updates.learner
    optimizer = learner.evaluator_optimizer if step == "fit" else learner.theta_optimizer
    result = torch.as_tensor(updates.fit(slots) if step == "fit" else updates.climb())
    params = optimizer.param_groups[0]["params"]
    moments = ([optimizer.state[one][name] for one in params] for name in ("exp_avg", "exp_avg_sq"))
    return Step(result, *map(flatten_all, (params, *moments)))


def flatten_all(tensors) -> torch.Tensor:
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


class Learned:
    """The value or the loss of a learner as it is now, and its gradient, with their bounds."""

    def __init__(self, step: str, learner: Learner, slots: torch.Tensor) -> None:
        evaluator, architecture = learner.evaluator, learner.architecture
        batch = learner.buffer.select(slots)
        rows = torch.stack([*batch.rows]) if step == "fit" else learner.theta.detach()[None]
        self.policies = Perceptrons(
            architecture.shape.layer_sizes, architecture.activation, rows, evaluator.probing_states
        )
        squashed = Squashed(architecture.head, self.policies.outputs)
        shown, half_range = squashed.actions, exactly(1.0)
        if evaluator.action_units is not None:
            center, half_range = map(exactly, torch.tensor(evaluator.action_units))
            shown = (shown - center) / half_range
        sizes = shown.value.shape  # [B, K, A]
        self.head = Perceptrons(
            tuple(pairwise((sizes[1] * sizes[2], *evaluator.hidden, 1))),
            evaluator.activation,
            flatten_all(evaluator.head.parameters())[None],
            shown.reshape(sizes[0], -1),
        )
        values = self.head.outputs.reshape(-1)  # [B]
        if step == "fit":
            errors = values - exactly(batch.returns)
            self.result = (errors * errors * exactly(batch.weights)).sum(0)
            slopes = errors * exactly(batch.weights) * 2.0
        else:
            self.result, slopes = values[0], exactly(torch.ones(1))
        of_head, of_actions = self.head.go_back(slopes.reshape(1, -1, 1))
        of_outputs = squashed.go_back(of_actions.reshape(*sizes) / half_range)
        of_policies, of_states = self.policies.go_back(of_outputs)
        if step == "fit":
            self.gradient = concatenate([of_states.reshape(-1), of_head[0]])
            self.optimizer = learner.evaluator_optimizer
        else:
            self.gradient, self.optimizer = -of_policies[0], learner.theta_optimizer


def expect(step: str, learner: Learner, slots: torch.Tensor) -> Step:
    """The step from where the learner is now, with how far float32 may be from it."""
    learned = Learned(step, learner, slots)
    return Step(learned.result, *expect_adam(learned.optimizer, learned.gradient))


def expect_adam(optimizer: torch.optim.Adam, gradient: Bounded) -> tuple[Bounded, Bounded, Bounded]:
    (group,) = optimizer.param_groups
    mean_decay, square_decay = group["betas"]
    states = [optimizer.state[one] for one in group["params"]]
    step = 1 + (float(states[0]["step"]) if states[0] else 0)
    before = [
        exactly(flatten_all(state[name] for state in states) if states[0] else torch.zeros(()))
        for name in ("exp_avg", "exp_avg_sq")
    ]
    one = exactly(1.0)
    means = before[0] * rounded(mean_decay) + gradient * (one - rounded(mean_decay))
    squares = before[1] * rounded(square_decay)
    squares = squares + gradient * gradient * (one - rounded(square_decay))
    sizes = squares.sqrt() * rounded((1 - square_decay**step) ** -0.5) + rounded(group["eps"])
    change = means * rounded(group["lr"] / (1 - mean_decay**step)) / sizes
    return exactly(flatten_all(group["params"])) - change, means, squares


def prepare(case: str, steps: int) -> tuple[Learner, torch.Tensor]:
    """A learner that has taken some steps, and the next batch."""
    learner, batch = make_learner(case), CASES[case].batch
    take_steps(learner, batch, steps)
    return learner, torch.from_numpy(np.random.default_rng(9).integers(64, size=batch))


@pytest.mark.parametrize("make", [as_it_is, pytest.param(compile_for, marks=needs_kernels)])
@pytest.mark.parametrize("step", ["fit", "climb"])
@pytest.mark.parametrize("before", [0, 3])
@pytest.mark.parametrize("case", CASES)
def test_a_step_is_what_the_formulas_say(case: str, before: int, step: str, make) -> None:
    """One at a time: Adam goes by the sign of a gradient, and after a few steps the smallest
    rounding error of a gradient near zero has become a step in the other direction."""
    learner, slots = prepare(case, before)
    expected = expect(step, learner, slots)
    for found, bound in zip(take_one(step, make(learner), slots), expected, strict=True):
        assert_within(found, bound)


def make_integer_learner(case: str) -> Learner:
    """Integers everywhere, and raw outputs that are multiples of 32: an action is its range's
    middle or one of its ends, as exactly as tanh is 0 or ±1. In every other probing state it is
    the middle, where there is a slope. A few of each unit's weights are not zero, so that sums
    stay small."""
    learner = make_learner(case)
    generator = torch.Generator().manual_seed(0)
    evaluator, architecture = learner.evaluator, learner.architecture

    def draw(*sizes: int) -> torch.Tensor:
        few = 64 if sizes[0] == 1 else 16  # of the one unit that gives the value
        kept = torch.rand(sizes, generator=generator) < few / sizes[-1]
        return kept * torch.randint(-1, 2, sizes, generator=generator).float()

    def draw_policy() -> torch.Tensor:
        sizes, outputs = architecture.shape.layer_sizes, architecture.head.size
        layers = [(draw(o, i), draw(o)) for i, o in sizes]
        flat = flatten_all([*chain(*layers[:-1]), 32 * layers[-1][0], torch.zeros(outputs)])
        middle = evaluator.probing_states[:1]
        flat[-outputs:] = -Perceptrons(sizes, "relu", flat[None], middle).outputs.value[0, 0]
        return flat

    with torch.no_grad():
        for parameter in evaluator.parameters():
            parameter.copy_(draw(*parameter.shape))
        evaluator.probing_states[::2] = evaluator.probing_states[0]
        learner.theta.copy_(draw_policy())
    policies = np.stack([draw_policy().numpy() for _ in range(64)])
    learner.buffer.add(policies, [float(number % 9) for number in range(64)], [0] * 64)
    return learner


@pytest.mark.parametrize("make", [as_it_is, pytest.param(compile_for, marks=needs_kernels)])
@pytest.mark.parametrize("step", ["fit", "climb"])
@pytest.mark.parametrize("case", INTEGER_CASES)
def test_where_nothing_is_rounded_the_gradient_of_a_step_is_exact(
    case: str, step: str, make
) -> None:
    """The bounds grow with every layer: at the paper's size they would let faults pass."""
    batch = INTEGER_CASES[case].batch
    learner, slots = make_integer_learner(case), torch.arange(0, 64, 64 // batch)
    learned = Learned(step, learner, slots)
    finest = 1 / (4 * batch)  # all numbers are multiples of it: actions of 1/2, weights of 1/B
    for network in (learned.policies, learned.head):
        assert network.find_largest_sum() / finest < 2**24
    expected = expect_adam(learned.optimizer, exactly(learned.gradient.value))
    found = take_one(step, make(learner), slots)
    assert float(found.result) == float(learned.result.value)
    assert (learned.gradient.value != 0).double().mean() > 0.01
    for one, other in zip(found[1:], expected, strict=True):
        assert_within(one, other)


@pytest.mark.parametrize("step", ["fit", "climb"])
@pytest.mark.parametrize("case", ["paper", "small", "linear", "relu", "categorical"])
@pytest.mark.parametrize(
    "fault", ["another rate", "another decay", "wrong direction", "skipped bias"]
)
def test_a_step_with_a_fault_is_seen(case: str, step: str, fault: str) -> None:
    """The bounds are not so wide that anything would pass."""
    learner, slots = prepare(case, 3)
    expected = expect(step, learner, slots)
    for optimizer in (learner.theta_optimizer, learner.evaluator_optimizer):
        (group,) = optimizer.param_groups
        if fault == "another rate":
            group["lr"] *= 1.5
        elif fault == "another decay":
            group["betas"] = (0.9, 0.998)
        elif fault == "wrong direction":
            group["maximize"] = True
    if fault == "skipped bias":
        with torch.no_grad():
            learner.evaluator.head[-1].bias.zero_()
    found = take_one(step, learner, slots)
    assert any(bool(exceeds(*pair).any()) for pair in zip(found, expected, strict=True))


@needs_kernels
@pytest.mark.parametrize("case", ["small", "categorical"])
def test_every_instruction_set_gives_the_same_steps(case: str) -> None:
    library, results = find_library(), []
    assert library is not None
    for lanes in (8, 16):
        if library.choose_kernels(lanes) == lanes:
            learner = make_learner(case)
            compiled = compile_updates(learner, CASES[case].batch, count_threads=one_thread)
            losses = take_steps(compiled, CASES[case].batch)
            results.append((losses, learner.theta, *learner.evaluator.parameters()))
    library.choose_kernels(MOST_LANES)
    if len(results) < 2:
        pytest.skip("this processor runs one set of kernels only")
    one, other = results
    assert one[0] == other[0]
    assert all(map(torch.equal, one[1:], other[1:]))


@needs_kernels
def test_steps_go_on_from_a_state_that_was_loaded() -> None:
    """`prepare` finds the tensors that `load_state_dict` put in the place of the old ones."""
    learner = make_learner("small")
    compiled = compile_updates(learner, CASES["small"].batch, count_threads=one_thread)
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
    compiled.begin_round(steps=0)
    assert take_steps(compiled, CASES["small"].batch, steps=3) == expected


@needs_kernels
def test_what_the_kernels_are_not_made_for_is_left_to_torch() -> None:
    learner = make_learner("small")
    for other in (
        {"theta": learner.theta.double()},
        {"architecture": PlainArchitecture((4,), learner.architecture.head)},
        {"evaluator": FingerprintEvaluator((4,), 3, 3, (9,), action_units=[[1.0] * 3, [2.0] * 3])},
        {"evaluator": FlatEvaluator((4,), learner.architecture.num_params, (9,))},
    ):
        changed = replace(learner, **other)
        assert compile_updates(changed, batch_size=4, count_threads=one_thread) is None


def test_a_saturated_policy_stands_still() -> None:
    """Where no action can change, there is no slope; a trace of one would become steps."""
    learner = make_learner("small")
    with torch.no_grad():
        learner.theta[-3:] = 50.0  # the biases of the actions
    before = learner.theta.detach().clone()
    updates = compile_updates(learner, batch_size=5, count_threads=one_thread) or learner
    for _ in range(5):
        updates.climb()
    assert torch.equal(learner.theta.detach(), before)
