from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from litmus.analysis.groups import group_records
from litmus.analysis.records import read_record
from litmus.reports.details import DetailsInProgress, RunDetails
from litmus.reports.drawings import (
    draw_behaviour,
    draw_components,
    draw_importance,
    draw_learning_curves,
    draw_movement,
    draw_predictions,
    draw_training,
)


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
    assert labels == ["state (normalised)", "action", "distance to probing state"]
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


def test_single_runs_are_drawn_behind_their_mean(cartpole_run: Path) -> None:
    record = read_record(cartpole_run)
    other = replace(record, name="other", config={**record.config, "seed": 9})
    (group,) = group_records([record, other])
    chart = draw_learning_curves("CartPole-v1", [group])
    for view in chart.views:
        quiet = [series.is_quiet for series in view.panels[0].series]
        assert quiet == [True, True, False]
    assert [view.name for view in chart.views] == ["steps", "time"]
