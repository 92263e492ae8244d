"""The yardstick of the benchmark: counted work must be the work."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.limits import count_flops
from benchmarks.pieces import make_task
from benchmarks.rows import STEPPED, make_row
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.episode import ActingPolicy
from litmus.tasks.base import ContinuousActions


def test_flops_of_a_network_that_can_be_counted_by_hand() -> None:
    head = ActionHead("deterministic", ContinuousActions((-1.0,), (1.0,)))
    architecture = MlpArchitecture((2,), head, hidden=(3,))
    # 2·3 + 3·1 = 9 multiplications a state, 5 states; a head 5 → 4 → 1 with 24.
    evaluator, policy = count_flops(architecture, 5, (4,), states=5)
    assert evaluator == 2 * 2 * 5 * 9 + 3 * 2 * 24
    assert policy == 3 * 2 * 5 * 9 - 2 * 5 * 6 + 2 * 2 * 24


def test_a_ratio_is_the_limit_over_the_time_taken() -> None:
    row = make_row("anything", [(2.0, 1.0), (4.0, 1.0), (4.0, 3.0)])
    assert row["ratio"] == pytest.approx(0.25)
    assert {"name", "seconds", "limit_seconds", "ratio"} <= row.keys()


@pytest.mark.parametrize(
    "played", [played for played in STEPPED if played.balances], ids=lambda played: played.task
)
def test_a_policy_that_is_said_to_balance_does(played) -> None:
    """Else the row would measure how episodes start."""
    task = make_task(played.task)
    architecture = played.make_architecture(task)
    normalizer = Normalizer.identity(task.state_shape)
    flat = played.make_flat_params(architecture)
    policy = ActingPolicy(architecture, flat, normalizer, np.random.default_rng(0))
    assert task.run_episode(policy, 0).steps == task.environment.spec.max_episode_steps
