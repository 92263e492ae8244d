"""A policy that acts through the kernels must do what it does without them."""

from __future__ import annotations

import numpy as np
import pytest

from litmus.native.acting import DRAWN_AHEAD, CompiledMlp
from litmus.native.library import find_library
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture, NumpyMlp
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.episode import ActingPolicy
from litmus.tasks.base import ContinuousActions, DiscreteActions

pytestmark = pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")

BOUNDED = ContinuousActions((-2.0, 0.0, -1.0), (4.0, 1.0, 1.0))
MATRIX = ContinuousActions((-2.0,) * 4, (0.5,) * 4, (2, 2), "float64")
PARTLY_BOUNDED = ContinuousActions((-1.0, -np.inf, 0.3), (3.0, np.inf, np.inf))
HEADS = {
    "deterministic": ActionHead("deterministic", BOUNDED),
    "matrix": ActionHead("deterministic", MATRIX),
    "gaussian": ActionHead("gaussian", BOUNDED),
    "gaussian, matrix": ActionHead("gaussian", MATRIX),
    "gaussian, partly bounded": ActionHead("gaussian", PARTLY_BOUNDED),
    "choices": ActionHead("categorical", DiscreteActions(4, start=5)),
    "one choice": ActionHead("categorical", DiscreteActions(1)),
}
NORMALIZER = Normalizer(np.array([1.0, -2.0, 0.5]), np.array([2.0, 0.5, 3.0]))


def make_pair(head: ActionHead, monkeypatch) -> tuple[ActingPolicy, ActingPolicy]:
    """The same policy, with the kernels and without."""
    architecture = MlpArchitecture((3,), head, hidden=(9,))
    generator = np.random.default_rng(0)
    flat = generator.standard_normal(architecture.num_params, dtype=np.float32)
    compiled = ActingPolicy(architecture, flat, NORMALIZER, np.random.default_rng(1))
    in_numpy = NumpyMlp(1, architecture.shape, head, flat)
    monkeypatch.setattr(MlpArchitecture, "make_numpy_forward", lambda *_: in_numpy)
    return compiled, ActingPolicy(architecture, flat, NORMALIZER, np.random.default_rng(1))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("head", HEADS)
def test_it_draws_what_it_draws_without_them(head: str, dtype: type, monkeypatch) -> None:
    """The same random numbers in the same order; what the network gives is off by some 1e-6."""
    compiled, plain = make_pair(HEADS[head], monkeypatch)
    assert compiled.compiled_form() is not None
    assert plain.compiled_form() is None
    observations = np.random.default_rng(2).standard_normal((2 * DRAWN_AHEAD + 5, 3)).astype(dtype)
    chosen = [compiled.act(observation) for observation in observations]
    expected = [plain.act(observation) for observation in observations]
    for one, other in zip(chosen, expected, strict=True):
        assert type(one) is type(other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
    np.testing.assert_allclose(chosen, expected, rtol=1e-4, atol=1e-4)
    if head == "choices":
        assert len(set(chosen)) > 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_normaliser_of_any_dtype_is_read_right(dtype: type) -> None:
    architecture = MlpArchitecture((3,), HEADS["deterministic"], hidden=())
    flat = np.linspace(-1, 1, architecture.num_params, dtype=np.float32)
    normalizer = Normalizer(NORMALIZER.mean.astype(dtype), NORMALIZER.std.astype(dtype))
    policy = ActingPolicy(architecture, flat, normalizer, np.random.default_rng(0))
    state = (np.ones(3) - NORMALIZER.mean) / NORMALIZER.std
    expected = architecture.make_numpy_forward(flat)(state.astype(np.float32))
    np.testing.assert_allclose(policy.act(np.ones(3)), expected, rtol=1e-6)


def test_an_action_is_the_callers_to_keep() -> None:
    architecture = MlpArchitecture((3,), HEADS["deterministic"], hidden=(4,))
    flat = np.ones(architecture.num_params, np.float32)
    policy = ActingPolicy(architecture, flat, NORMALIZER, np.random.default_rng(0))
    first = policy.act(np.zeros(3))
    kept = first.copy()
    policy.act(np.ones(3))
    np.testing.assert_array_equal(first, kept)


def test_a_gaussian_policy_stays_within_its_bounds() -> None:
    architecture = MlpArchitecture((3,), HEADS["gaussian"], hidden=())
    flat = np.full(architecture.num_params, 5.0, np.float32)  # as wide as can be, at one end
    policy = ActingPolicy(architecture, flat, NORMALIZER, np.random.default_rng(0))
    actions = np.array([policy.act(np.ones(3)) for _ in range(200)])
    assert (actions.max(axis=0) == BOUNDED.high).all()
    assert (actions >= BOUNDED.low).all()


def test_probabilities_are_right_from_the_smallest_to_the_largest_outputs() -> None:
    """Of two choices whose outputs are 0 and x."""
    head = ActionHead("categorical", DiscreteActions(2))
    architecture = MlpArchitecture((1,), head, hidden=())
    forward = architecture.make_numpy_forward(np.array([0.0, 1.0, 0.0, 0.0], np.float32))
    assert isinstance(forward, CompiledMlp)
    positive = np.logspace(-38, 38, 1001)
    positive = np.concatenate([positive, np.linspace(0, 120, 1001)])
    for x in np.concatenate([-positive, positive]).astype(np.float32):
        found = forward(np.array([x])).astype(np.float64)
        smaller = 1 / (1 + np.exp(np.minimum(abs(np.float64(x)), 700)))
        expected = [1 - smaller, smaller] if x < 0 else [smaller, 1 - smaller]
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2.0**-126)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("head", ["deterministic", "gaussian", "choices"])
def test_what_is_not_finite_is_not_hidden(head: str, bad: float) -> None:
    architecture = MlpArchitecture((3,), HEADS[head], hidden=())
    flat = np.zeros(architecture.num_params, np.float32)
    flat[-HEADS[head].size] = bad
    forward = architecture.make_numpy_forward(flat)
    in_numpy = NumpyMlp(1, architecture.shape, HEADS[head], flat)
    with np.errstate(invalid="ignore"):
        found, expected = (one(np.ones(3, np.float32)) for one in (forward, in_numpy))
    np.testing.assert_array_equal(np.isnan(found), np.isnan(expected))
