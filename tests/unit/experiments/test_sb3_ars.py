"""sb3-contrib's ARS as a job: the same by seed, and begun again where it was stopped."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from litmus.errors import BadInput
from litmus.experiments.sb3_ars import FILE, Sb3ArsJob, _Training

pytest.importorskip("sb3_contrib")


def make_job(task: str = "toys:ToyWalk-v0", seed: int = 3, steps: int = 200) -> Sb3ArsJob:
    return Sb3ArsJob(task, "sb3-ars/walk", seed, steps, 100, 2, {}, None)


def read_events(job: Sb3ArsJob, folder: Path) -> list[dict[str, object]]:
    record = job.read_record(folder)
    assert record is not None
    return list(record.events)


@pytest.mark.parametrize("task", ["toys:ToyWalk-v0", "toys:ToyChoiceWalk-v0"])
def test_the_same_seed_gives_the_same_training(task: str, tmp_path: Path) -> None:
    job = make_job(task)
    assert job.look(tmp_path / "a").state == "missing"
    job.work(tmp_path / "a")
    job.work(tmp_path / "b")
    events = read_events(job, tmp_path / "a")
    assert events == read_events(job, tmp_path / "b")
    assert events[0]["steps"] == 0
    assert events[-1]["steps"] >= job.steps
    assert job.look(tmp_path / "a").state == "finished"
    other = make_job(task, seed=4)
    other.work(tmp_path / "c")
    assert read_events(other, tmp_path / "c") != events


def test_what_is_stopped_is_done_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_job()
    with monkeypatch.context() as patch:
        patch.setattr(_Training, "_measure", stop_at(_Training._measure, call=5))
        with pytest.raises(KeyboardInterrupt):
            job.work(tmp_path)
    assert job.look(tmp_path).state == "unfinished"
    assert job.look(tmp_path).done > 0
    assert job.read_record(tmp_path) is None
    job.work(tmp_path)
    job.work(tmp_path / "whole")
    assert read_events(job, tmp_path) == read_events(job, tmp_path / "whole")


def stop_at(measure, call: int):
    calls = iter(range(1, 1000))

    def stopped(self, index):
        if next(calls) == call:
            raise KeyboardInterrupt
        return measure(self, index)

    return stopped


def test_what_is_damaged_or_of_another_training_is_no_result(tmp_path: Path) -> None:
    job = make_job()
    job.work(tmp_path)
    assert make_job(steps=400).look(tmp_path).state == "unfinished"
    assert make_job(steps=400).read_record(tmp_path) is None
    path = tmp_path / FILE
    path.write_text(path.read_text().replace("evaluation", "evaluatiom"))
    assert job.look(tmp_path).state == "unfinished"


def test_an_episode_may_be_cut(tmp_path: Path) -> None:
    job = Sb3ArsJob("toys:ToyWalk-v0", "x", 0, 30, 0, 1, {}, 2)
    job.work(tmp_path)
    assert read_events(job, tmp_path)[-1]["steps"] == 32  # sixteen episodes of two steps


def test_without_the_package_the_extra_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    with pytest.raises(BadInput, match=r"sb3-contrib.*pip install 'litmus-rl\[sb3\]'"):
        make_job().check(tmp_path)


def test_a_task_that_is_no_environment_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="'toys:LabelsTask' is none"):
        make_job("toys:LabelsTask").work(tmp_path)
