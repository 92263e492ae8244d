"""Numbers of things in sentences."""

from __future__ import annotations

import pytest

from litmus.counts import say_count, say_names, show_return


@pytest.mark.parametrize(
    ("number", "words"),
    [(0, "0 jobs"), (1, "1 job"), (2, "2 jobs"), (1200, "1,200 jobs")],
)
def test_one_thing_has_no_plural(number: int, words: str) -> None:
    assert say_count(number, "job") == words


def test_a_plural_of_its_own() -> None:
    assert say_count(1, "policy", "policies") == "1 policy"
    assert say_count(3, "policy", "policies") == "3 policies"


@pytest.mark.parametrize(
    ("names", "words"),
    [
        ([], "0 tasks"),
        (["A"], "A"),
        (["A", "B"], "A and B"),
        (["A", "B", "C"], "A, B and C"),
        (["Hopper-v5"] * 40, "40 tasks"),
    ],
)
def test_a_few_are_named_and_many_are_counted(names: list[str], words: str) -> None:
    assert say_names(names, "task") == words


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.0, "0.0"), (12.34, "12.3"), (-0.1, "-0.1"), (-1.78e-11, "-1.78e-11"), (2e9, "2e+09")],
)
def test_a_return_is_told_in_its_own_size(value: float, shown: str) -> None:
    assert show_return(value) == shown
