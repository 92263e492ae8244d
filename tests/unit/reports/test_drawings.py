from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from litmus.analysis.groups import group_records
from litmus.analysis.records import read_record
from litmus.reports.curves import draw_learning_curves
from litmus.reports.details import DetailsInProgress, RunDetails
from litmus.reports.drawings import (
    draw_components,
    draw_importance,
    draw_movement,
    draw_predictions,
    draw_training,
)
from litmus.reports.episode import draw_behaviour


@pytest.fixture(scope="module")
def details(cartpole_run: Path) -> RunDetails:
    return DetailsInProgress(read_record(cartpole_run)).finish()


def test_nothing_of_a_whole_run_is_left_out(details: RunDetails) -> None:
    assert details.notes == []
    for draw in (
        draw_predictions,
        draw_training,
        draw_movement,
        draw_importance,
        draw_components,
        draw_behaviour,
    ):
        drawn = draw(details)
        assert drawn is not None
        assert drawn.title
        assert drawn.sentence.endswith(".")


def test_sets_of_images_have_accuracies_and_interactions(cartpole_run: Path) -> None:
    groups = group_records([read_record(cartpole_run)])
    drawn, of_images = (draw_learning_curves(task, groups) for task in ("CartPole-v1", "mnist"))
    assert [drawn.views[0].x_label, drawn.views[0].panels[0].y_label] == [
        "environment steps",
        "return",
    ]
    assert [of_images.views[0].x_label, of_images.views[0].panels[0].y_label] == [
        "interactions",
        "accuracy (%)",
    ]
    assert "accuracy" in of_images.title


def test_a_component_that_never_varies_shows_as_unused(details: RunDetails) -> None:
    constant = np.array([False, True, False, False])
    drawn = draw_components(replace(details, constant=constant))
    assert drawn is not None
    assert drawn.bars[1].value == 0.0
    assert drawn.bars[1].note == "unused: never varies"
    assert sum(bar.value for bar in drawn.bars) == pytest.approx(100.0)
    assert "1 of 4 never vary" in drawn.sentence


def test_states_are_ranked_by_what_they_matter(details: RunDetails) -> None:
    drawn = draw_importance(details)
    assert drawn is not None
    values = [bar.value for bar in drawn.bars]
    assert values == sorted(values, reverse=True)


def test_behaviour_shows_states_actions_and_distances_over_the_same_steps(
    details: RunDetails,
) -> None:
    drawn = draw_behaviour(details)
    assert drawn is not None
    labels = [panel.y_label for panel in drawn.views[0].panels]
    assert labels == ["state (normalised)", "probability", "distance to probing state"]
    lengths = {len(np.asarray(s.x)) for panel in drawn.views[0].panels for s in panel.series}
    assert len(lengths) == 1


def test_the_nearest_of_all_is_below_every_single_distance(details: RunDetails) -> None:
    drawn = draw_behaviour(details)
    assert drawn is not None
    *single, nearest = drawn.views[0].panels[2].series
    assert nearest.name == "nearest of all"
    for series in single:
        assert (np.asarray(nearest.y) <= np.asarray(series.y) + 1e-12).all()


def test_probing_states_start_where_they_started(details: RunDetails) -> None:
    drawn = draw_movement(details)
    assert drawn is not None
    assert np.asarray(drawn.views[0].panels[0].series[0].y)[0] == 0.0


def series_of(details: RunDetails) -> dict[str, np.ndarray]:
    drawn = draw_training(details)
    assert drawn is not None
    return {series.name: np.asarray(series.y) for series in drawn.views[0].panels[1].series}


def test_what_v_predicts_for_theta_stands_beside_what_theta_earned(details: RunDetails) -> None:
    shown = series_of(details)
    assert set(shown) == {"θ, predicted by V", "θ, measured", "perturbed policies, measured"}
    measured = [event["mean"] for event in details.record.evaluations]  # CartPole has no bonus
    np.testing.assert_allclose(shown["θ, measured"], measured)
    drawn = draw_training(details)
    assert drawn is not None
    assert drawn.views[0].panels[1].y_label == "return"
    assert "V predicted" in drawn.sentence
    assert "θ earned" in drawn.sentence


def test_it_is_said_that_an_average_is_measured_and_the_newest_judged(details: RunDetails) -> None:
    config = {**details.record.config, "policy_average": 3.0}
    averaged = replace(details, record=replace(details.record, config=config))
    assert {"newest θ, predicted by V", "average of θ, measured"} < set(series_of(averaged))
    drawn = draw_training(averaged)
    assert drawn is not None
    assert "they are two policies" in drawn.sentence
    assert "the average of θ earned" in drawn.sentence


def test_where_the_bonus_is_removed_theta_is_shown_without_it_too(hopper_run: Path) -> None:
    record = read_record(hopper_run)
    assert record.has_training_returns
    details = RunDetails(record)
    drawn = draw_training(details)
    assert drawn is not None
    assert drawn.views[0].panels[1].y_label == "training return"
    for event, shown in zip(record.evaluations, series_of(details)["θ, measured"], strict=True):
        assert shown == pytest.approx(event["training_mean"])
        assert shown < event["mean"]


def test_evaluations_in_other_units_than_v_are_left_out_and_that_is_said(hopper_run: Path) -> None:
    """Runs of before did not keep what an evaluation is without the bonus."""
    record = read_record(hopper_run)
    old = [{k: v for k, v in e.items() if k != "training_mean"} for e in record.evaluations]
    details = RunDetails(replace(record, events=(*record.rounds, *old)))
    assert "θ, measured" not in series_of(details)
    drawn = draw_training(details)
    assert drawn is not None
    assert "recorded with it" in drawn.sentence


@pytest.mark.parametrize(
    ("runs", "words"),
    [
        (1, "from the lowest to the highest episode"),
        (2, "from the lowest run to the highest"),
        (5, "95% bootstrap interval"),
    ],
)
def test_a_chart_says_what_its_band_is(cartpole_run: Path, runs: int, words: str) -> None:
    record = read_record(cartpole_run)
    records = [
        replace(record, name=str(n), config={**record.config, "seed": n}) for n in range(runs)
    ]
    sentence = draw_learning_curves("CartPole-v1", group_records(records)).sentence
    assert words in sentence
    assert ("interval" in sentence) == (runs >= 5)


def test_the_band_of_one_run_spans_its_episodes(cartpole_run: Path) -> None:
    record = read_record(cartpole_run)
    chart = draw_learning_curves("CartPole-v1", group_records([record]))
    (series,) = chart.views[0].panels[0].series
    assert series.low is not None
    assert series.high is not None
    for event, low, high in zip(
        record.evaluations, np.asarray(series.low), np.asarray(series.high), strict=True
    ):
        assert (low, high) == (min(event["returns"]), max(event["returns"]))


def test_single_runs_are_drawn_behind_their_mean(cartpole_run: Path) -> None:
    record = read_record(cartpole_run)
    other = replace(record, name="other", config={**record.config, "seed": 9})
    (group,) = group_records([record, other])
    chart = draw_learning_curves("CartPole-v1", [group])
    for view in chart.views:
        quiet = [series.is_quiet for series in view.panels[0].series]
        assert quiet == [True, True, False]
    assert [view.name for view in chart.views] == ["steps", "time"]
