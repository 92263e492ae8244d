"""The bounds that other tests rely on: kept by what is right, and broken by what is wrong."""

from __future__ import annotations

from itertools import pairwise, product

import pytest
import torch
from error_bounds import Bounded, Perceptrons, Squashed, assert_within, exactly, exceeds
from hypothesis import given
from hypothesis import strategies as st

from litmus.policies.actions import ActionHead
from litmus.tasks.base import ContinuousActions, DiscreteActions

SHAPES = {
    "paper": (8, 256, 256, 2),
    "small": (4, 7, 5, 3),
    "one unit": (1, 1, 2, 1),
    "many inputs": (376, 40, 17),
    "linear": (5, 3),
}
FAULTS = ["dropped column", "skipped bias", "wrong slope", "skipped state"]


def draw(widths: tuple[int, ...], policies: int = 3, states: int = 20, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    layers = [
        (
            torch.randn(policies, outputs, inputs, generator=generator) / inputs**0.5,
            torch.randn(policies, 1, outputs, generator=generator) * 0.3,
        )
        for inputs, outputs in pairwise(widths)
    ]
    return layers, torch.randn(states, widths[0], generator=generator)


class WrongTanh(torch.autograd.Function):
    """With the slope 1 - |tanh|."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x.tanh())
        return x.tanh()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * (1 - ctx.saved_tensors[0].abs())


class WrongRelu(torch.autograd.Function):
    """With the slope 1 everywhere."""

    @staticmethod
    def forward(ctx, x):
        return x.relu()

    @staticmethod
    def backward(ctx, gradient):
        return gradient


def learn(layers, states, activation: str, fault: str = ""):
    """Outputs and gradients by torch, in the type of what is given; with a fault, if it has one."""
    layers = [tuple(part.clone().requires_grad_() for part in layer) for layer in layers]
    asked = states.clone().requires_grad_()
    activate = {"tanh": torch.tanh, "relu": torch.relu}[activation]
    if fault == "wrong slope":
        activate = {"tanh": WrongTanh.apply, "relu": WrongRelu.apply}[activation]
    x = asked.expand(len(layers[0][0]), -1, -1)
    for number, (weights, bias) in enumerate(layers):
        is_last = number == len(layers) - 1
        if fault == "dropped column" and is_last:
            x, weights = x[..., :-1], weights[..., :-1]
        products = x @ weights.transpose(1, 2)
        x = products if fault == "skipped bias" and is_last else products + bias
        x = x if is_last else activate(x)
    slopes = make_slopes(x)
    if fault == "skipped state":
        slopes[:, -1] = 0
    parts = [part for layer in layers for part in layer]
    *gradients, of_states = torch.autograd.grad(
        (x * slopes).sum(), [*parts, asked], allow_unused=True, materialize_grads=True
    )
    flat = torch.cat([gradient.flatten(1) for gradient in gradients], dim=1)
    return x.detach(), flat, of_states


def make_slopes(outputs: torch.Tensor) -> torch.Tensor:
    return torch.arange(1, outputs.numel() + 1).remainder(8).sub(4).view_as(outputs).to(outputs)


def bound(layers, states, activation: str) -> tuple[Bounded, Bounded, Bounded]:
    flat = torch.cat([part.flatten(1) for layer in layers for part in layer], dim=1)
    sizes = [(weights.shape[2], weights.shape[1]) for weights, _ in layers]
    networks = Perceptrons(sizes, activation, flat, states)
    return networks.outputs, *networks.go_back(make_slopes(networks.outputs.value))


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_values_are_those_of_autograd_in_float64(shape: str, activation: str) -> None:
    layers, states = draw(SHAPES[shape])
    double = [tuple(part.double() for part in layer) for layer in layers]
    expected = learn(double, states.double(), activation)
    for one, other in zip(bound(layers, states, activation), expected, strict=True):
        torch.testing.assert_close(one.value, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
@pytest.mark.parametrize("shape", SHAPES)
def test_float32_keeps_the_bounds(shape: str, activation: str) -> None:
    for seed in range(5):
        layers, states = draw(SHAPES[shape], seed=seed)
        expected = bound(layers, states, activation)
        for one, other in zip(learn(layers, states, activation), expected, strict=True):
            assert_within(one, other)


@pytest.mark.parametrize(
    ("shape", "fault"),
    [pair for pair in product(SHAPES, FAULTS) if pair != ("linear", "wrong slope")],
)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_kernel_with_a_fault_breaks_them(shape: str, activation: str, fault: str) -> None:
    """The bounds are not so wide that anything would pass."""
    layers, states = draw(SHAPES[shape])
    found, expected = learn(layers, states, activation, fault), bound(layers, states, activation)
    assert any(map(lambda *pair: bool(exceeds(*pair).any()), found, expected))


def test_not_a_number_breaks_every_bound() -> None:
    assert exceeds(torch.tensor([torch.nan]), exactly(torch.zeros(1))).all()
    with pytest.raises(AssertionError, match="beyond"):
        assert_within(torch.tensor([1.0]), exactly(torch.zeros(1)))


def test_at_a_kink_either_slope_is_right_and_elsewhere_one() -> None:
    before = Bounded(
        torch.tensor([1e-8, -1e-8, 0.5, -0.5]).double(), torch.full((4,), 1e-7).double()
    )
    for slope in (0.0, 1.0):
        right = ~exceeds(torch.full((4,), slope), before.step())
        assert right.tolist() == [True, True, slope == 1, slope == 0]


held = st.floats(-100, 100, width=32)
off = st.floats(-(2.0**-20), 2.0**-20)


@given(held, held, off, off)
def test_each_rule_holds_for_operands_as_wrong_as_they_may_be(x, y, x_off, y_off) -> None:
    one, other = (
        Bounded(exact, 1.001 * (exact - now).abs())
        for now, exact in (
            (n, torch.tensor([n + d], dtype=torch.float64)) for n, d in ((x, x_off), (y, y_off))
        )
    )
    x, y = torch.tensor([x]), torch.tensor([y])
    assert_within(x + y, one + other)
    assert_within(x - y, one - other)
    assert_within(x * y, one * other)
    assert_within(x.tanh(), one.tanh())
    assert_within(x.relu(), one.relu())
    assert_within((x > 0).float(), one.step())
    assert_within(torch.nn.functional.softplus(x), one.softplus())
    assert_within(x.sigmoid(), one.sigmoid())
    assert_within(torch.cat([x, y]).softmax(0), stack(one, other).softmax())
    assert_within(torch.cat([x, y]).sum(0), stack(one, other).sum(0))
    assert_within((x * x).sqrt(), (one * one).sqrt())
    assert_within(y / (x * x + 1), other / (one * one + 1.0))


def stack(*parts: Bounded) -> Bounded:
    return Bounded(torch.cat([p.value for p in parts]), torch.cat([p.error for p in parts]))


HEADS = {
    "bounded": ActionHead("deterministic", ContinuousActions((-2.0, 0.0), (4.0, 1.0))),
    "half-open": ActionHead("deterministic", ContinuousActions((0.0, 0.0), (torch.inf, 1.0))),
    "one-sided": ActionHead(
        "deterministic", ContinuousActions((3.0, -torch.inf), (torch.inf, 5.0))
    ),
    "gaussian": ActionHead("gaussian", ContinuousActions((-2.0,), (4.0,))),
    "categorical": ActionHead("categorical", DiscreteActions(2)),
}


@pytest.mark.parametrize("head", HEADS)
def test_squashed_actions_and_their_gradients_are_those_of_autograd(head: str) -> None:
    from litmus.policies.networks import Squash

    outputs = torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    slopes = torch.linspace(-1, 1, 100).view(50, 2)
    squashed = Squashed(HEADS[head], exactly(outputs))
    for dtype in (torch.float32, torch.float64):
        given_outputs = outputs.to(dtype).requires_grad_()
        actions = Squash(HEADS[head]).to(dtype)(given_outputs)
        (gradient,) = torch.autograd.grad((actions * slopes.to(dtype)).sum(), given_outputs)
        assert_within(actions, squashed.actions)
        assert_within(gradient, squashed.go_back(slopes))
    torch.testing.assert_close(actions.detach(), squashed.actions.value, rtol=1e-11, atol=1e-11)
    torch.testing.assert_close(gradient, squashed.go_back(slopes).value, rtol=1e-11, atol=1e-11)
