"""What the page says, in words: beside what it must beat, and no more than is known."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from litmus import Run
from litmus.analysis.groups import group_records
from litmus.analysis.judgement import Judgement
from litmus.analysis.records import RunRecord
from litmus.reports.details import RunDetails
from litmus.reports.headline import write_lead, write_tiles, write_title
from litmus.reports.words import say_verdict, write_words

MEASURED = np.random.default_rng(0).normal(100, 10, size=48)


def make_record(means: list[float], seed: int = 0, first_step: int = 0) -> RunRecord:
    """A finished run that was evaluated at every step."""
    events: list[dict[str, Any]] = [
        {"event": "round", "steps": 9, "episodes_done": 9, "wall_s": 1.0},
        *(
            {"event": "evaluation", "steps": n, "mean": mean, "returns": [mean - 1, mean + 1]}
            for n, mean in enumerate(means, start=first_step)
        ),
        {"event": "finished", "steps": 9},
    ]
    config = {"task": "Swimmer-v5", "algorithm": "pssvf", "seed": seed}
    name = f"swimmer-{seed}"
    return RunRecord(Path(name), name, object.__new__(Run), config, {}, tuple(events))


def write_top(*records: RunRecord) -> str:
    groups = group_records(records)
    lead, tiles = write_lead(records, groups), write_tiles(records, groups, [])
    return f"{write_title(records, groups)} {lead} {tiles}".replace("strong>", "b>")


def test_the_untrained_policy_stands_beside_the_headline() -> None:
    top = write_top(make_record([12.0, 50.0, 300.0]))
    assert "reached a return of 300" in top
    assert "The untrained policy earned <b>12.0</b>." in top
    assert "did not improve" not in top


def test_a_run_that_did_not_improve_says_so_plainly() -> None:
    top = write_top(make_record([12.0, 50.0, 11.0]))
    assert "ended at a return of 11.0, no better than untrained" in top
    assert "The run did not improve" in top


def test_a_run_that_has_only_begun_is_not_judged() -> None:
    begun = make_record([12.0, 10.0])
    begun = replace(begun, events=begun.events[:-1])  # not finished
    assert "So far the run has not improved" in write_top(begun)
    only_untrained = replace(begun, events=begun.events[:-1])
    assert only_untrained.has_improved is None
    assert "improve" not in write_top(only_untrained)


def test_of_several_runs_those_that_did_not_improve_are_named() -> None:
    top = write_top(make_record([12.0, 50.0]), make_record([12.0, 11.0], seed=1))
    assert "reached a return of 30.5" in top
    assert "The untrained policies earned <b>12.0</b> on average." in top
    assert "1 of 2 runs did not improve on their untrained policy: swimmer-1." in top


def test_a_run_that_was_not_measured_before_training_says_so() -> None:
    top = write_top(make_record([50.0, 300.0], first_step=1))
    assert "The untrained policy was not measured." in top
    assert "Untrained policy" not in top


def test_one_run_gets_no_interval_and_speaks_of_no_other_seed() -> None:
    top = write_top(make_record([0.0] * 20 + [280.0, 300.0]))
    assert "mean of the last 3 evaluations, which range from <b>0.00</b> to <b>300</b>" in top
    assert "another seed may end elsewhere" in top
    assert "interval" not in top
    assert "whose episodes range from <b>299</b> to <b>301</b>" in write_top(make_record([300.0]))


@pytest.mark.parametrize("runs", [2, 4, 5, 8])
def test_a_range_below_five_runs_and_an_interval_from_five_on(runs: int) -> None:
    top = write_top(*(make_record([0.0, 100.0 + n], seed=n) for n in range(runs)))
    if runs < 5:
        assert f"mean of {runs} runs, which range from <b>100</b> to <b>{99 + runs}</b>" in top
        assert "95%" not in top
    else:
        assert f"interquartile mean of {runs} runs (the mean of the middle half); its 95%" in top
        assert "range from" not in top


def test_of_several_configurations_too_it_is_said_what_was_handed_over() -> None:
    handed_over = {"event": "handed_over", "steps": 900, "mean": 7.0, "returns": [6.0, 8.0]}
    other = make_record([20.0, 10.0])
    other = replace(
        other,
        name="hopper",
        config={**other.config, "task": "Hopper-v5"},
        events=(*other.events, handed_over),
    )
    top = write_top(make_record([0.0, 100.0]), other)
    told = "the policy of step 900, measured best; mean of 2 fresh episodes from 6.00 to 8.00"
    assert f"return <b>7.00</b> (one run; {told})" in top


def test_configurations_together_follow_the_same_rules() -> None:
    other = make_record([20.0, 10.0])
    other = replace(other, name="hopper", config={**other.config, "task": "Hopper-v5"})
    top = write_top(*(make_record([0.0, 100.0 + n], seed=n) for n in range(2)), other)
    assert "(mean of 2 runs, from 100 to 101)" in top
    assert "(one run; last evaluation, episodes from 9.00 to 11.0)" in top
    assert "The run did not improve" in top
    assert "interval" not in top


def test_v_that_beats_guessing_gets_a_plain_good_word() -> None:
    noise = np.random.default_rng(1).normal(size=48)
    said = say_verdict(Judgement(MEASURED + noise, MEASURED))
    assert said.startswith("On policies it has not seen, V is better than guessing: its error is")
    little = say_verdict(Judgement(MEASURED.mean() + 0.05 * (MEASURED - 100), MEASURED))
    assert "V is slightly better than guessing" in little


def test_v_that_does_not_beat_guessing_gets_a_plain_bad_one() -> None:
    noise = np.random.default_rng(1).normal(size=48)
    said = say_verdict(Judgement(100 + 10 * noise, MEASURED))
    assert said.startswith(
        "On policies it has not seen, V is no better than guessing their mean: its error is"
    )
    off = say_verdict(Judgement(MEASURED + 50, MEASURED))
    assert "V ranks better than chance (rank correlation 1.00), but its numbers are no" in off


def test_where_v_cannot_be_judged_that_is_said() -> None:
    assert "all earned the same return" in say_verdict(Judgement(MEASURED, np.ones(48)))
    assert "1 policy that it has not seen: too few" in say_verdict(
        Judgement(MEASURED[:1], MEASURED[:1])
    )


def test_only_the_words_that_a_page_uses_are_explained() -> None:
    record = make_record([0.0, 1.0])
    words = write_words([record], [RunDetails(record)])
    assert "θ, the policy" in words
    assert "the mean over its last 20 evaluations" in words
    for unused in ("evaluator", "fingerprint", "Training return"):
        assert unused not in words
    assert write_words([replace(record, run=None)], []) == ""
