from __future__ import annotations

from typing import Any

import pytest

from litmus.runs.final import (
    DEFINITION,
    compute_final_return,
    compute_last_return,
    describe_final_return,
    find_untrained_return,
    select_final_evaluations,
)


def evaluations(number: int) -> list[dict[str, Any]]:
    """At step n the return is n."""
    return [{"event": "evaluation", "steps": n, "mean": float(n)} for n in range(number)]


def test_it_is_the_mean_of_the_last_twenty_evaluations() -> None:
    assert compute_final_return(evaluations(300)) == pytest.approx(sum(range(280, 300)) / 20)


def test_in_a_short_run_it_is_the_mean_of_the_last_tenth() -> None:
    assert compute_final_return(evaluations(30)) == pytest.approx((27 + 28 + 29) / 3)
    assert compute_final_return(evaluations(3)) == 2.0


def test_the_definition_in_words_is_the_one_in_numbers() -> None:
    assert "last 20 evaluations" in DEFINITION
    assert "fewer than 200" in DEFINITION
    assert len(select_final_evaluations(evaluations(199))) == 20
    assert len(select_final_evaluations(evaluations(190))) == 19


def test_it_is_that_of_the_policy_handed_over_where_one_was_chosen() -> None:
    chosen = {
        "event": "handed_over",
        "steps": 1200,
        "mean": 7.5,
        "returns": [7, 8],
        "is_last": False,
    }
    events = [*evaluations(30), chosen]
    assert compute_final_return(events) == 7.5
    assert compute_last_return(events) == pytest.approx((27 + 28 + 29) / 3)
    assert describe_final_return(events) == (
        "final return 7.5 (the policy of step 1,200, measured best; mean of 2 fresh episodes; "
        "untrained policy 0.0)"
    )


def test_a_run_without_evaluations_has_none() -> None:
    events = [{"event": "round", "steps": 4, "mean": 2.0}, {"event": "finished", "steps": 4}]
    assert compute_final_return(events) is None
    assert select_final_evaluations(events) == []
    assert find_untrained_return(events) is None
    assert describe_final_return(events) == ""


def test_an_evaluation_without_a_mean_does_not_count() -> None:
    events = [*evaluations(3), {"event": "evaluation", "steps": 3, "mean": None}]
    assert compute_final_return(events) == 2.0


def test_the_untrained_policy_is_the_one_measured_before_any_step() -> None:
    assert find_untrained_return(evaluations(3)) == 0.0
    assert find_untrained_return(evaluations(3)[1:]) is None


def test_the_words_say_what_was_averaged() -> None:
    assert describe_final_return(evaluations(30)) == (
        "final return 28.0 (mean of the last 3 evaluations; untrained policy 0.0)"
    )
    assert describe_final_return(evaluations(3)[1:]) == "final return 2.0 (the last evaluation)"
