"""The yardstick of the benchmark: counted work must be the work."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.limits import count_flops
from benchmarks.rows import make_row
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
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
