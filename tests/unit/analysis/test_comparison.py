"""Algorithms beside each other: figures of a table that can be checked by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from litmus.analysis.comparison import OVERALL, PROFILE, Cell, Comparison

FIVE = (0, 1, 2, 3, 4)


def make_cell(algorithm: str, returns: tuple[float, ...], task: str = "A", **options) -> Cell:
    options = {"untrained": (0.0,) * len(returns), "steps": 100, **options}
    return Cell(task, algorithm, seeds=tuple(range(len(returns))), returns=returns, **options)


def test_a_cell_tells_mean_deviation_middle_and_interval() -> None:
    cell = make_cell("ours", (1.0, 2.0, 3.0, 4.0, 10.0))
    told = cell.to_json()
    assert told["mean"] == 4.0
    assert told["std"] == pytest.approx(np.sqrt((9 + 4 + 1 + 0 + 36) / 4))
    assert told["iqm"] == pytest.approx((0.75 * 2 + 3 + 0.75 * 4) / 2.5)
    low, high = told["ci95"]
    assert 1.0 < low < 4.0 < high < 10.0
    assert told["seeds"] == list(FIVE)
    assert told["returns"] == [1.0, 2.0, 3.0, 4.0, 10.0]
    assert told["steps"] == 100
    json.dumps(told, allow_nan=False)


def test_few_seeds_have_a_range_and_no_interval() -> None:
    told = make_cell("ours", (1.0, 3.0)).to_json()
    assert told["ci95"] is None
    assert told["range"] == [1.0, 3.0]
    assert make_cell("ours", (1.0,)).to_json()["std"] is None


def test_the_gain_is_taken_seed_by_seed() -> None:
    """The seeds differ far more than what each of them gained."""
    untrained = (0.0, 100.0, 200.0, 300.0, 400.0)
    cell = make_cell("ours", tuple(value + 5.0 for value in untrained), untrained=untrained)
    assert cell.p_untrained == 1 / 2**5  # no other signs give as much
    assert cell.is_above_untrained
    assert make_cell("ours", (1.0,) * 5, untrained=()).p_untrained is None
    assert make_cell("ours", (1.0,) * 4).p_untrained is None  # too few to tell


def test_a_table_is_read_back_as_it_was_written() -> None:
    cells = (
        make_cell("ours", (1.0, 2.5), last=(0.5, 2.0)),
        make_cell("random", (0.5,), untrained=(), steps=0),
    )
    told = json.loads(json.dumps(Comparison(cells).to_json()))
    assert Comparison.from_json(told) == Comparison(cells)
    assert Comparison.from_json({**told, OVERALL: {"scored_tasks": ["A"]}}) == Comparison(cells)


def test_scores_go_from_the_untrained_policies_to_the_best_algorithm() -> None:
    comparison = Comparison(
        (
            make_cell("ours", (30.0, 50.0), untrained=(20.0, 20.0)),
            make_cell("theirs", (20.0, 30.0), untrained=(20.0, 20.0)),
            make_cell("ours", (-1.0, -1.0), "B", untrained=(-5.0, -5.0)),
            make_cell("theirs", (-3.0, -3.0), "B", untrained=(-5.0, -5.0)),
        )
    )
    assert comparison.scored_tasks == ["A", "B"]
    np.testing.assert_allclose(comparison.score("ours"), [[0.5, 1.5], [1.0, 1.0]])
    np.testing.assert_allclose(comparison.score("theirs"), [[0.0, 0.5], [0.5, 0.5]])
    found = comparison.compare("ours", "theirs")
    assert found is not None
    assert found.value == pytest.approx((3.5 / 4 + 1) / 2)
    assert comparison.score_interquartile("ours").value == pytest.approx(1.0)
    profile = comparison.draw_profile("theirs")
    assert profile.mean[np.searchsorted(PROFILE, 0.25)] == pytest.approx(0.75)
    assert not comparison.has_intervals


@pytest.mark.parametrize(
    "cells",
    [
        (make_cell("ours", (1.0,)), make_cell("theirs", (1.0,), "B")),  # not in the same task
        (make_cell("ours", (0.0,)), make_cell("theirs", (-1.0,))),  # no better than untrained
        (make_cell("ours", (1.0,), untrained=()), make_cell("theirs", (2.0,), untrained=())),
    ],
)
def test_tasks_that_cannot_be_scored_are_left_out(cells: tuple[Cell, ...]) -> None:
    assert Comparison(cells).scored_tasks == []


def test_what_is_no_more_than_chance_above_untrained_is_not_scored() -> None:
    """With enough seeds to tell: a score would divide by next to nothing."""
    returns = (-1500.0, -1400.0, -1600.0, -1450.0, -1540.0)
    cells = [make_cell("ours", returns, untrained=(-1500.0,) * 5)]
    assert Comparison(tuple(cells)).scored_tasks == []
    cells.append(make_cell("theirs", (-9.0,) * 5, untrained=(-1500.0,) * 5))
    assert Comparison(tuple(cells)).scored_tasks == ["A"]


def test_who_ends_above_whom_is_asked_in_every_task_of_both() -> None:
    comparison = Comparison(
        (
            make_cell("ours", (5.0,) * 5),
            make_cell("theirs", (4.0,) * 5),
            make_cell("ours", (-1.0,) * 5, "B"),  # nobody learned it, and one lost
            make_cell("theirs", (-0.1,) * 5, "B"),
            make_cell("others", (1.0,) * 5, "C"),
        )
    )
    found = comparison.compare("ours", "theirs")
    assert found is not None
    assert found.value == pytest.approx(0.5)
    assert comparison.compare("ours", "others") is None


def test_what_was_not_trained_is_shown_and_not_scored() -> None:
    comparison = Comparison(
        (
            make_cell("ours", (1.0, 2.0)),
            make_cell("theirs", (3.0, 1.0)),
            make_cell("random", (9.0, 9.0), steps=0, untrained=()),
        )
    )
    assert comparison.algorithms == ["ours", "theirs", "random"]
    assert comparison.trained == ["ours", "theirs"]
    assert comparison.score("theirs")[0].max() == 1.5  # 'random' sets no scale
    assert set(comparison.to_json()["A"]) == {"ours", "theirs", "random"}
