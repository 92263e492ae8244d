from __future__ import annotations

import re

from litmus.policies.actions import ActionHead
from litmus.reports.meters import find_range, write_meter
from litmus.tasks.base import ContinuousActions, DiscreteActions


def place_bar(value: float, low: float, high: float) -> tuple[float, float]:
    """Left end and width, in per cent of the track."""
    written = write_meter("name", value, low, high, "shown", "title")
    found = re.search(r'class="fill" style="left:([\d.]+)%;width:([\d.]+)%"', written)
    assert found is not None
    return float(found[1]), float(found[2])


def test_a_probability_starts_at_the_left() -> None:
    low, high = find_range(ActionHead("categorical", DiscreteActions(3)), 1)
    assert (low, high) == (0.0, 1.0)
    assert place_bar(0.75, low, high) == (0.0, 75.0)
    assert 'class="zero"' not in write_meter("name", 0.75, low, high, "", "")


def test_a_signed_value_starts_in_the_middle() -> None:
    low, high = find_range(ActionHead("deterministic", ContinuousActions((-2.0,), (2.0,))), 0)
    assert place_bar(1.0, low, high) == (50.0, 25.0)
    assert place_bar(-2.0, low, high) == (0.0, 50.0)
    assert 'class="zero" style="left:50.0%"' in write_meter("name", 1.0, low, high, "", "")


def test_a_range_that_is_not_symmetric_starts_at_its_zero() -> None:
    assert place_bar(3.0, -1.0, 3.0) == (25.0, 75.0)
    assert place_bar(3.0, 2.0, 4.0) == (0.0, 50.0)
    assert place_bar(-2.5, -5.0, 0.0) == (50.0, 50.0)


def test_what_is_outside_or_not_finite_stays_on_the_track() -> None:
    assert place_bar(9.0, -1.0, 1.0) == (50.0, 50.0)
    assert place_bar(float("nan"), -1.0, 1.0) == (50.0, 0.0)


def test_without_bounds_the_usual_range_is_shown() -> None:
    head = ActionHead("gaussian", ContinuousActions((-float("inf"),), (float("inf"),)))
    assert find_range(head, 0) == (-1.0, 1.0)
    assert find_range(head, 1) == (-5.0, 0.0)
