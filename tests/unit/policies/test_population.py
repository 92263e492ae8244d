"""Many policies at once must answer as each would alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from error_bounds import Bounded, Perceptrons, Squashed, assert_within, exactly
from hypothesis import given
from hypothesis import strategies as st
from toys import ConvArchitecture

from litmus.native.library import find_library
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import make_architecture
from litmus.policies.consistency import check_architecture
from litmus.policies.mlp import MlpArchitecture, NumpyMlp
from litmus.policies.policy import Policy
from litmus.policies.population import (
    FlatPopulation,
    evaluate_modules,
    flatten,
    load_flat,
    unflatten,
)
from litmus.tasks.base import ContinuousActions, DiscreteActions

BOUNDED = ContinuousActions((-2.0, -1.0), (4.0, 1.0))
PARTLY_BOUNDED = ContinuousActions((-1.0, -np.inf), (1.0, np.inf))
UNBOUNDED = ContinuousActions((-np.inf,) * 2, (np.inf,) * 2)
HEADS = {
    "deterministic": ActionHead("deterministic", BOUNDED),
    "half-open": ActionHead("deterministic", ContinuousActions((0.0, 0.0), (np.inf, 1.0))),
    "one-sided": ActionHead("deterministic", ContinuousActions((-np.inf, 2.0), (-1.0, np.inf))),
    "gaussian one-sided": ActionHead("gaussian", ContinuousActions((-np.inf, 2.0), (0.3, np.inf))),
    "partly bounded": ActionHead("deterministic", PARTLY_BOUNDED),
    "unbounded": ActionHead("deterministic", UNBOUNDED),
    "gaussian": ActionHead("gaussian", BOUNDED),
    "gaussian unbounded": ActionHead("gaussian", UNBOUNDED),
    "categorical": ActionHead("categorical", DiscreteActions(3)),
}
SHAPES = {
    "two layers": {"hidden": (7, 5)},
    "linear": {"hidden": ()},
    "relu": {"hidden": (7,), "activation": "relu"},
    "matrix states": {"state_shape": (2, 3), "hidden": (6,)},
}


def make(head: str, shape: str) -> MlpArchitecture:
    options = {"state_shape": (4,), **SHAPES[shape]}
    return MlpArchitecture(head=HEADS[head], **options)


def sample(architecture: MlpArchitecture, policies: int = 5, states: int = 6, seed: int = 0):
    generator = torch.Generator().manual_seed(seed)
    flat = torch.randn(policies, architecture.num_params, generator=generator)
    return flat, torch.randn(states, *architecture.state_shape, generator=generator)


def answer_one_by_one(architecture, flat: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    answers = []
    for row in flat:
        module = architecture.build()
        load_flat(module, row)
        answers.append(module(states))
    return torch.stack(answers).detach()


WAYS = {
    "at once": lambda architecture, flat, states: FlatPopulation(architecture, flat).actions(
        states
    ),
    "through any module": evaluate_modules,
}


def make_weights(answers: torch.Tensor) -> torch.Tensor:
    """Of some number that depends on each of the answers in its own way."""
    return torch.linspace(-1, 1, answers.numel()).view(answers.shape).to(answers)


def learn(way: str, architecture: MlpArchitecture, flat: torch.Tensor, states: torch.Tensor):
    """Answers, and gradients in parameters and states."""
    theta, probes = flat.clone().requires_grad_(), states.clone().requires_grad_()
    answers = WAYS[way](architecture, theta, probes)
    total = (answers * make_weights(answers)).sum()
    return answers, *torch.autograd.grad(total, (theta, probes))


def bound(architecture: MlpArchitecture, flat: torch.Tensor, states: torch.Tensor):
    """What `learn` must give, with how far float32 may be from it."""
    sizes, activation = architecture.shape.layer_sizes, architecture.activation
    networks = Perceptrons(sizes, activation, flat, states.flatten(1))
    squashed = Squashed(architecture.head, networks.outputs)
    weights = make_weights(squashed.actions.value.float())
    of_flat, of_states = networks.go_back(squashed.go_back(weights))
    return squashed.actions, of_flat, of_states.reshape(*states.shape)


def assert_all_within(found, expected: tuple[Bounded, ...]) -> None:
    for one, other in zip(found, expected, strict=True):
        assert_within(one, other)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
def test_a_population_answers_as_its_policies_do_one_by_one(head: str, shape: str) -> None:
    architecture = make(head, shape)
    flat, states = sample(architecture)
    expected = bound(architecture, flat, states)[0]
    assert expected.value.shape == (5, 6, architecture.head.size)
    assert_within(answer_one_by_one(architecture, flat, states), expected)
    for evaluate in WAYS.values():
        assert_within(evaluate(architecture, flat, states), expected)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(("policies", "states"), [(1, 6), (5, 6), (1, 101)])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
def test_a_population_learns_as_its_policies_do(
    head: str, shape: str, policies: int, states: int, way: str
) -> None:
    """Gradients of parameters and of states."""
    architecture = make(head, shape)
    case = sample(architecture, policies, states)
    expected = bound(architecture, *case)
    assert_all_within(learn(way, architecture, *case), expected)
    assert all(one.value.abs().sum() > 0 for one in expected)


@given(
    head=st.sampled_from(sorted(HEADS)),
    activation=st.sampled_from(["tanh", "relu"]),
    hidden=st.lists(st.integers(1, 12), max_size=3),
    policies=st.integers(1, 4),
    states=st.integers(1, 20),
    seed=st.integers(0, 2**32 - 1),
)
def test_any_population_is_its_modules(head, activation, hidden, policies, states, seed) -> None:
    architecture = MlpArchitecture((3,), HEADS[head], tuple(hidden), activation)
    case = sample(architecture, policies, states, seed)
    expected = bound(architecture, *case)
    for way in WAYS:
        assert_all_within(learn(way, architecture, *case), expected)


def make_in_numpy(architecture: MlpArchitecture, flat: np.ndarray) -> NumpyMlp:
    return NumpyMlp(len(architecture.state_shape), architecture.shape, architecture.head, flat)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("make_forward", [MlpArchitecture.make_numpy_forward, make_in_numpy])
def test_the_workers_pass_equals_the_torch_module(head: str, shape: str, make_forward) -> None:
    """The compiled one, where there is one, and numpy's."""
    architecture = make(head, shape)
    flat, states = sample(architecture, policies=1)
    expected = bound(architecture, flat, states)[0][0]
    forward = make_forward(architecture, flat[0].numpy())
    assert_within(torch.from_numpy(forward(states.numpy().copy())), expected)
    one_by_one = [np.array(forward(state)) for state in states.numpy()]
    assert_within(torch.from_numpy(np.stack(one_by_one)), expected)


