"""A policy goes on doing what it did when its observations are normalised otherwise."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from odd_classes import HalfOverridden, ScaledMlp

from litmus.policies.actions import ActionHead
from litmus.policies.architecture import find_renormalizing
from litmus.policies.cnn import CnnArchitecture
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.tasks.base import ContinuousActions

HEAD = ActionHead.for_task("auto", ContinuousActions((-1.0, -2.0), (1.0, 3.0)))


@pytest.mark.parametrize("hidden", [(), (7,), (5, 4)])
def test_the_first_layer_makes_up_for_another_normaliser(hidden: tuple[int, ...]) -> None:
    """For tasks whose states are vectors or matrices, and where a component did not vary before."""
    generator = np.random.default_rng(0)
    architecture = MlpArchitecture((2, 3), HEAD, hidden)
    theta = generator.normal(size=architecture.num_params).astype(np.float32)
    before = Normalizer(generator.normal(size=6), np.array([1.0, 0.2, 3.0, 0.5, 1.0, 2.0]))
    after = Normalizer(generator.normal(size=6), np.array([0.3, 0.4, 5.0, 0.5, 0.02, 1.0]))
    changed = architecture.renormalize(theta, before, after)
    observations = torch.from_numpy(generator.normal(size=(40, 2, 3)).astype(np.float32))
    first, second = (
        Policy(architecture, torch.from_numpy(row), normalizer)(observations)
        for row, normalizer in ((theta, before), (changed, after))
    )
    torch.testing.assert_close(second, first, rtol=0, atol=1e-4)
    assert not np.allclose(changed, theta)
    np.testing.assert_array_equal(architecture.renormalize(theta, before, before), theta)


def test_a_network_of_ones_own_does_not_inherit_it() -> None:
    plain = MlpArchitecture((3,), HEAD, (4,))
    assert find_renormalizing(plain) is plain
    assert find_renormalizing(ScaledMlp((3,), HEAD, (4,))) is None
    assert find_renormalizing(HalfOverridden((3,), HEAD, (4,))) is None
    assert find_renormalizing(CnnArchitecture((8, 8), HEAD)) is None
