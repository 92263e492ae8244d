"""Networks through the compiled kernels must be the networks that torch computes."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
from error_bounds import TANH, Perceptrons, assert_within
from hypothesis import assume, example, given
from hypothesis import strategies as st

from litmus.native.library import MOST_LANES, Library, find_library
from litmus.native.perceptrons import evaluate_population
from litmus.policies.mlp_population import evaluate_perceptrons, evaluate_under_autograd
from litmus.policies.rows import MlpShape

pytestmark = pytest.mark.skipif(find_library() is None, reason="no compiled kernels here")

LANES = (8, 16)  # AVX2 and AVX-512


@pytest.fixture(params=LANES)
def lanes(request: pytest.FixtureRequest) -> Iterator[int]:
    """Each set of kernels that this processor can run."""
    library = kernels()
    if library.choose_kernels(request.param) != request.param:
        library.choose_kernels(MOST_LANES)
        pytest.skip(f"this processor has no vectors of {request.param} floats")
    yield request.param
    library.choose_kernels(MOST_LANES)


def kernels() -> Library:
    library = find_library()
    assert library is not None
    return library


def sample(shape: MlpShape, policies: int, states: int, seed: int = 0):
    """Weights of a size that lets signals through unchanged, whatever the width."""
    generator = torch.Generator().manual_seed(seed)
    draw = partial(torch.randn, generator=generator)
    layers = [
        (draw(policies, outputs * inputs) / inputs**0.5, 0.3 * draw(policies, outputs))
        for inputs, outputs in shape.layer_sizes
    ]
    flat = torch.cat([piece for layer in layers for piece in layer], dim=1)
    return flat, draw(states, shape.layer_sizes[0][0])


def sample_integers(shape: MlpShape, policies: int, states: int, seed: int = 0):
    """Small ones: every product and every sum of a relu network is an integer too."""
    generator = torch.Generator().manual_seed(seed)
    size = sum(outputs * (inputs + 1) for inputs, outputs in shape.layer_sizes)
    flat = torch.randint(-1, 2, (policies, size), generator=generator)
    asked = torch.randint(-2, 3, (states, shape.layer_sizes[0][0]), generator=generator)
    return flat.float(), asked.float()


def make_slopes(outputs: torch.Tensor) -> torch.Tensor:
    """Of some number that depends on each of the outputs in its own way; small integers."""
    return torch.arange(outputs.numel()).remainder(7).sub(3).view_as(outputs).to(outputs)


def learn(evaluate, shape: MlpShape, flat: torch.Tensor, states: torch.Tensor):
    """Outputs, and gradients in parameters and states."""
    theta, asked = flat.clone().requires_grad_(), states.clone().requires_grad_()
    outputs = evaluate(shape, theta, asked)
    slopes = make_slopes(outputs)
    return outputs.detach(), *torch.autograd.grad((outputs * slopes).sum(), (theta, asked))


def bound(shape: MlpShape, flat: torch.Tensor, states: torch.Tensor):
    """What `learn` must give, with how far float32 may be from it."""
    networks = Perceptrons(shape.layer_sizes, shape.activation, flat, states)
    return networks.outputs, *networks.go_back(make_slopes(networks.outputs.value))


def assert_all_within(found, expected) -> None:
    for one, other in zip(found, expected, strict=True):
        assert_within(one, other)


WIDTHS = st.lists(st.integers(1, 40), min_size=2, max_size=5)


@pytest.mark.parametrize(
    ("widths", "policies", "states"),
    [
        ((8, 256, 256, 2), 16, 200),  # the paper's
        ((17, 64, 64, 6), 3, 200),
        ((376, 40, 17), 2, 48),  # many inputs: Humanoid
        ((5, 3), 4, 33),  # no hidden layer
        ((1, 1, 1), 1, 1),
        ((3, 300, 2), 2, 1000),
        ((4, 9, 9, 9, 9, 1), 5, 15),
    ],
)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_outputs_and_gradients_are_the_networks(
    widths, policies, states, activation, lanes
) -> None:
    shape = MlpShape(tuple(pairwise(widths)), activation)
    case = sample(shape, policies, states)
    expected = bound(shape, *case)
    assert_all_within(learn(evaluate_population, shape, *case), expected)
    assert_all_within(learn(evaluate_under_autograd, shape, *case), expected)


@contextlib.contextmanager
def kernels_of(lanes: int) -> Iterator[None]:
    kernels().choose_kernels(lanes)
    try:
        yield
    finally:
        kernels().choose_kernels(MOST_LANES)


@given(
    widths=WIDTHS,
    policies=st.integers(1, 5),
    states=st.integers(1, 120),
    activation=st.sampled_from(["tanh", "relu"]),
    lanes=st.sampled_from(LANES),
    seed=st.integers(0, 2**32 - 1),
)
@example(widths=[1, 1, 2, 1], policies=1, states=10, activation="tanh", lanes=8, seed=0)
@example(widths=[1, 1, 2, 1], policies=1, states=10, activation="relu", lanes=8, seed=0)
def test_any_shape_gives_the_networks_outputs_and_gradients(
    widths, policies, states, activation, lanes, seed
) -> None:
    """Sizes that fill no vector, no tile, no panel."""
    shape = MlpShape(tuple(pairwise(widths)), activation)
    case = sample(shape, policies, states, seed)
    with kernels_of(lanes):
        assert_all_within(learn(evaluate_population, shape, *case), bound(shape, *case))


@given(
    widths=WIDTHS,
    policies=st.integers(1, 5),
    states=st.integers(1, 120),
    lanes=st.sampled_from(LANES),
    seed=st.integers(0, 2**32 - 1),
)
def test_where_nothing_is_rounded_every_number_is_exact(
    widths, policies, states, lanes, seed
) -> None:
    """Integers below 2²⁴, whatever the order of a sum: one number left out anywhere is seen."""
    shape = MlpShape(tuple(pairwise(widths)), "relu")
    case = sample_integers(shape, policies, states, seed)
    networks = Perceptrons(shape.layer_sizes, "relu", *case)
    gradients = networks.go_back(make_slopes(networks.outputs.value))
    assume(networks.find_largest_sum() < 2**24)
    with kernels_of(lanes):
        found = learn(evaluate_population, shape, *case)
    for one, other in zip(found, (networks.outputs, *gradients), strict=True):
        assert torch.equal(one.double(), other.value)


@contextlib.contextmanager
def torch_threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    yield
    torch.set_num_threads(before)


SMALL = MlpShape(((3, 40), (40, 20), (20, 2)), "tanh")


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_the_number_of_threads_does_not_change_a_bit(threads: int, lanes) -> None:
    flat, asked = sample(SMALL, policies=7, states=100)
    results = []
    for count in (1, threads):
        with torch_threads(count):
            results.append(learn(evaluate_population, SMALL, flat, asked))
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))


def test_rows_that_lie_apart_are_read_where_they_lie() -> None:
    flat, asked = sample(SMALL, policies=5, states=30)
    apart = tuple(row.clone() for row in flat.flip(0)[:3])
    found = evaluate_population(SMALL, apart, asked)
    assert torch.equal(found, evaluate_population(SMALL, flat.flip(0)[:3], asked))


def test_more_policies_than_are_asked_at_once() -> None:
    flat, asked = sample(SMALL, policies=150, states=4)
    assert_within(evaluate_population(SMALL, flat, asked), bound(SMALL, flat, asked)[0])


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_what_is_not_finite_is_not_hidden(activation: str, lanes) -> None:
    """A diverged policy must be seen to have diverged."""
    shape = MlpShape(((2, 20), (20, 1)), activation)
    flat, asked = sample(shape, policies=3, states=20)
    flat[1, 5] = float("nan")
    asked[7, 0] = float("nan")
    asked[8, 1] = float("inf")
    found = evaluate_population(shape, flat, asked)
    expected = evaluate_under_autograd(shape, flat, asked)
    assert torch.equal(found.isnan(), expected.isnan())
    assert torch.equal(found.isinf(), expected.isinf())
    assert found[:, 7].isnan().all()
    assert found[1].isnan().all()
    whole = [state for state in range(20) if state not in (7, 8)]
    assert_within(found[::2, whole], bound(shape, flat[::2], asked[whole])[0])


def test_tanh_is_accurate_from_the_smallest_to_the_largest_numbers(lanes) -> None:
    identity = MlpShape(((1, 1), (1, 1)), "tanh")
    flat = torch.tensor([[1.0, 0.0, 1.0, 0.0]])
    positive = torch.logspace(-38, 38, 20_001, dtype=torch.float64).float()
    x = torch.cat([-positive.flip(0), torch.zeros(1), positive]).unsqueeze(1)
    found = evaluate_population(identity, flat, x)[0].double()
    expected = x.double().tanh()
    assert (found.abs() <= 1).all()
    normal = expected.abs() > 1e-37
    assert ((found - expected).abs() / expected.abs())[normal].max() < TANH
    # A unit that is saturated must pass no gradient at all: Adam would make steps of it.
    assert (found[x.abs() > 9.02].abs() == 1).all()


def test_a_forked_process_starts_its_own_threads() -> None:
    flat, asked = sample(SMALL, policies=7, states=100)
    with torch_threads(3):
        expected = evaluate_population(SMALL, flat, asked)
        child = os.fork()
        if child == 0:
            same = torch.equal(evaluate_population(SMALL, flat, asked), expected)
            os._exit(0 if same else 1)
        assert os.waitpid(child, 0)[1] == 0


def test_transforms_of_torch_func_go_through_torch() -> None:
    """An ensemble, or a Jacobian, of a population."""
    flat, asked = sample(SMALL, policies=2, states=3)
    jacobian = torch.func.jacrev(lambda x: evaluate_perceptrons(SMALL, flat, x))(asked)
    assert jacobian.shape == (2, 3, 2, 3, 3)
    assert jacobian.abs().sum() > 0


def test_states_that_are_not_contiguous_are_read_in_their_own_order() -> None:
    flat, asked = sample(SMALL, policies=2, states=30)
    wide = torch.stack([asked, torch.full_like(asked, np.nan)], dim=2)
    assert torch.equal(
        evaluate_population(SMALL, flat, wide[:, :, 0]), evaluate_population(SMALL, flat, asked)
    )


def test_every_instruction_set_gives_the_same_bits() -> None:
    """A run can go on on another processor."""
    shape = MlpShape(((5, 33), (33, 18), (18, 3)), "tanh")
    flat, asked = sample(shape, policies=6, states=77)
    results = []
    for lanes in LANES:
        if kernels().choose_kernels(lanes) == lanes:
            results.append(learn(evaluate_population, shape, flat, asked))
    kernels().choose_kernels(MOST_LANES)
    if len(results) < 2:
        pytest.skip("this processor runs one set of kernels only")
    assert all(map(torch.equal, *results))


@pytest.mark.parametrize(
    ("cut_rows", "cut_states"), [(1, 0), (0, 1)], ids=["too few parameters", "too small states"]
)
def test_sizes_that_do_not_fit_are_refused(cut_rows: int, cut_states: int) -> None:
    """C would read whatever lies behind."""
    flat, asked = sample(SMALL, policies=2, states=4)
    flat, asked = flat[:, cut_rows:], asked[:, cut_states:]
    with pytest.raises(ValueError, match="takes"):
        evaluate_population(SMALL, flat, asked)
    with pytest.raises(ValueError, match="takes"):
        evaluate_population(SMALL, (flat[0], torch.cat([flat[1], flat[1]])), asked)


def test_rows_of_a_tuple_that_want_a_gradient_get_one() -> None:
    flat, asked = sample(SMALL, policies=2, states=4)
    rows = tuple(row.clone().requires_grad_() for row in flat)
    gradients = torch.autograd.grad(evaluate_perceptrons(SMALL, rows, asked).sum(), rows)
    assert all(gradient.abs().sum() > 0 for gradient in gradients)


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
def test_torchs_default_dtype_does_not_matter(dtype: torch.dtype) -> None:
    flat, asked = sample(SMALL, policies=2, states=4)
    expected = evaluate_population(SMALL, flat, asked)
    torch.set_default_dtype(dtype)
    try:
        assert torch.equal(evaluate_population(SMALL, flat, asked), expected)
    finally:
        torch.set_default_dtype(torch.float32)


def test_several_threads_of_a_program_can_ask_at_once() -> None:
    cases = [sample(SMALL, policies=3, states=40, seed=seed) for seed in range(4)]
    expected = [learn(evaluate_population, SMALL, *case) for case in cases]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            found = list(
                pool.map(lambda case: learn(evaluate_population, SMALL, *case), cases * 50)
            )
    finally:
        sys.setswitchinterval(interval)
    for number, result in enumerate(found):
        assert all(map(torch.equal, result, expected[number % 4]))


def test_other_dtypes_go_through_torch() -> None:
    flat, asked = sample(SMALL, policies=2, states=4)
    answers = evaluate_perceptrons(SMALL, flat.double(), asked.double())
    assert answers.dtype == torch.float64
    assert_within(evaluate_population(SMALL, flat, asked), bound(SMALL, flat, asked)[0])
    torch.testing.assert_close(answers, bound(SMALL, flat, asked)[0].value, rtol=1e-9, atol=1e-9)
