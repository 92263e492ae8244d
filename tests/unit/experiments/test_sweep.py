"""How jobs are conducted, whatever becomes of each; with processes and without."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from harness import wait_until
from sweep_jobs import CountJob

from litmus.experiments import conduct
from litmus.experiments.conduct import LOSSES_ALLOWED, Sweep, name_failures
from litmus.experiments.display import Overview
from litmus.experiments.executors import LocalExecutor, find_log
from litmus.experiments.jobs import Job, Standing
from litmus.experiments.process import Ending
from litmus.training.interrupts import Interrupted, InterruptFlag


@dataclass
class Recorder:
    """A display that remembers."""

    notes: list[str] = field(default_factory=list)
    overviews: list[Overview] = field(default_factory=list)

    def update(self, overview: Overview) -> None:
        self.overviews.append(overview)

    def note(self, text: str) -> None:
        self.notes.append(text)

    def close(self) -> None:
        pass


@dataclass
class FakeHandle:
    endings: list[Ending | None]
    stopped: bool = False
    killed: bool = False

    def poll(self) -> Ending | None:
        if self.stopped:
            return Ending("interrupted")
        return self.endings.pop(0) if self.endings else Ending("finished")

    def look(self) -> Standing:
        return Standing("unfinished", 1, 5.0)

    def stop(self) -> None:
        self.stopped = True

    def kill(self) -> None:
        self.killed = True


@dataclass
class FakeExecutor:
    """Jobs end as `script` says, by folder; nothing runs."""

    places: int = 2
    script: dict[str, list[Ending | None]] = field(default_factory=dict)
    started: list[str] = field(default_factory=list)
    handles: list[FakeHandle] = field(default_factory=list)

    def start(self, job: Job) -> FakeHandle:
        self.started.append(job.folder)
        handle = FakeHandle(self.script.setdefault(job.folder, []))
        self.handles.append(handle)
        return handle

    def tell_news(self) -> list[str]:
        return []


@pytest.fixture(autouse=True)
def _in_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conduct, "SECONDS_BETWEEN_POLLS", 0.001)
    monkeypatch.setattr(conduct, "SECONDS_BETWEEN_LOOKS", 0.0)


def make_sweep(root: Path, jobs: list[CountJob], executor: object) -> tuple[Sweep, Recorder]:
    recorder = Recorder()
    return Sweep(root, jobs, executor, recorder, InterruptFlag()), recorder  # type: ignore[arg-type]


def test_no_more_jobs_are_at_work_than_there_are_places(tmp_path: Path) -> None:
    executor = FakeExecutor(2, {f"{n}": [None] * n for n in range(6)})
    sweep, recorder = make_sweep(tmp_path, [CountJob(f"{n}") for n in range(6)], executor)
    sweep.conduct()
    assert executor.started == [f"{n}" for n in range(6)]
    assert max(len(one.running) for one in recorder.overviews) == 2
    assert recorder.overviews[-1].finished == recorder.overviews[-1].jobs == 6
    assert recorder.overviews[-1].done == recorder.overviews[-1].steps == 18


def test_what_is_finished_is_not_done_again(tmp_path: Path) -> None:
    job = CountJob("done")
    (tmp_path / "done").mkdir()
    for step in range(3):
        (tmp_path / "done" / f"step-{step}").touch()
    executor = FakeExecutor()
    sweep, recorder = make_sweep(tmp_path, [job, CountJob("other")], executor)
    sweep.conduct()
    assert executor.started == ["other"]
    assert recorder.overviews[-1].finished == 2


def test_the_failure_of_one_leaves_the_others_alone_and_is_named(tmp_path: Path) -> None:
    executor = FakeExecutor(1, {"a": [Ending("failed", "the arm fell off")]})
    sweep, recorder = make_sweep(tmp_path, [CountJob("a"), CountJob("b")], executor)
    sweep.conduct()
    assert sweep.failures == {"count a": "the arm fell off"}
    assert executor.started == ["a", "b"]
    words = name_failures(sweep.failures, 2, tmp_path)
    assert words.startswith("1 of 2 jobs failed: count a (the arm fell off)")
    assert any("failed    count a" in note for note in recorder.notes)


def test_many_failures_are_counted(tmp_path: Path) -> None:
    words = name_failures({f"job {n}": "why" for n in range(9)}, 9, tmp_path)
    assert "job 2 (why) and 6 more" in words


def test_a_job_whose_machine_went_away_goes_on_elsewhere_but_not_for_ever(tmp_path: Path) -> None:
    lost = Ending("lost", "node 7 died")
    executor = FakeExecutor(1, {"a": [lost, lost], "b": [lost] * 99})
    sweep, recorder = make_sweep(tmp_path, [CountJob("a"), CountJob("b")], executor)
    sweep.conduct()
    assert executor.started.count("a") == 3
    assert executor.started.count("b") == LOSSES_ALLOWED + 1
    assert sweep.failures == {"count b": "node 7 died"}
    assert "node 7 died; it goes on elsewhere" in recorder.notes[0]


def test_an_interruption_stops_every_job_and_starts_no_other(tmp_path: Path) -> None:
    executor = FakeExecutor(2, {"a": [None] * 3, "b": [None] * 99, "c": []})
    sweep, _ = make_sweep(tmp_path, [CountJob(name) for name in "abc"], executor)
    sweep.interrupt.is_set = True
    with pytest.raises(Interrupted):
        sweep.conduct()
    assert executor.started == []
    sweep.interrupt.is_set = False
    executor.script["b"] = [None] * 10**6
    sweep.display.note = lambda text: setattr(sweep.interrupt, "is_set", True)  # type: ignore[method-assign]
    with pytest.raises(Interrupted):
        sweep.conduct()
    assert executor.handles[1].stopped
    assert sweep.failures == {}


def test_jobs_do_not_outlive_an_error_of_whoever_conducts_them(tmp_path: Path) -> None:
    executor = FakeExecutor(1, {"a": [None] * 10**6})
    sweep, recorder = make_sweep(tmp_path, [CountJob("a")], executor)

    def fail(overview: Overview) -> None:
        raise ZeroDivisionError

    recorder.update = fail  # type: ignore[method-assign]
    with pytest.raises(ZeroDivisionError):
        sweep.conduct()
    assert executor.handles[0].killed


def test_processes_do_their_jobs_each_on_one_core(tmp_path: Path) -> None:
    jobs = [
        *(CountJob(f"good/{n}") for n in range(2)),
        CountJob("raises", fails="raises"),
        CountJob("errs", fails="errs"),
        CountJob("dies", fails="dies"),
    ]
    sweep, _ = make_sweep(tmp_path, jobs, LocalExecutor(tmp_path, 3))
    sweep.conduct()
    assert sweep.failures == {
        "count raises": "it could not go on",
        "count errs": "ZeroDivisionError: one by nothing",
        "count dies": "its process ended with exit status 7",
    }
    written = [(tmp_path / f"good/{n}" / "step-2").read_text().split() for n in range(2)]
    assert written[0][0] != written[1][0]
    assert [threads for _, threads in written] == ["1", "1"]
    assert "ZeroDivisionError" in find_log(tmp_path, jobs[3]).read_text()
    for job in jobs[2:]:
        assert job.look(tmp_path / job.folder).done == 2


def test_a_job_that_is_told_to_stop_can_go_on(tmp_path: Path) -> None:
    job, executor = CountJob("slow", steps=1000, seconds=0.01), LocalExecutor(tmp_path, 1)
    for end in ("stop", "kill"):
        handle = executor.start(job)
        before = job.look(tmp_path / "slow").done
        wait_until(lambda: handle.look().done > before + 1)  # noqa: B023
        getattr(handle, end)()
        wait_until(lambda: handle.poll() is not None)  # noqa: B023
        ending = handle.poll()
        assert ending is not None
        assert ending.kind == "interrupted"
        assert (tmp_path / "slow/at-work").exists() == (end == "kill")  # it cleared up
    assert 3 < job.look(tmp_path / "slow").done < 1000
