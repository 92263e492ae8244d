from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from litmus.analysis.groups import _label_groups, group_records
from litmus.analysis.records import RunRecord, read_record, read_records
from litmus.analysis.statistics import Estimate


def _record(name: str, final: float | None = None, **config: Any) -> RunRecord:
    """A run with one evaluation, as far as grouping cares."""
    from litmus import Run

    run = object.__new__(Run)
    events: tuple[dict[str, Any], ...] = ()
    if final is not None:
        events = (
            {"event": "round", "steps": 10, "episodes_done": 1, "wall_s": 2.0},
            {"event": "evaluation", "steps": 10, "mean": final, "returns": [final], "wall_s": 2.0},
        )
    values = {"task": "Swimmer-v5", "algorithm": "pssvf", "noise": 0.05, "seed": 0, **config}
    return RunRecord(Path(name), name, run, values, {}, events)


def _evaluated(means: list[float], **config: Any) -> RunRecord:
    """A run that was evaluated every step, from step 0 on."""
    record = _record("a", **config)
    events = [
        {"event": "evaluation", "steps": n, "mean": mean, "returns": [mean] * 10, "wall_s": n}
        for n, mean in enumerate(means)
    ]
    return replace(record, events=tuple(events))


def test_a_finished_run_is_read_whole(cartpole_run: Path) -> None:
    record = read_record(cartpole_run)
    assert record.state == "finished"
    assert record.problems == ()
    assert record.steps >= 600
    assert record.final_return is not None
    assert record.best_evaluation is not None
    assert record.progress == 1.0


def test_what_is_not_a_run_is_unreadable_and_says_why(tmp_path: Path) -> None:
    record = read_record(tmp_path / "nowhere")
    assert record.state == "unreadable"
    assert "does not exist" in record.problems[0]


def test_a_run_without_metrics_says_so(copy_of_cartpole: Path) -> None:
    (copy_of_cartpole / "metrics.jsonl").unlink()
    record = read_record(copy_of_cartpole)
    assert record.state == "unfinished"
    assert record.final_return is None
    assert "metrics.jsonl is missing" in record.problems[0]


def test_a_truncated_last_line_is_left_out_and_counted(copy_of_cartpole: Path) -> None:
    whole = read_record(copy_of_cartpole)
    path = copy_of_cartpole / "metrics.jsonl"
    path.write_bytes(path.read_bytes()[:-30])
    record = read_record(copy_of_cartpole)
    assert len(record.events) == len(whole.events) - 1
    assert record.state == "unfinished"
    assert any("1 damaged line" in problem for problem in record.problems)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"algorithm": 3}'])
def test_a_damaged_configuration_is_a_problem_and_no_error(
    copy_of_cartpole: Path, text: str
) -> None:
    (copy_of_cartpole / "config.json").write_text(text)
    record = read_record(copy_of_cartpole)
    assert record.problems


def test_events_without_numbers_are_left_out(copy_of_cartpole: Path) -> None:
    path = copy_of_cartpole / "metrics.jsonl"
    bad = {"event": "evaluation", "steps": 1, "mean": None, "returns": [], "wall_s": 0.1}
    with path.open("a") as file:
        file.write(json.dumps(bad) + "\n" + json.dumps({"event": "round", "steps": "x"}) + "\n")
    record = read_record(copy_of_cartpole)
    assert all(event["mean"] is not None for event in record.evaluations)


def test_runs_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    for parent in "ab":
        (tmp_path / parent / "run").mkdir(parents=True)
    records = read_records([tmp_path / "a" / "run", tmp_path / "b" / "run"])
    assert [record.name for record in records] == ["a/run", "b/run"]


def test_runs_that_differ_by_seed_only_are_one_group() -> None:
    groups = group_records([_record("a", seed=0), _record("b", seed=1, workers=4)])
    assert len(groups) == 1
    assert groups[0].label == "Swimmer-v5, pssvf"


def test_groups_are_named_by_what_differs() -> None:
    groups = group_records([_record("a"), _record("b", noise=0.1), _record("c", seed=7)])
    assert [group.label for group in groups] == ["noise 0.05", "noise 0.1"]
    assert [record.name for record in groups[0].records] == ["a", "c"]


def test_no_two_configurations_have_the_same_name() -> None:
    """Not where another algorithm lacks what they differ by, nor where more than a name can hold
    differs."""
    common = {"task": "walk", "seed": 0}
    pssvf = [{**common, "algorithm": "pssvf", "recency": value} for value in (0.0, 1.1)]
    found = _label_groups([*pssvf, {**common, "algorithm": "ars"}])
    assert found == ["pssvf, recency 0.0", "pssvf, recency 1.1", "ars"]
    many = [{"algorithm": "a", "b": b, "c": b, "d": b, "e": e} for b, e in ((1, 1), (1, 2), (2, 1))]
    assert len(set(_label_groups(many))) == 3
    assert len(_label_groups([{"algorithm": "a", "b": None}, {"algorithm": "a"}])) == 2


def test_groups_on_two_tasks_are_named_by_the_task() -> None:
    groups = group_records([_record("a"), _record("b", task="Hopper-v5", noise=0.1)])
    assert [group.label for group in groups] == ["Swimmer-v5", "Hopper-v5"]


def test_five_runs_get_an_interquartile_mean_and_an_interval() -> None:
    values = [0, 10, 20, 30, 1000]
    runs = [_record(str(n), final=value, seed=n) for n, value in enumerate(values)]
    (group,) = group_records(runs)
    final = group.final_return
    assert final is not None
    assert not final.is_range
    assert final.value == pytest.approx(20.0)
    assert 0 <= final.low <= 20.0 <= final.high <= 1000
    assert group.middle_record.name == "2"


def test_fewer_than_five_runs_get_a_mean_and_a_range() -> None:
    runs = [_record(str(n), final=value, seed=n) for n, value in enumerate([0, 10, 20, 30])]
    (group,) = group_records(runs)
    assert group.final_return == Estimate(15.0, 0.0, 30.0, is_range=True)
    assert group.middle_record.name in ("1", "2")


def test_one_run_gets_the_range_of_the_evaluations_that_its_final_return_is_the_mean_of() -> None:
    (group,) = group_records([_evaluated([100.0, 200.0] * 150)])
    assert group.final_return == Estimate(150.0, 100.0, 200.0, is_range=True)


def test_one_evaluation_gets_the_range_of_its_episodes() -> None:
    record = _evaluated([0.0, 5.0])
    record.events[-1]["returns"] = [3.0, None, 7.0]
    (group,) = group_records([record])
    assert group.final_return == Estimate(5.0, 3.0, 7.0, is_range=True)


def test_a_run_is_held_against_its_untrained_policy() -> None:
    better, worse = _evaluated([10.0, 20.0]), _evaluated([20.0, 20.0], seed=1)
    assert (better.untrained_return, better.has_improved) == (10.0, True)
    assert worse.has_improved is False
    unknown = _record("c", final=5.0, seed=2)
    assert (unknown.untrained_return, unknown.has_improved) == (None, None)
    assert group_records([better, worse])[0].untrained_return == 15.0
    assert group_records([better, unknown])[0].untrained_return is None


def test_a_group_without_evaluations_has_no_final_return() -> None:
    (group,) = group_records([_record("a")])
    assert group.final_return is None
    assert group.middle_record.name == "a"
