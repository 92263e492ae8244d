"""Many policies at once must answer as each would alone."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from toys import ConvArchitecture

from litmus.policies.actions import ActionHead
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


def sample(architecture: MlpArchitecture, policies: int = 5, states: int = 6):
    torch.manual_seed(0)
    flat = torch.randn(policies, architecture.num_params)
    return flat, torch.randn(states, *architecture.state_shape)


def answer_one_by_one(architecture, flat: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    answers = []
    for row in flat:
        module = architecture.build()
        load_flat(module, row)
        answers.append(module(states))
    return torch.stack(answers).detach()


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
def test_a_population_answers_as_its_policies_do_one_by_one(head: str, shape: str) -> None:
    architecture = make(head, shape)
    flat, states = sample(architecture)
    expected = answer_one_by_one(architecture, flat, states)
    assert expected.shape == (5, 6, architecture.head.size)
    torch.testing.assert_close(FlatPopulation(architecture, flat).actions(states), expected)
    torch.testing.assert_close(evaluate_modules(architecture, flat, states), expected)


@pytest.mark.parametrize("policies", [1, 5])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
def test_gradients_of_the_fast_path_equal_those_through_any_module(
    head: str, shape: str, policies: int
) -> None:
    architecture = make(head, shape)
    flat, states = sample(architecture, policies)
    gradients = []
    for evaluate in (
        architecture.population_actions,
        lambda *a: evaluate_modules(architecture, *a),
    ):
        theta, probes = flat.clone().requires_grad_(), states.clone().requires_grad_()
        answers = evaluate(theta, probes)
        weights = torch.linspace(-1, 1, answers.numel()).view(answers.shape)
        gradients.append(torch.autograd.grad((answers * weights).sum(), (theta, probes)))
    for fast, general in zip(*gradients, strict=True):
        torch.testing.assert_close(fast, general, rtol=1e-4, atol=1e-5)
        assert general.abs().sum() > 0


def make_in_numpy(architecture: MlpArchitecture, flat: np.ndarray) -> NumpyMlp:
    return NumpyMlp(len(architecture.state_shape), architecture.shape, architecture.head, flat)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
@pytest.mark.parametrize("make_forward", [MlpArchitecture.make_numpy_forward, make_in_numpy])
def test_the_workers_pass_equals_the_torch_module(head: str, shape: str, make_forward) -> None:
    """The compiled one, where there is one, and numpy's."""
    architecture = make(head, shape)
    flat, states = sample(architecture, policies=1)
    expected = answer_one_by_one(architecture, flat, states)[0].numpy()
    forward = make_forward(architecture, flat[0].numpy())
    np.testing.assert_allclose(forward(states.numpy().copy()), expected, rtol=1e-4, atol=1e-5)
    one_by_one = [np.array(forward(state)) for state in states.numpy()]
    np.testing.assert_allclose(one_by_one, expected, rtol=1e-4, atol=1e-5)


def test_a_module_that_is_no_mlp_works_as_a_population() -> None:
    architecture = ConvArchitecture((1, 4, 4), ActionHead("deterministic", BOUNDED))
    flat, states = sample(architecture)
    expected = answer_one_by_one(architecture, flat, states)
    torch.testing.assert_close(FlatPopulation(architecture, flat).actions(states), expected)


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
    together = FlatPopulation(architecture, flat).actions(states)
    alone = FlatPopulation(architecture, flat[2:3]).actions(states)
    torch.testing.assert_close(together[2:3], alone)


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
    network = architecture.build()
    load_flat(network, flat[0])
    by_hand = (observations - torch.arange(4.0)) / torch.tensor([1.0, 2.0, 3.0, 4.0])
    torch.testing.assert_close(policy(observations), network(by_hand))


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("head", HEADS)
def test_a_population_learns_as_its_modules_do(head: str, shape: str) -> None:
    """Gradients of parameters and of states."""
    architecture = make(head, shape)
    flat, states = sample(architecture)
    results = []
    for at_once in (True, False):
        theta, probes = flat.clone().requires_grad_(), states.clone().requires_grad_()
        answers = (
            FlatPopulation(architecture, theta).actions(probes)
            if at_once
            else evaluate_modules(architecture, theta, probes)
        )
        weights = torch.linspace(-1, 1, answers.numel()).view(answers.shape)
        results.append((answers, *torch.autograd.grad((answers * weights).sum(), (theta, probes))))
    for found, expected in zip(*results, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-5)


def test_gradients_are_right_when_other_policies_are_asked_before_they_are_taken() -> None:
    architecture = make("gaussian", "two layers")
    flat, states = sample(architecture)
    first, second = (flat + shift for shift in (0.0, 1.0))
    expected = [gradient_of(architecture, one, states) for one in (first, second)]
    first, second = first.clone().requires_grad_(), second.clone().requires_grad_()
    answers = [FlatPopulation(architecture, one).actions(states) for one in (first, second)]
    FlatPopulation(architecture, flat * 3).actions(states)
    for one, answer, gradient in zip((first, second), answers, expected, strict=True):
        torch.testing.assert_close(torch.autograd.grad(answer.sum(), one)[0], gradient)


def test_a_lone_policy_in_many_states_is_the_same_policy() -> None:
    architecture = make("gaussian", "two layers")
    flat, states = sample(architecture, policies=1, states=101)
    results = []
    for evaluate in (
        lambda theta, asked: evaluate_modules(architecture, theta, asked),
        lambda theta, asked: FlatPopulation(architecture, theta).actions(asked),
    ):
        theta, asked = flat.clone().requires_grad_(), states.clone().requires_grad_()
        answers = evaluate(theta, asked)
        weights = torch.linspace(-1, 1, answers.numel()).view_as(answers)
        gradients = torch.autograd.grad((answers * weights).sum(), (theta, asked))
        results.append((answers.detach(), *gradients))
    for expected, actual in zip(*results, strict=True):
        torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4)


def gradient_of(architecture, flat: torch.Tensor, states: torch.Tensor) -> torch.Tensor:
    theta = flat.clone().requires_grad_()
    answers = evaluate_modules(architecture, theta, states)
    return torch.autograd.grad(answers.sum(), theta)[0]


def test_a_graph_that_is_kept_gives_the_same_gradients_again_or_says_that_it_cannot() -> None:
    """Memory that is used again must never be read by a gradient that is taken late."""
    architecture = make("gaussian", "two layers")
    flat, states = sample(architecture)
    theta = flat.clone().requires_grad_()
    value = FlatPopulation(architecture, theta).actions(states).sum()
    (first,) = torch.autograd.grad(value, theta, retain_graph=True)
    FlatPopulation(architecture, flat * 3).actions(states)
    try:
        (second,) = torch.autograd.grad(value, theta)
    except RuntimeError:
        return
    torch.testing.assert_close(second, first)


def test_second_derivatives_are_right_or_refused() -> None:
    """A gradient penalty must not silently be zero."""
    architecture = make("deterministic", "two layers")
    flat, states = sample(architecture)
    penalties = []
    for evaluate in (
        lambda theta: evaluate_modules(architecture, theta, states),
        lambda theta: FlatPopulation(architecture, theta).actions(states),
    ):
        theta = flat.clone().requires_grad_()
        try:
            (gradient,) = torch.autograd.grad(evaluate(theta).sum(), theta, create_graph=True)
            penalties.append(torch.autograd.grad(gradient.square().sum(), theta)[0])
        except RuntimeError:
            continue
    torch.testing.assert_close(penalties[0], penalties[-1], rtol=1e-3, atol=1e-4)


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
