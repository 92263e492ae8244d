"""What an evaluator learns from, what it leaves alone, and what it keeps on disk."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import torch
from toys import ConvArchitecture

from litmus.errors import BadInput
from litmus.evaluators import FingerprintOptions
from litmus.evaluators.base import load_evaluator
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.evaluators.flat import FlatEvaluator
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import FlatPopulation, MixedPopulation
from litmus.tasks.base import ContinuousActions, DiscreteActions

HEAD = ActionHead("deterministic", ContinuousActions((-1.0, -1.0), (1.0, 1.0)))
MLP = MlpArchitecture((3,), HEAD, hidden=(5,))
WIDE = ActionHead("deterministic", ContinuousActions((-3.0, -1.0), (5.0, 0.0)))
KINDS = ["fingerprint", "flat"]
ROUNDING = 1e-4
"""Of a value: ten times γ_n Σ |a_i b_i| of its largest sums, which are of 33 numbers of 0.07."""


def make(kind: str, **options):
    torch.manual_seed(0)
    if kind == "fingerprint":
        return FingerprintEvaluator((3,), 2, num_probing_states=4, hidden=(6,), **options)
    return FlatEvaluator((3,), MLP.num_params, hidden=(6,), **options)


def make_population(count: int = 3) -> FlatPopulation:
    torch.manual_seed(1)
    return FlatPopulation(MLP, torch.randn(count, MLP.num_params, requires_grad=True))


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
    value = evaluator.value(FlatPopulation(MLP, flat))
    (gradient,) = torch.autograd.grad(value, flat)
    step = 1e-6 * gradient / gradient.norm()
    higher = evaluator.value(FlatPopulation(MLP, flat + step))
    assert (higher - value).item() == pytest.approx(1e-6 * gradient.norm().item(), rel=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_a_policy_is_worth_the_same_alone_and_in_company(kind: str) -> None:
    evaluator, population = make(kind), make_population(5)
    together = evaluator.value(population)
    for row, value in zip(population.flat_params, together, strict=True):
        alone = evaluator.value(FlatPopulation(MLP, row[None]))[0].item()
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
    value = evaluator.value(FlatPopulation(architecture, flat[None])).item()
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
    with pytest.raises(BadInput, match=r"states of shape \(9,\), not \(3,\)"):
        make("fingerprint").score(policy)


def make_module(dtype: torch.dtype = torch.float32) -> torch.nn.Module:
    torch.manual_seed(2)
    layers = torch.nn.Linear(3, 7), torch.nn.ReLU(), torch.nn.Linear(7, 2), torch.nn.Tanh()
    return torch.nn.Sequential(*layers).to(dtype)


def test_any_module_or_function_of_raw_observations_can_be_judged() -> None:
    evaluator, module = make("fingerprint"), make_module()
    evaluator.set_normalizer(Normalizer(np.array([1.0, -2.0, 3.0]), np.array([0.5, 2.0, 10.0])))
    with torch.no_grad():
        raw = evaluator.probing_states * evaluator.std + evaluator.mean
        expected = evaluator.head(module(raw.float()).reshape(1, -1)).item()
    for policy in (
        module,
        lambda states: module(states),
        lambda states: module(states).detach().numpy(),
        make_module(torch.float64),
    ):
        assert evaluator.score(policy) == pytest.approx(expected, rel=1e-4)


def test_a_policy_that_does_nothing_is_judged_by_doing_nothing() -> None:
    evaluator = make("fingerprint")
    expected = evaluator.head(torch.zeros(1, 8)).item()
    assert evaluator.score(lambda states: np.zeros((len(states), 2))) == pytest.approx(expected)


def test_policies_of_mixed_kinds_are_judged_together() -> None:
    evaluator, module, flat = make("fingerprint"), make_module(), make_population(1).flat_params[0]
    normalizer = Normalizer(np.arange(3.0), np.arange(1.0, 4.0))
    policy = Policy(MLP, flat.detach(), normalizer)
    estimate = evaluator.predict([policy, module, policy])
    alone = [evaluator.score(one) for one in (policy, module, policy)]
    assert estimate.mean.tolist() == pytest.approx(alone)
    assert (estimate.low, estimate.high, estimate.familiarity) == (None, None, None)


def test_a_mixed_population_learns_and_teaches() -> None:
    """Gradients reach the probing states and the parameters of the policies."""
    evaluator, module = make("fingerprint"), make_module()
    evaluator.value(MixedPopulation([module, module])).sum().backward()
    assert evaluator.probing_states.grad.abs().sum() > 0
    assert all(parameter.grad.abs().sum() > 0 for parameter in module.parameters())


def test_rows_with_a_normaliser_are_what_their_policies_are() -> None:
    evaluator, flat = make("fingerprint"), make_population(3).flat_params.detach()
    evaluator.set_normalizer(Normalizer(np.array([0.5, 0.0, 1.0]), np.array([2.0, 3.0, 1.5])))
    normalizer = Normalizer(np.arange(3.0), np.arange(1.0, 4.0))
    together = evaluator.value(FlatPopulation(MLP, flat, normalizer))
    policies = MixedPopulation([Policy(MLP, row, normalizer) for row in flat])
    torch.testing.assert_close(together, evaluator.value(policies))


@pytest.mark.parametrize(
    ("policy", "words"),
    [
        (lambda states: states[:, :1], "2 action parameters, and the policy has 1"),
        (lambda states: states[0], r"must return action parameters \[4, A\]"),
        (lambda states: states[:2], r"must return action parameters \[4, A\]"),
        (lambda states: states[:, :2] / 0, "not all finite"),
        (lambda states: states[:, :2].long(), "must return action parameters"),
        (lambda states: "left", "the policy fails on"),
        (lambda states: 1 / 0, "ZeroDivisionError"),
        (torch.nn.Linear(5, 2), "the policy fails on"),
    ],
)
def test_what_cannot_be_judged_is_said_in_one_line(policy, words: str) -> None:
    with pytest.raises(BadInput, match=words) as caught:
        make("fingerprint").score(policy)
    assert "\n" not in str(caught.value)


def test_policies_with_different_actions_cannot_be_one_population() -> None:
    policies = [lambda states: states[:, :1], lambda states: states[:, :2]]
    with pytest.raises(BadInput, match=r"different numbers of action parameters: \[1, 2\]"):
        make("fingerprint").predict(policies)


def test_only_a_fingerprint_evaluator_judges_functions() -> None:
    with pytest.raises(BadInput, match="weights"):
        make("flat").score(make_module())
    with pytest.raises(BadInput, match="weights"):
        make("flat").value(MixedPopulation([make_module()]))


def test_probing_states_start_within_their_range() -> None:
    torch.manual_seed(0)
    evaluator = FingerprintEvaluator((3,), 2, 500, (4,), probing_range=(-2.0, 5.0))
    states = evaluator.probing_states.detach()
    assert states.min() >= -2
    assert states.max() <= 5
    assert states.mean() == pytest.approx(1.5, abs=0.3)


def test_at_a_temperature_choices_are_as_if_outputs_were_divided_by_it() -> None:
    outputs = torch.tensor([[[0.0, 2.0, -4.0], [1.0, 1.5, 0.0]]])
    hot, plain = (
        FingerprintEvaluator((3,), 3, 2, (6,), temperature=temperature) for temperature in (2, 1)
    )
    plain.load_state_dict(hot.state_dict())
    found = hot.value_of_actions(outputs.softmax(-1))
    torch.testing.assert_close(found, plain.value_of_actions((outputs / 2).softmax(-1)))


@pytest.mark.parametrize("temperature", [0, -1.0, float("nan"), float("inf"), "2"])
def test_a_temperature_is_above_0_in_a_file_as_well(temperature) -> None:
    with pytest.raises(ValueError, match="temperature"):
        FingerprintEvaluator((3,), 3, 2, (6,), temperature=temperature)


def test_at_a_temperature_a_choice_that_is_certain_still_has_a_finite_slope() -> None:
    outputs = torch.tensor([[[200.0, 0.0]]], requires_grad=True)
    evaluator = FingerprintEvaluator((3,), 2, 1, (6,), temperature=3.0)
    evaluator.value_of_actions(outputs.softmax(-1)).sum().backward()
    assert outputs.grad is not None
    assert outputs.grad.isfinite().all()


def test_in_unit_actions_the_bounds_do_not_matter() -> None:
    """The same networks, within ±1 and within other bounds: all that differs is the unit."""
    evaluator, flat = make("fingerprint"), make_population().flat_params
    expected = evaluator.value(FlatPopulation(MLP, flat))
    wide = MlpArchitecture((3,), WIDE, MLP.hidden)
    in_units = make("fingerprint", action_units=WIDE.units.tolist())
    torch.testing.assert_close(in_units.value(FlatPopulation(wide, flat)), expected)
    actions = FlatPopulation(wide, flat).actions(in_units.probing_states)
    torch.testing.assert_close(in_units.value_of_actions(actions), expected)
    for row, value in zip(flat.detach(), expected, strict=True):
        policy = Policy(wide, row, Normalizer.identity((3,)))
        for judged in (policy, lambda states, policy=policy: policy(states).detach().numpy()):
            assert in_units.score(judged) == pytest.approx(value.item(), rel=ROUNDING)


@pytest.mark.parametrize(
    ("head", "units"),
    [
        (WIDE, [[1.0, -0.5], [4.0, 0.5]]),
        (ActionHead("gaussian", WIDE.actions), [[1.0, -0.5, 0.0, 0.0], [4.0, 0.5, 1.0, 1.0]]),
        (ActionHead("categorical", DiscreteActions(3)), [[0.0] * 3, [1.0] * 3]),
        (
            ActionHead("deterministic", ContinuousActions((0.3, -np.inf), (np.inf, np.inf))),
            [[0.0, 0.0], [1.0, 1.0]],
        ),
        (ActionHead("deterministic", ContinuousActions((2.0,), (2.0,))), [[2.0], [1.0]]),
    ],
    ids=["bounded", "gaussian", "categorical", "without bounds", "only one value"],
)
def test_only_actions_between_two_bounds_have_units_of_their_own(head, units) -> None:
    assert head.units.tolist() == units
    architecture = MlpArchitecture((3,), head, hidden=(5,))
    options = FingerprintOptions(probing_states=4, evaluator_unit_actions=True)
    evaluator = FingerprintEvaluator.design(architecture, options)
    population = FlatPopulation(architecture, torch.randn(2, architecture.num_params))
    assert evaluator.value(population).isfinite().all()


@pytest.mark.parametrize(
    "units", [[[0.0], [1.0]], [[0.0, 0.0], [1.0, 0.0]], [[0.0, 0.0], [1.0, float("nan")]]]
)
def test_units_that_cannot_be_are_refused(units) -> None:
    with pytest.raises(ValueError, match="half ranges"):
        make("fingerprint", action_units=units)


@pytest.mark.parametrize("kind", KINDS)
def test_a_head_bends_as_it_is_told_to(kind: str) -> None:
    evaluator = make(kind, activation="tanh")
    first, _, last = evaluator.head
    given = torch.randn(5, first.in_features)
    with torch.no_grad():
        torch.testing.assert_close(evaluator.head(given), last(torch.tanh(first(given))))
        torch.testing.assert_close(make(kind).head(given), last(torch.relu(first(given))))


OPTIONS = {
    "fingerprint": {},
    "flat": {},
    "fingerprint, tanh": {"activation": "tanh", "action_units": WIDE.units.tolist()},
    "flat, tanh": {"activation": "tanh"},
}


@pytest.mark.parametrize("kind", OPTIONS)
def test_an_evaluator_is_the_same_after_saving_and_loading(kind: str, tmp_path) -> None:
    evaluator, population = make(kind.split(",")[0], **OPTIONS[kind]), make_population()
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
        description.write_text(description.read_text().replace('"format": 2', '"format": 99'))
    else:
        description.unlink()
    with pytest.raises(BadInput):
        load_evaluator(path)
