"""An experiment does what its runs alone would, whatever happens on the way."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from subprocess import Popen
from typing import Any

import pytest
from harness import (
    Hold,
    assert_one_line,
    assert_same_result,
    count_lines,
    read_events,
    tiny,
    train_tiny,
    wait_until,
)

import litmus
from litmus.cli import main
from litmus.experiments import folder as experiment_folder
from litmus.experiments.api import make_plan
from litmus.experiments.dry_run import describe_plan
from litmus.experiments.plan import Choices

WALK, SLOW, RAISING = (f"toys:Toy{kind}Walk-v0" for kind in ("", "Slow", "Raising"))


def write_plan(path: Path, tasks: list[str], **values: Any) -> Path:
    options = tiny("pssvf")
    described = {"tasks": tasks, "seeds": 2, "steps": 40, "preset": "small", "options": options}
    described |= values
    path.write_text(json.dumps(described))
    return path


def list_changes(folder: Path) -> dict[str, int]:
    return {str(path): path.stat().st_mtime_ns for path in folder.rglob("*") if path.is_file()}


def test_an_experiment_trains_what_train_would_and_never_trains_it_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK], algorithms=["pssvf", "random"])
    command = ["experiment", str(plan), "--out", str(tmp_path / "out"), "--jobs", "2"]
    assert main(command) == 0
    out = tmp_path / "out"
    for seed in (0, 1):
        train_tiny(tmp_path / f"{seed}", seed=seed, preset="small")
        assert_same_result(out / f"runs/{WALK}/pssvf/seed-{seed}", tmp_path / f"{seed}")
    before, table = list_changes(out / "runs"), (out / "table.md").read_text()
    assert main([*command, "--results", str(tmp_path / "all.json")]) == 0
    assert list_changes(out / "runs") == before
    assert (out / "table.md").read_text() == table
    assert "wrote  " in capsys.readouterr().out
    found = json.loads((out / "table.json").read_text())[WALK]
    assert set(found) == {"pssvf", "random", "untrained"}
    finals = [litmus.Run(tmp_path / f"{seed}").final_return for seed in (0, 1)]
    assert found["pssvf"]["returns"] == finals
    assert found["pssvf"]["seeds"] == [0, 1]
    assert found["pssvf"]["steps"] == 40
    assert found["pssvf"]["mean"] == pytest.approx(sum(finals) / 2)
    curves = json.loads((tmp_path / "all.json").read_text())[WALK]["pssvf"]["curves"]
    assert curves["1"]["returns"] == [e["mean"] for e in litmus.Run(tmp_path / "1").evaluations]
    suffixes = {path.suffix for path in (out / "figures").iterdir()}
    assert suffixes == {".png", ".svg"}
    assert "<!doctype html>" in (out / "report.html").read_text()


def test_an_experiment_that_is_interrupted_or_killed_goes_on_to_the_same_end(
    tmp_path: Path, hold: Hold, litmus_process: Callable[..., Popen[str]]
) -> None:
    options = {**tiny("pssvf"), "checkpoint_seconds": 0}
    plan = write_plan(tmp_path / "mine.json", [SLOW], seeds=1, options=options)
    command = ("experiment", plan, "--out", "out")
    run = tmp_path / f"out/runs/{SLOW}/pssvf/seed-0"
    for lines, sent, code in ((3, signal.SIGINT, 130), (6, signal.SIGKILL, -signal.SIGKILL)):
        hold.hold(run / "metrics.jsonl", lines)
        process = litmus_process(*command, env=hold.environment)
        wait_until(lambda lines=lines: count_lines(run / "metrics.jsonl") >= lines, process)
        process.send_signal(sent)
        if sent == signal.SIGINT:
            wait_until(lambda: "stopping" in (process.stderr.readline() or ""))  # noqa: B023
        hold.release()
        _, err = process.communicate()
        assert process.returncode == code
        assert code < 0 or "the same command goes on" in err
        assert litmus.Run(run).status == "unfinished"
    finished = litmus_process(*command)
    _, err = finished.communicate()
    assert finished.returncode == 0, err
    train_tiny(tmp_path / "whole", task=SLOW, checkpoint_seconds=0, preset="small")
    assert_same_result(run, tmp_path / "whole")


def test_the_failure_of_one_is_named_at_the_end_and_the_rest_is_written_up(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path / "mine.json", [RAISING, WALK], seeds=1)
    assert main(["experiment", str(plan), "--out", "out"]) == 1
    shown = capsys.readouterr()
    assert_one_line(shown.err.splitlines()[-1], "1 of 2 jobs failed", RAISING, "the arm fell off")
    assert "the others: out/table.md" in shown.err
    log = Path("out/logs/runs") / RAISING / "pssvf/seed-0.txt"
    assert "RuntimeError: the arm" in log.read_text()
    assert set(json.loads(Path("out/table.json").read_text())) == {WALK}
    text = Path("out/table.md").read_text()
    assert f"- {RAISING}, pssvf, seed 0: at 0%" in text
    assert text.startswith("# mine: pssvf on ToyWalk-v0\n")  # the title does not claim the other
    damaged = Path("out/runs") / WALK / "pssvf/seed-0/config.json"
    damaged.write_text(damaged.read_text().replace('"seed": 0', '"seed": 1'))
    assert main(["experiment", str(plan), "--out", "out", "--redraw"]) == 2
    assert_one_line(capsys.readouterr().err.splitlines()[-1], "no run in out is finished yet")
    assert main(["experiment", str(plan), "--out", "out"]) == 1  # it is not taken for finished
    assert_one_line(capsys.readouterr().err.splitlines()[-1], "2 of 2 jobs failed", "config.json")


def test_a_dry_run_shows_what_there_is_to_do_and_does_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK], grid={"noise": [0.1, 0.2]})
    before = sorted(tmp_path.rglob("*"))
    assert main(["experiment", str(plan), "--seeds", "5-7", "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "mine: 6 jobs in experiments/mine"
    assert lines[1].split() == f"{WALK}, pssvf,noise=0.1 3 x 40 steps".split()
    assert lines[-1] == "to do: 6 jobs, 240 steps"
    assert sorted(tmp_path.rglob("*")) == before


def test_a_dry_run_fits_the_terminal_and_breaks_names_behind_commas(tmp_path: Path) -> None:
    grid = {"noise": [0.1, 0.2], "policy_lr": [1e-4], "recency": [1.1], "round_size": [3]}
    grid["evaluator_lr"] = [0.0025]
    plan = make_plan(write_plan(tmp_path / "mine.json", [WALK], grid=grid), Choices())
    lines = describe_plan(plan, tmp_path / "out", columns=60)
    assert max(map(len, lines[1:])) <= 60
    first = f"{WALK}, pssvf,noise=0.1,policy_lr=0.0001,"
    assert lines[-7:-4] == [
        f"  {first}",
        "      recency=1.1,round_size=3,evaluator_lr=0.0025",
        "       2 x 40 steps",
    ]


def test_a_dry_run_refuses_what_the_run_would_refuse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["experiment", str(write_plan(tmp_path / "mine.json", [WALK], seeds=1)), "--out", "out"]
    assert main(words) == 0
    assert main([*words, "--steps", "80", "--dry-run"]) == 2
    assert_one_line(capsys.readouterr().err.splitlines()[-1], "--steps is 40 there and 80 here")
    for wrong in (["--jobs", "0"], ["--ray-address", "here:1"], ["--results", "a.txt"]):
        assert main([*words, *wrong, "--dry-run"]) == 2
        assert_one_line(capsys.readouterr().err.splitlines()[-1], wrong[0])


def test_a_folder_stays_that_of_its_experiment_when_there_is_nothing_to_train(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plans = [write_plan(tmp_path / f"{name}.json", [WALK], seeds=1) for name in ("one", "other")]
    assert main(["experiment", str(plans[0]), "--out", "out"]) == 0
    table = Path("out/table.md").read_bytes()
    for more in ([], ["--redraw"], ["--dry-run"]):
        assert main(["experiment", str(plans[1]), "--out", "out", *more]) == 2
        last = capsys.readouterr().err.splitlines()[-1]
        assert_one_line(last, "out holds the experiment one, not other")
    assert Path("out/table.md").read_bytes() == table


DAMAGES = [
    ('{"experiment": "mi', "is not JSON"),
    ("\0\xff", "is not JSON"),
    ("[1]", "does not hold a JSON object"),
    ('{"experiment": "mine"}', "carries no checksum"),
    (None, "does not say which experiment this is"),
]


@pytest.mark.parametrize(("text", "words"), DAMAGES)
def test_a_damaged_description_is_named_and_the_runs_are_not_lost(
    text: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK], seeds=1)
    train_tiny(tmp_path / f"out/runs/{WALK}/pssvf/seed-0", preset="small")
    path = tmp_path / "out/experiment.json"
    experiment_folder.write_json(path, {"experiment": 3})
    if text is not None:
        path.write_text(text)
    before = list_changes(tmp_path)
    command = ["experiment", str(plan), "--seeds", "2", "--out", "out"]
    for more in ([], ["--redraw"], ["--dry-run"]):
        assert main([*command, *more]) == 2
        hint = "remove it, and the same command goes on"
        assert_one_line(capsys.readouterr().err, "out/experiment.json", words, hint)
    assert list_changes(tmp_path) == before
    path.unlink()
    assert main(command) == 0
    assert "seed 0" not in capsys.readouterr().err  # it was trained already


def test_a_run_whose_evaluations_are_damaged_is_left_out_of_the_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK], seeds=2)
    assert main(["experiment", str(plan), "--out", "out"]) == 0
    metrics = Path("out/runs") / WALK / "pssvf/seed-0/metrics.jsonl"
    lines = metrics.read_text().splitlines()
    (last,) = [one for one in lines if '"evaluation"' in one][-1:]
    metrics.write_text(metrics.read_text().replace(last, last.replace('"mean": ', '"mean": 9')))
    capsys.readouterr()
    assert main(["experiment", str(plan), "--out", "out", "--redraw"]) == 0
    assert json.loads(Path("out/table.json").read_text())[WALK]["pssvf"]["seeds"] == [1]
    assert f"- {WALK}, pssvf, seed 0: metrics.jsonl" in Path("out/table.md").read_text()


def test_figures_of_what_is_no_longer_there_go_and_all_other_files_stay(tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK, SLOW], seeds=1)
    litmus.experiment(plan, out="out", quiet=True)
    figures, others = Path("out/figures"), ["learning-mine.png", "notes.txt"]
    for name in others:
        (figures / name).touch()
    drawn = {path.name for path in figures.iterdir()}
    litmus.experiment(plan, tasks=[WALK], out="out", redraw=True, quiet=True)
    left = {path.name for path in figures.iterdir()}
    assert left == {name for name in drawn if "Slow" not in name}
    assert left > set(others)
    litmus.experiment(plan, out="out", redraw=True, quiet=True)
    assert {path.name for path in figures.iterdir()} == drawn


def test_what_an_experiment_comes_to_over_all_tasks_stands_beside_the_tasks(tmp_path: Path) -> None:
    grid = {"noise": [0.1, 0.2]}
    plan = write_plan(tmp_path / "mine.json", [WALK], seeds=1, grid=grid)
    done = litmus.experiment(plan, out="out", results="all.json", quiet=True)
    assert set(done.table) == {WALK}
    first, second = done.table[WALK]
    assert done.overall["probability_of_improvement"][first][second]["value"] in (0.0, 0.5, 1.0)
    for path in (Path("out/table.json"), Path("all.json")):
        found = json.loads(path.read_text())
        assert found.pop("over all tasks") == done.overall
        assert set(found) == {WALK}


UNFIT = [
    ('{"toys:ToyWalk-v0": {"pss', "is not JSON"),
    ("", "is not JSON"),
    ("[1]", "does not hold a JSON object"),
    ('{"judge": {"Hopper-v5": {"runs": 8}}}', "does not hold tasks, algorithms and seeds"),
    ('{"online_10": {"tuned": {"mean": 0.5, "seeds": [0.5]}}}', "not a whole number: 0.5"),
    ('{"toys:ToyWalk-v0": 3}', "does not hold tasks, algorithms and seeds"),
]


@pytest.mark.parametrize("more", [[], ["--redraw"], ["--dry-run"]], ids=str)
@pytest.mark.parametrize(("text", "words"), UNFIT)
def test_results_that_could_not_be_filled_are_refused_before_anything_trains(
    text: str, words: str, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK])
    (tmp_path / "all.json").write_text(text)
    before = list_changes(tmp_path)
    assert main(["experiment", str(plan), "--out", "out", "--results", "all.json", *more]) == 2
    assert_one_line(capsys.readouterr().err, "all.json", words, "name another --results")
    assert list_changes(tmp_path) == before


@pytest.mark.parametrize("name", ["all.json", "all.md", ""])
def test_results_that_may_not_be_written_are_refused_before_anything_trains(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK])
    for one in ("all.json", "all.md"):
        (tmp_path / one).write_text("{}")
    # Not by permissions: whoever tests as root may write everything.
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != tmp_path / name)
    before = list_changes(tmp_path)
    assert main(["experiment", str(plan), "--out", "out", "--results", "all.json"]) == 2
    assert_one_line(
        capsys.readouterr().err, f"cannot write to {name or 'all.json'}: Permission denied"
    )
    assert list_changes(tmp_path) == before


def test_results_are_filled_by_one_command_after_the_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK])
    for seed in (0, 1):
        train_tiny(
            tmp_path / f"here-{seed}/runs/{WALK}/pssvf/seed-{seed}", seed=seed, preset="small"
        )
        words = ["--seeds", f"{seed}-{seed}", "--out", f"here-{seed}", "--results", "all.json"]
        assert main(["experiment", str(plan), *words]) == 0
    finals = [litmus.Run(f"here-{n}/runs/{WALK}/pssvf/seed-{n}").final_return for n in (0, 1)]
    cell = json.loads(Path("all.json").read_text())[WALK]["pssvf"]
    assert (cell["seeds"], cell["returns"]) == ([0, 1], finals)
    out = tmp_path / f"longer/runs/{WALK}/pssvf/seed-1"
    train_tiny(out, seed=1, steps=80, preset="small")
    words = ["--seeds", "1-1", "--steps", "80", "--out", "longer", "--results", "all.json"]
    assert main(["experiment", str(plan), *words]) == 0
    told = (
        f"left out of all.json: {WALK}, pssvf, seed 0: made with other options (steps 40, not 80)"
    )
    assert caplog.messages == [told]
    assert json.loads(Path("all.json").read_text())[WALK]["pssvf"]["seeds"] == [1]


@pytest.mark.parametrize("name", ["../mine.png", "experiment.json", "runs"])
def test_nothing_but_figures_of_the_folder_is_ever_removed(name: str, tmp_path: Path) -> None:
    (tmp_path / "out/runs").mkdir(parents=True)
    for path in (tmp_path / "mine.png", tmp_path / "out/experiment.json"):
        path.touch()
    experiment_folder.write_json(tmp_path / "out/drawn.json", {"drawn": [name]})
    experiment_folder.forget_old_figures(tmp_path / "out", [])
    assert (tmp_path / "out" / name).exists()


def test_a_damaged_list_of_figures_does_not_stop_a_drawing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "drawn.json").write_text("{")
    (tmp_path / "old.png").touch()
    experiment_folder.forget_old_figures(tmp_path, [tmp_path / "new.png"])
    assert "drawn.json is not JSON" in caplog.text
    assert (tmp_path / "old.png").exists()


def test_the_steps_of_a_table_are_those_that_were_made_not_those_planned(tmp_path: Path) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK], seeds=2, steps=41)  # episodes have ten
    table = litmus.experiment(plan, out="out", quiet=True).table
    ends = [read_events(Path("out/runs") / WALK / f"pssvf/seed-{seed}")[-1] for seed in (0, 1)]
    assert table[WALK]["pssvf"]["steps"] == min(end["steps"] for end in ends) > 41


MISTAKES = [
    (["nothing"], "unknown experiment 'nothing'"),
    (["learning-curve"], "did you mean 'learning-curves'?"),
    (["none.toml"], "there is no file none.toml"),
    (["weighting", "--tasks", "Hopper-v5", "Hoper-v5"], "did you mean 'Hopper-v5'"),
    (["weighting", "--algorithms", "no-weights", "noweights"], "did you mean 'no-weights'?"),
    (["weighting", "--seeds", "3-1"], "--seeds holds no seed"),
    (["weighting", "--seeds", "x"], "--seeds takes a number of seeds or a range"),
    (["weighting", "--steps", "0"], "--steps must be at least 1"),
    (["weighting", "--evaluate-every", "0"], "--evaluate-every must be at least 1"),
    (["weighting", "--preset", "papr"], "did you mean 'paper'?"),
    (["weighting", "--jobs", "0"], "--jobs must be between 1 and"),
    (["weighting", "--executor", "rai"], "unknown --executor 'rai'; did you mean 'ray'?"),
    (["weighting", "--ray-address", "here:1"], "--ray-address is for --executor ray"),
    (["weighting", "--results", "table.md"], "--results takes a file that ends in .json"),
    (["weighting", "--results", "new/x.json", "--out", "new"], "has files of its own"),
    (["weighting", "--seeds", "9" * 5000], "--seeds takes a number of seeds or a range"),
    (["weighting", "--results", "file/x.json"], "cannot write to file/x.json"),
    (["weighting", "--out", "file"], "cannot write to file"),
    (["weighting", "--out", "full"], "full exists already"),
    (["weighting", "--out", "other"], "other holds the experiment mine, not weighting"),
    (["weighting", "--redraw", "--out", "nowhere"], "no run in nowhere is finished yet"),
]


@pytest.fixture
def places(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "something").touch()
    experiment_folder.write_json(
        _make(tmp_path / "other") / experiment_folder.DESCRIPTION, {"experiment": "mine"}
    )


def _make(folder: Path) -> Path:
    folder.mkdir()
    return folder


@pytest.mark.usefixtures("places")
@pytest.mark.parametrize(("arguments", "words"), MISTAKES, ids=lambda value: str(value)[:60])
def test_a_mistake_is_one_line_and_nothing_trains(
    arguments: list[str], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = sorted(tmp_path.rglob("*"))
    assert main(["experiment", *arguments]) == 2
    shown = capsys.readouterr()
    assert_one_line(shown.err.replace("report  reading the runs\n", ""), words)
    assert sorted(tmp_path.rglob("*")) == before


def test_runs_of_other_options_are_not_mixed_with_these(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plan = write_plan(tmp_path / "mine.json", [WALK], seeds=1)
    train_tiny(tmp_path / f"out/runs/{WALK}/pssvf/seed-0", steps=80, preset="small")
    experiment_folder.write_json(tmp_path / "out/experiment.json", {"experiment": "mine"})
    assert main(["experiment", str(plan), "--out", "out"]) == 2
    assert_one_line(capsys.readouterr().err, "--steps is 80 there and 40 here")


def test_one_experiment_at_a_time_works_in_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment_folder, "SECONDS_TO_LET_GO", 0.0)
    plan = make_plan(write_plan(tmp_path / "mine.json", [WALK]), Choices())
    with (
        experiment_folder.claim_folder(tmp_path / "out", plan),
        pytest.raises(litmus.BadInput, match="another process is working on"),
        experiment_folder.claim_folder(tmp_path / "out", plan),
    ):
        pytest.fail("two at once")
