"""Networks that threads build, ask and draw at a time are those that each would have alone."""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch

from litmus.algorithms.initial import drawing_networks
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import evaluate_modules, flatten
from litmus.tasks.base import ContinuousActions

HEAD = ActionHead("deterministic", ContinuousActions((-1.0,), (1.0,)))
MLP = MlpArchitecture((3,), HEAD, hidden=(64, 64))
THREADS, TIMES = 4, 60


def run_at_once(work: Callable[[int], None]) -> None:
    barrier, errors = threading.Barrier(THREADS), []

    def begin(number: int) -> None:
        barrier.wait()
        try:
            for _ in range(TIMES):
                work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=begin, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_a_network_is_drawn_from_its_seed_whatever_else_is_built() -> None:
    def draw() -> torch.Tensor:
        with drawing_networks(seed=5):
            return flatten(MLP.build())

    expected = draw()

    def work(number: int) -> None:
        if number % 2:
            Policy(MLP, expected, Normalizer.identity((3,)))
        else:
            assert torch.equal(draw(), expected)

    run_at_once(work)


def test_policies_are_asked_each_with_its_own_parameters() -> None:
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(THREADS, MLP.num_params, generator=generator)
    states = torch.randn(5, 3, generator=generator)
    expected = evaluate_modules(MLP, rows, states)

    def work(number: int) -> None:
        one = evaluate_modules(MLP, rows[number : number + 1], states)
        torch.testing.assert_close(one, expected[number : number + 1], rtol=0, atol=1e-4)

    run_at_once(work)


def test_a_policy_leaves_torchs_random_numbers_as_they_were() -> None:
    torch.manual_seed(3)
    expected = torch.rand(2)
    torch.manual_seed(3)
    Policy(MLP, torch.zeros(MLP.num_params), Normalizer.identity((3,)))
    assert torch.equal(torch.rand(2), expected)
