"""Augmented random search: its step is the formula's, from the policies that were measured."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from litmus.algorithms import ALGORITHMS, read_config
from litmus.algorithms.base import Resources
from litmus.errors import BadInput
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.rollouts.base import Setting
from litmus.rollouts.serial import SerialCollector
from litmus.tasks.base import ContinuousActions, Episode, Moments, TaskSpec

SIZES = {"directions": 5, "top_directions": 3, "noise": 0.2, "step_size": 0.1}


class LinearTask:
    """The return is a known function of what the policy does in one state; the second of each pair
    of episodes can be made to fail."""

    state_shape = (2,)
    actions = ContinuousActions((-1.0,), (1.0,))

    def __init__(self, broken: tuple[int, ...] = (), flat: bool = False) -> None:
        self.broken, self.flat, self.count = broken, flat, 0

    def run_episode(self, policy, seed: int) -> Episode:
        state = np.array([0.3, -0.7])
        return_ = 1.0 if self.flat else 10 * float(policy.act(state)[0])
        if self.count in self.broken:
            return_ = float("nan")
        self.count += 1
        return Episode(return_, return_, 1, Moments.of(state[None]))

    def close(self) -> None:
        pass


def make(**arguments):
    spec = TaskSpec(f"{__name__}:LinearTask", arguments)
    head = ActionHead("deterministic", LinearTask.actions)
    architecture = MlpArchitecture((2,), head, hidden=(4,))
    values = {"task": "any", "normalize_observations": False, **SIZES}
    config = read_config("ars", values)
    collector = SerialCollector(Setting(spec, architecture, config.seed), LinearTask(**arguments))
    return ALGORITHMS["ars"].load()(
        Resources(config, spec, architecture, collector, torch.device("cpu"), 1, Path())
    )


def expect_step(algorithm, measured) -> np.ndarray:
    """The formula, from the policies as the journal gives them back."""
    theta = measured.flat_params.astype(np.float64)
    outcomes = dict(measured.kept)
    pairs = []
    for index in range(measured.first_episode, measured.first_episode + 10, 2):
        if index in outcomes and index + 1 in outcomes:
            plus, minus = (measured.rebuild(algorithm.config.seed, i) for i in (index, index + 1))
            np.testing.assert_allclose(plus - theta, theta - minus, atol=1e-6)
            returns = [outcomes[i].training_return for i in (index, index + 1)]
            pairs.append((returns, (plus - theta) / SIZES["noise"]))
    best = sorted(pairs, key=lambda pair: -max(pair[0]))[: SIZES["top_directions"]]
    spread = np.std([returns for returns, _ in best])
    total = sum((returns[0] - returns[1]) * direction for returns, direction in best)
    return SIZES["step_size"] / (len(best) * spread) * total


@pytest.mark.parametrize("broken", [(), (1,), (0, 3, 4)])
def test_a_step_is_the_formulas(broken: tuple[int, ...]) -> None:
    """A direction one of whose episodes was dropped has no part in it."""
    algorithm = make(broken=broken)
    for _ in range(3):
        before = algorithm.flat_params.copy()
        measured = algorithm.iterate().round
        np.testing.assert_allclose(
            algorithm.flat_params - before, expect_step(algorithm, measured), atol=1e-5
        )


def test_the_best_directions_are_taken_and_not_the_others() -> None:
    algorithm = make()
    measured = algorithm.iterate().round
    returns = np.array([outcome.training_return for _, outcome in measured.kept]).reshape(5, 2)
    ranked = np.sort(returns.max(axis=1))
    assert ranked[2] > ranked[1]  # the third best can be told from the fourth
    assert measured.antithetic


def test_returns_that_are_all_the_same_move_nothing() -> None:
    algorithm = make(flat=True)
    before = algorithm.flat_params.copy()
    progress = algorithm.iterate()
    assert progress.metrics["return_spread"] == 0
    assert np.array_equal(algorithm.flat_params, before)


def test_every_episode_may_be_dropped() -> None:
    algorithm = make(broken=tuple(range(10)))
    before = algorithm.flat_params.copy()
    algorithm.iterate()
    assert np.array_equal(algorithm.flat_params, before)


def test_it_climbs() -> None:
    algorithm = make()
    means = []
    for _ in range(30):
        measured = algorithm.iterate().round
        means.append(np.mean([outcome.return_ for _, outcome in measured.kept]))
    assert means[-1] > 9  # of 10 at most
    assert means[0] < 8


def test_more_top_directions_than_directions_are_bad_input() -> None:
    with pytest.raises(BadInput, match="top_directions must be at most directions, 8, not 9"):
        read_config("ars", {"task": "any", "top_directions": 9})
