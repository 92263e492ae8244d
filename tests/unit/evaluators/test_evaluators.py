"""What an evaluator learns from, what it leaves alone, and what it keeps on disk."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from toys import ConvArchitecture

from litmus.errors import BadInput
from litmus.evaluators.base import load_evaluator
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.evaluators.flat import FlatEvaluator
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import Population
from litmus.tasks.base import ContinuousActions

HEAD = ActionHead("deterministic", ContinuousActions((-1.0, -1.0), (1.0, 1.0)))
MLP = MlpArchitecture((3,), HEAD, hidden=(5,))
KINDS = ["fingerprint", "flat"]
ROUNDING = 1e-4
"""Of a value: ten times γ_n Σ |a_i b_i| of its largest sums, which are of 33 numbers of 0.07."""


def make(kind: str):
    torch.manual_seed(0)
    if kind == "fingerprint":
        return FingerprintEvaluator((3,), 2, num_probing_states=4, hidden=(6,))
    return FlatEvaluator((3,), MLP.num_params, hidden=(6,))


def make_population(count: int = 3) -> Population:
    torch.manual_seed(1)
    return Population(MLP, torch.randn(count, MLP.num_params, requires_grad=True))


@pytest.mark.parametrize("kind", KINDS)
def test_every_parameter_of_the_evaluator_gets_a_gradient(kind: str) -> None:
    """The probing states among them: they are learned."""
    evaluator = make(kind)
    evaluator.value(make_population()).square().sum().backward()
    for name, parameter in evaluator.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.abs().sum() > 0, name
    names = [name for name, _ in evaluator.named_parameters()]
    assert ("probing_states" in names) == (kind == "fingerprint")


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_can_be_climbed_in_the_policys_parameters(kind: str) -> None:
    """In float64, where a step can be so small that it meets no kink and no curvature."""
    evaluator, flat = make(kind).double(), make_population(1).flat_params.double()
    value = evaluator.value(Population(MLP, flat))
    (gradient,) = torch.autograd.grad(value, flat)
    step = 1e-6 * gradient / gradient.norm()
    higher = evaluator.value(Population(MLP, flat + step))
    assert (higher - value).item() == pytest.approx(1e-6 * gradient.norm().item(), rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_is_worth_the_same_alone_and_in_company(kind: str) -> None:
    evaluator, population = make(kind), make_population(5)
    together = evaluator.value(population)
    for row, value in zip(population.flat_params, together, strict=True):
        alone = evaluator.value(Population(MLP, row[None]))[0].item()
        assert alone == pytest.approx(value.item(), rel=ROUNDING, abs=ROUNDING)
    values = together.tolist()
    assert min(b - a for a, b in pairwise(sorted(values))) > 10 * ROUNDING


@pytest.mark.parametrize("kind", KINDS)
def test_score_of_a_policy_with_the_runs_normaliser_is_its_value(kind: str) -> None:
    evaluator, population = make(kind), make_population(1)
    normalizer = Normalizer(np.array([1.0, -2.0, 3.0]), np.array([0.5, 2.0, 10.0]))
    evaluator.set_normalizer(normalizer)
    policy = Policy(MLP, population.flat_params[0].detach(), normalizer)
    value = evaluator.value(population).item()
    assert evaluator.score(policy) == pytest.approx(value, rel=ROUNDING, abs=ROUNDING)


def test_a_fingerprint_judges_the_function_not_the_normaliser_it_is_written_with() -> None:
    """The same function of raw observations, scaled in its first layer instead."""
    evaluator = make("fingerprint")
    evaluator.set_normalizer(Normalizer(np.array([1.0, -2.0, 3.0]), np.array([0.5, 2.0, 4.0])))
    scale = np.array([0.5, 2.0, 4.0])
    flat = make_population(1).flat_params[0].detach()
    scaled = Policy(MLP, flat, Normalizer(np.zeros(3), scale))
    weight = flat[:15].view(5, 3) / torch.tensor(scale, dtype=torch.float32)
    same = torch.cat([weight.reshape(-1), flat[15:]])
    plain = Policy(MLP, same, Normalizer.identity((3,)))
    score = evaluator.score(scaled)
    assert evaluator.score(plain) == pytest.approx(score, rel=ROUNDING, abs=ROUNDING)


def test_a_fingerprint_evaluator_judges_another_architecture() -> None:
    torch.manual_seed(0)
    evaluator = FingerprintEvaluator((1, 4, 4), 2, num_probing_states=4, hidden=(6,))
    architecture = ConvArchitecture((1, 4, 4), HEAD)
    flat = torch.randn(architecture.num_params)
    policy = Policy(architecture, flat, Normalizer.identity((1, 4, 4)))
    value = evaluator.value(Population(architecture, flat[None])).item()
    assert evaluator.score(policy) == pytest.approx(value, rel=ROUNDING, abs=ROUNDING)


def test_a_flat_evaluator_refuses_another_architecture() -> None:
    other = MlpArchitecture((3,), HEAD, hidden=(4,))
    policy = Policy(other, torch.zeros(other.num_params), Normalizer.identity((3,)))
    with pytest.raises(BadInput, match="weights"):
        make("flat").score(policy)


def test_a_fingerprint_evaluator_refuses_a_policy_of_another_task() -> None:
    head = ActionHead("deterministic", ContinuousActions((-1.0,), (1.0,)))
    stranger = MlpArchitecture((9,), head, hidden=(4,))
    policy = Policy(stranger, torch.zeros(stranger.num_params), Normalizer.identity((9,)))
    with pytest.raises(BadInput, match="action parameters"):
        make("fingerprint").score(policy)


def test_probing_states_start_within_their_range() -> None:
    torch.manual_seed(0)
    evaluator = FingerprintEvaluator((3,), 2, 500, (4,), probing_range=(-2.0, 5.0))
    states = evaluator.probing_states.detach()
    assert states.min() >= -2
    assert states.max() <= 5
    assert states.mean() == pytest.approx(1.5, abs=0.3)


@pytest.mark.parametrize("kind", KINDS)
def test_an_evaluator_is_the_same_after_saving_and_loading(kind: str, tmp_path) -> None:
    evaluator, population = make(kind), make_population()
    evaluator.set_normalizer(Normalizer(np.arange(3.0), np.arange(1.0, 4.0)))
    evaluator.save(tmp_path / "evaluator.safetensors")
    loaded = load_evaluator(tmp_path / "evaluator.safetensors")
    assert torch.equal(loaded.value(population), evaluator.value(population))
    assert torch.equal(loaded.mean, evaluator.mean)
    assert torch.equal(loaded.std, evaluator.std)


@pytest.mark.parametrize("damage", ["truncated", "another shape", "another format", "no JSON"])
def test_a_damaged_evaluator_is_bad_input(damage: str, tmp_path) -> None:
    path = tmp_path / "evaluator.safetensors"
    make("fingerprint").save(path)
    description = path.with_suffix(".json")
    if damage == "truncated":
        path.write_bytes(path.read_bytes()[:-7])
    elif damage == "another shape":
        FingerprintEvaluator((3,), 2, 5, (6,)).save(tmp_path / "other.safetensors")
        (tmp_path / "other.safetensors").replace(path)
    elif damage == "another format":
        description.write_text(description.read_text().replace('"format": 1', '"format": 99'))
    else:
        description.unlink()
    with pytest.raises(BadInput):
        load_evaluator(path)
