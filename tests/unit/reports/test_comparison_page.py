"""Tables and page of an experiment, from runs that are there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from harness import train_tiny

from litmus.analysis.comparison import Cell, Comparison
from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord, read_record
from litmus.reports.comparison import ComparisonReport
from litmus.reports.comparison_figures import draw_profiles
from litmus.reports.comparison_table import Figures, say_above_untrained, write_rows, write_wide
from litmus.reports.comparison_words import say_beside_paper, say_best, say_gains, say_last
from litmus.reports.html import show_number
from litmus.reports.overall import describe_overall, write_overall
from litmus.reports.reaching import list_reaching, write_reaching

PAPER = Figures({"Hopper": {"ours": (2969.0, 165.0), "theirs": (2340.0, None)}})


def make_cell(algorithm: str, mean: float, count: int = 5, task: str = "Hopper-v5") -> Cell:
    returns = tuple(mean + place - (count - 1) / 2 for place in range(count))
    return Cell(task, algorithm, 100, tuple(range(count)), returns, (0.0,) * count)


def test_a_row_shows_what_is_known_beside_the_paper() -> None:
    (row,) = write_rows(Comparison((make_cell("ours", 3000.0),)), PAPER)
    assert row[:3] == ["Hopper-v5", "ours", "3,000 ± 1.58"]
    assert row[5:] == ["5", "100", "0.00", "yes (p = 0.031)", "2,969 ± 165"]
    assert "range" not in row[3]


def test_tasks_are_rows_and_algorithms_columns() -> None:
    comparison = Comparison(
        (
            make_cell("ours", 10.0),
            make_cell("theirs", 20.0),
            make_cell("ours", 1.0, task="mine:Own"),
        )
    )
    head, rows = write_wide(comparison, PAPER)
    assert head == ["Task", "ours", "theirs", "paper: ours", "paper: theirs"]
    assert [row[0] for row in rows] == ["Hopper-v5", "Own"]
    assert rows[0][3:] == ["2,969 ± 165", "2,340"]
    assert rows[1][2:] == ["–", "–", "–"]


def test_it_is_said_where_an_algorithm_is_below_the_paper() -> None:
    fine, below = make_cell("ours", 2810.0), make_cell("ours", 2800.0)
    assert "on 1 of 1 task." in say_beside_paper(Comparison((fine,)), PAPER, "ours")
    assert "below it on Hopper-v5" in say_beside_paper(Comparison((below,)), PAPER, "ours")
    assert say_beside_paper(Comparison((below,)), PAPER, "others") == ""


@pytest.mark.parametrize(
    ("count", "gain", "said"), [(5, 9.0, "yes"), (5, 0.0, "no"), (4, 9.0, "too")]
)
def test_above_untrained_needs_more_than_luck(count: int, gain: float, said: str) -> None:
    assert say_above_untrained(make_cell("ours", gain, count)).startswith(said)


def test_what_the_last_policies_earned_stands_beside_those_handed_over() -> None:
    theirs = Cell("A-v1", "ars", 10, (0, 1), (4.0, 6.0))
    ours = replace(theirs, algorithm="pssvf", last=(1.0, 3.0))
    assert say_last(Comparison((ours, theirs))).endswith(": A-v1, pssvf 2.00 ± 1.41.")
    assert say_last(Comparison((theirs,))) == ""


def test_of_many_algorithms_the_best_of_a_task_are_named() -> None:
    cells = [Cell("A-v1", f"ars,noise={n}", 10, (0, 1), (float(n), n + 2.0)) for n in range(9)]
    random = Cell("A-v1", "random", 0, (0, 1), (99.0, 99.0))
    said = say_best(Comparison((*cells, random)), "A-v1")
    assert "of 9 is that of ars,noise=8 (9.00 ± 1.41), then ars,noise=7 (8.00 ± 1.41)." in said


def test_it_is_said_how_often_an_algorithm_is_better() -> None:
    comparison = Comparison(
        (
            *(make_cell("ours", 9.0), make_cell("theirs", 8.0), make_cell("untrained", 0.0)),
            *(make_cell("ours", 0.0, task="Own"), make_cell("theirs", 8.0, task="Own")),
        )
    )
    said = say_gains(comparison, "ours")
    assert "better than the untrained policy on 1 of 2 tasks" in said
    assert "at or above that of theirs on 1 of 2" in said
    assert say_gains(comparison, "nobody") == ""


def test_what_the_page_says_over_all_tasks_is_in_the_table_as_numbers() -> None:
    cells = [make_cell(name, mean, task=f"{task}-v1") for task in "AB" for name, mean in MEANS]
    comparison = Comparison(tuple(cells))
    told = json.loads(json.dumps(describe_overall(comparison), allow_nan=False))
    assert told["scored_tasks"] == ["A-v1", "B-v1"]
    for (_, _, rows), part in zip(
        write_overall(comparison),
        (told["interquartile_mean"].values(), told["probability_of_improvement"]["a"].values()),
        strict=True,
    ):
        for row, one in zip(rows, part, strict=False):
            low, high = one["ci95"]
            shown = [show_number(one["value"]), f"{show_number(low)} to {show_number(high)}"]
            assert row[1:] == shown
    assert set(told["probability_of_improvement"]) == {"a", "b"}
    chart = draw_profiles(comparison)
    assert chart is not None
    for series in chart.views[0].panels[0].series:
        profile = told["performance_profile"]["algorithms"][series.name]
        np.testing.assert_array_equal(profile["share"], np.asarray(series.y))
        np.testing.assert_array_equal(profile["ci95"], [series.low, series.high])
    assert len(told["performance_profile"]["scores"]) == len(profile["share"])


def test_intervals_of_few_seeds_are_told_nowhere() -> None:
    cells = [make_cell(name, mean, count=2) for name, mean in MEANS]
    told = describe_overall(Comparison(tuple(cells)))
    assert told["interquartile_mean"]["a"]["ci95"] is None
    assert told["performance_profile"]["algorithms"]["a"]["ci95"] is None
    assert describe_overall(Comparison(tuple(cells[:1]))) == {}


MEANS = (("a", 10.0), ("b", 9.0), ("c", 3.0))


def make_group(*curves: list[float]) -> Group:
    records = []
    for seed, means in enumerate(curves):
        events = [
            {"event": "evaluation", "steps": 100 * place, "mean": mean}
            for place, mean in enumerate(means)
        ]
        record = RunRecord(Path(), str(seed), None, {"seed": seed}, events=tuple(events))
        records.append(record)
    return Group("ours", "Hopper-v5", "pssvf", tuple(records))


def test_the_steps_to_the_papers_mean_are_those_of_the_first_evaluation_there() -> None:
    group = make_group([0, 3000, 10], [0, 0, 2969], [0, 0, 2968])
    (reaching,) = list_reaching([group], PAPER)
    assert reaching.steps == [100, 200, None]
    found = write_reaching([reaching])
    assert found is not None
    assert found[1] == [["Hopper-v5", "ours", "2,969", "200", "2 of 3"]]
    assert write_reaching(list_reaching([group], Figures())) is None
    never = write_reaching(list_reaching([make_group([0, 3000], [0, 0], [0, 0])], PAPER))
    assert never is not None
    assert never[1][0][3] == "never"


def test_names_of_ones_own_do_no_harm(tmp_path: Path) -> None:
    """They stand in Markdown, HTML and file names."""
    run = train_tiny(tmp_path / "run")
    name = "<b>a|b</b>/../x"
    record = read_record(run.path).without_rounds()
    group = Group(name, f"toys:{name}", "pssvf", (record,))
    cell = Cell(group.task, name, 40, (0,), tuple(group.finals), (0.0,))
    report = ComparisonReport("<i>T</i>", Comparison((cell,)), [group], missing=["<u>none</u>"])
    written = report.write(tmp_path / "out")
    page = (tmp_path / "out/report.html").read_text()
    for word in ("<b>a", "<i>T", "<u>none"):
        assert word not in page
    assert "a\\|b" in (tmp_path / "out/table.md").read_text()
    assert all(path.resolve().is_relative_to(tmp_path / "out") for path in written)
    assert json.loads((tmp_path / "out/table.json").read_text())[group.task][name]["seeds"] == [0]


def test_a_record_without_its_rounds_says_the_same(tmp_path: Path) -> None:
    record = read_record(train_tiny(tmp_path / "run", steps=200, preset="small").path)
    less = record.without_rounds()
    assert len(less.events) < len(record.events)
    for name in ("final_return", "untrained_return", "steps", "episodes", "seconds", "state"):
        assert getattr(less, name) == getattr(record, name), name
    assert less.steps_per_episode == record.steps_per_episode