def test_a_module_that_is_no_mlp_works_as_a_population() -> None:
    architecture = ConvArchitecture((1, 4, 4), ActionHead("deterministic", BOUNDED))
    flat, states = (part.double() for part in sample(architecture))
    together = evaluate_modules(architecture, flat, states)
    module = architecture.build().double()
    for row, answers in zip(flat, together, strict=True):
        load_flat(module, row)
        # Sums of at most 34 terms in float64: off by 1e-14.
        torch.testing.assert_close(answers, module(states).detach(), rtol=1e-9, atol=1e-9)
    found = FlatPopulation(architecture, flat).actions(states)
    assert torch.equal(found, together)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_number_of_parameters_is_that_of_the_module(shape: str) -> None:
    architecture = make("gaussian", shape)
    module = architecture.build()
    assert architecture.num_params == sum(p.numel() for p in module.parameters())


def test_flat_parameters_keep_the_order_of_the_modules_own() -> None:
    module = make("gaussian", "two layers").build()
    flat = flatten(module)
    for name, piece in unflatten(module, flat).items():
        assert torch.equal(piece, module.get_parameter(name))
    other = make("gaussian", "two layers").build()
    load_flat(other, flat)
    assert torch.equal(flatten(other), flat)


def test_answers_do_not_depend_on_the_company_a_policy_keeps() -> None:
    architecture = make("deterministic", "two layers")
    flat, states = sample(architecture)
    expected = bound(architecture, flat, states)[0]
    assert_within(FlatPopulation(architecture, flat[2:3]).actions(states), expected[2:3])


@pytest.mark.parametrize("head", HEADS)
def test_a_policy_is_the_same_after_saving_and_loading(head: str, tmp_path) -> None:
    from litmus.policies.normalizer import Normalizer

    architecture = make(head, "two layers")
    flat, observations = sample(architecture, policies=1)
    normalizer = Normalizer(np.arange(4.0), np.array([1.0, 2.0, 3.0, 4.0]))
    policy = Policy(architecture, flat[0], normalizer)
    policy.save(tmp_path / "policy.safetensors")
    loaded = Policy.load(tmp_path / "policy.safetensors")
    assert loaded.architecture == architecture
    assert torch.equal(loaded(observations), policy(observations))
    mean, std = torch.arange(4.0), torch.tensor([1.0, 2.0, 3.0, 4.0])
    normalized = (exactly(observations) - exactly(mean)) / exactly(std)
    layers = (architecture.shape.layer_sizes, architecture.activation)
    outputs = Perceptrons(*layers, flat[:1], normalized).outputs
    assert_within(policy(observations), Squashed(architecture.head, outputs).actions[0])


def test_gradients_are_right_when_other_policies_are_asked_before_they_are_taken() -> None:
    architecture = make("gaussian", "two layers")
    flat, states = sample(architecture)
    first, second = (flat + shift for shift in (0.0, 1.0))
    expected = [bound(architecture, one, states)[1] for one in (first, second)]
    first, second = first.clone().requires_grad_(), second.clone().requires_grad_()
    answers = [FlatPopulation(architecture, one).actions(states) for one in (first, second)]
    FlatPopulation(architecture, flat * 3).actions(states)
    for one, answer, gradient in zip((first, second), answers, expected, strict=True):
        total = (answer * make_weights(answer)).sum()
        assert_within(torch.autograd.grad(total, one)[0], gradient)


def test_a_graph_that_is_kept_gives_the_same_gradients_again() -> None:
    """Memory that is used again must never be read by a gradient that is taken late."""
    architecture = make("gaussian", "two layers")
    flat, states = sample(architecture)
    theta = flat.clone().requires_grad_()
    answers = FlatPopulation(architecture, theta).actions(states)
    total = (answers * make_weights(answers)).sum()
    expected = bound(architecture, flat, states)[1]
    assert_within(torch.autograd.grad(total, theta, retain_graph=True)[0], expected)
    FlatPopulation(architecture, flat * 3).actions(states)
    assert_within(torch.autograd.grad(total, theta)[0], expected)


def take_penalty(way: str, architecture, flat: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    """The gradient of a gradient's square."""
    theta = flat.clone().requires_grad_()
    answers = WAYS[way](architecture, theta, states)
    (gradient,) = torch.autograd.grad(answers.sum(), theta, create_graph=True)
    return torch.autograd.grad(gradient.square().sum(), theta)[0]


def test_second_derivatives_are_right_or_refused() -> None:
    """A gradient penalty must not silently be zero."""
    architecture = make("deterministic", "two layers")
    flat, states = sample(architecture)
    in_double = (architecture, flat.double(), states.double())
    one, other = (take_penalty(way, *in_double) for way in WAYS)
    torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-9)
    if find_library() is None:
        assert take_penalty("at once", architecture, flat, states).abs().sum() > 0
        return
    with pytest.raises(RuntimeError, match="differentiate"):
        take_penalty("at once", architecture, flat, states)


@pytest.mark.parametrize("count", [1, 2, 3, 16, 33])
def test_a_population_of_any_size_gives_the_same_bits_every_time(count: int) -> None:
    """Memory that is used again leaves no trace."""
    architecture = make("gaussian", "two layers")
    flat, states = sample(architecture, policies=count)
    runs = []
    for _ in range(5):
        theta, probes = flat.clone().requires_grad_(), states.clone().requires_grad_()
        answers = FlatPopulation(architecture, theta).actions(probes)
        runs.append((answers, *torch.autograd.grad(answers.square().sum(), (theta, probes))))
    for run in runs[1:]:
        assert all(torch.equal(one, other) for one, other in zip(runs[0], run, strict=True))


@pytest.mark.parametrize("name", ["mlp", "foreign-mlp"])
def test_a_state_may_be_a_single_number(name: str) -> None:
    head = ActionHead.for_task("auto", DiscreteActions(3))
    options = {"output": "softmax"} if name == "foreign-mlp" else {}
    check_architecture(make_architecture(name, (), head, hidden=(4,), **options))
