"""A file of results is filled piece by piece: with what the folder has, and what it had before."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from harness import tiny

from litmus.analysis.comparison import OVERALL
from litmus.analysis.statistics import Curve
from litmus.errors import BadInput
from litmus.experiments.fill_table import fill, find_other_options
from litmus.experiments.grid import Grid, Variant
from litmus.experiments.plan import Choices
from litmus.experiments.results_file import add_result, read_results
from litmus.experiments.seed_results import CellResults, SeedResult, select_options
from litmus.experiments.table_file import read_table, write_table
from litmus.reports.comparison import ComparisonReport
from litmus.reports.progress import make_progress

WALK, CHOICE = "toys:ToyWalk-v0", "toys:ToyChoiceWalk-v0"
GRID = Grid(
    title="All of it",
    tasks=(WALK, CHOICE),
    variants=(Variant("plain", "pssvf"), Variant("small", "pssvf", options={"hidden": (4,)})),
    seeds=(0, 1, 2),
    steps=lambda task: 20,
    options=tiny("pssvf"),
    beside=("random",),
    paper={"ToyWalk": {"plain": (-1e6, None), "small": (1e6, 2.0)}},
)

Fill = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With every run of the grid, and one that is longer."""
    path = tmp_path_factory.mktemp("grid")
    for job in GRID.plan("grid", Choices()).jobs:
        job.work(path / job.folder)
    longer = Choices(tasks=(WALK,), algorithms=("plain",), seeds=(0,), steps=40)
    (job,) = GRID.plan("grid", longer).jobs
    job.work(path / "longer" / job.folder)
    return path


@pytest.fixture
def write(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fill:
    """Writes up what is chosen of the grid to a file, without figures."""

    def write_table_only(report: ComparisonReport, folder: Path) -> list[Path]:
        (tmp_path / "table.md").write_text(report.to_markdown())
        (tmp_path / "table.json").write_text(json.dumps(report.to_json()))
        return []

    monkeypatch.setattr(ComparisonReport, "write", write_table_only)

    def write(name: str = "all", inside: str = "", **choices: Any) -> dict[str, Any]:
        plan = GRID.plan("grid", Choices(**choices))
        path = tmp_path / f"{name}.json"
        plan.write_up(folder / inside, path, make_progress(quiet=True))
        found: dict[str, Any] = json.loads(path.read_text())
        return found

    return write


def edit(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    table = json.loads(path.read_text())
    change(table)
    path.write_text(json.dumps(table))


HALVES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "seeds": ({"seeds": (0,)}, {"seeds": (1, 2)}),
    "seeds that both have": ({"seeds": (0, 1)}, {"seeds": (2, 1)}),
    "tasks": ({"tasks": (WALK,)}, {"tasks": (CHOICE,)}),
    "algorithms": ({"algorithms": ("plain", "random")}, {"algorithms": ("small",)}),
}


@pytest.mark.parametrize("is_turned", [False, True], ids=["", "turned"])
@pytest.mark.parametrize("halves", HALVES.values(), ids=HALVES.keys())
def test_two_halves_are_what_is_written_at_once(
    halves: tuple[dict[str, Any], dict[str, Any]], is_turned: bool, write: Fill, tmp_path: Path
) -> None:
    whole = write("whole")
    for half in reversed(halves) if is_turned else halves:
        write("halves", **half)
    for suffix in (".json", ".md"):
        parts = [(tmp_path / name).with_suffix(suffix) for name in ("halves", "whole")]
        assert parts[0].read_bytes() == parts[1].read_bytes()
    assert list(whole) == [WALK, CHOICE, OVERALL]
    assert list(whole[WALK]) == ["plain", "small", "random", "untrained"]
    assert whole[WALK]["small"]["steps_to_paper"] == {"0": None, "1": None, "2": None}
    assert whole[WALK]["plain"]["steps_to_paper"] == {"0": 0, "1": 0, "2": 0}
    assert (tmp_path / "whole.md").read_text().startswith("# All of it\n")


def test_a_new_file_says_what_the_table_of_the_folder_says(write: Fill, tmp_path: Path) -> None:
    found, table = write(), json.loads((tmp_path / "table.json").read_text())
    assert (tmp_path / "all.md").read_text() == (tmp_path / "table.md").read_text()
    assert found[OVERALL] == table.pop(OVERALL)
    for task, row in table.items():
        assert list(found[task]) == list(row)
        for algorithm, cell in row.items():
            assert found[task][algorithm].items() >= cell.items()


def test_the_same_again_changes_nothing(write: Fill, tmp_path: Path) -> None:
    write()
    before = [(tmp_path / name).read_bytes() for name in ("all.json", "all.md")]
    write()
    assert [(tmp_path / name).read_bytes() for name in ("all.json", "all.md")] == before


def test_seeds_of_the_folder_take_the_place_of_those_of_the_file(
    write: Fill, tmp_path: Path
) -> None:
    first = write()[WALK]["plain"]
    edit(tmp_path / "all.json", lambda table: table[WALK]["plain"].update(returns=[7e5, 8e5, 9e5]))
    found = write(seeds=(0, 2), tasks=(WALK,))[WALK]["plain"]
    returns = [first["returns"][0], 8e5, first["returns"][2]]
    assert found["returns"] == returns
    assert found["mean"] == pytest.approx(np.mean(returns))
    assert found["std"] == pytest.approx(np.std(returns, ddof=1))
    assert found["range"] == [min(returns), 8e5]
    for name in ("untrained", "curves", "seed_steps", "steps_to_paper"):
        assert found[name] == first[name]
    assert "800,000 (1)" in (tmp_path / "all.md").read_text()


def test_seeds_that_were_made_with_other_options_are_left_out_and_named(
    write: Fill, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    before = write()
    found = write(inside="longer", tasks=(WALK,), algorithms=("plain",), seeds=(0,), steps=40)
    cell = found[WALK]["plain"]
    assert (cell["seeds"], cell["steps"], cell["options"]["steps"]) == ([0], 40, 40)
    assert cell["untrained"] == found[WALK]["untrained"]["returns"]
    for kept in ("small", "random"):
        assert found[WALK][kept] == before[WALK][kept]
    assert found[CHOICE] == before[CHOICE]
    told = f"{WALK}, plain, seeds 1, 2: made with other options (steps 20, not 40)"
    assert f"Left out of what this file had:\n\n- {told}\n" in (tmp_path / "all.md").read_text()
    assert caplog.messages == [f"left out of {tmp_path / 'all.json'}: {told}"]
    write(inside="longer", tasks=(WALK,), algorithms=("plain",), seeds=(0,), steps=40)
    assert "Left out" not in (tmp_path / "all.md").read_text()


def test_where_and_with_how_many_workers_seeds_were_made_is_no_difference() -> None:
    config = {"algorithm": "pssvf", "task": "mnist", "steps": 3, "noise": 0.1}
    here = {"seed": 1, "device": "cpu", "workers": 0, "data": "/here/mnist"}
    there = {"seed": 2, "device": "cuda", "workers": 4, "data": None}
    options = select_options({**config, **here})
    assert options == select_options({**config, **there}) == config
    own = [select_options({"task": "images", "data": f"/{name}"}) for name in ("a/x", "b/x", "a/y")]
    assert own[0] == own[1] != own[2]


def test_an_option_that_is_newer_than_the_file_had_its_default(write: Fill) -> None:
    options = write(tasks=(WALK,))[WALK]["plain"]["options"]
    older = {name: value for name, value in options.items() if name != "recency"}
    assert find_other_options(older, options) == ""
    assert "recency" in find_other_options(older, {**options, "recency": 3.25})
    assert "not known" in find_other_options(None, options)
    assert find_other_options(None, None) == ""


def test_an_option_that_there_is_no_more_makes_a_difference_only_where_it_was_on(
    write: Fill,
) -> None:
    options = write(tasks=(WALK,))[WALK]["plain"]["options"]
    older = {name: value for name, value in options.items() if name != "recency"}
    assert find_other_options({**older, "gone": 0.0, "left": []}, options) == ""
    assert "gone 0.5" in find_other_options({**older, "gone": 0.5}, options)


def test_a_file_of_one_kind_of_results_is_not_filled_with_another(
    write: Fill, tmp_path: Path
) -> None:
    write(tasks=(WALK,), seeds=(0,))
    before = (tmp_path / "all.json").read_bytes()
    with pytest.raises(BadInput, match="does not hold what this experiment writes"):
        add_result(tmp_path / "all.json", WALK, "3-states", {"mean": 1.0})
    assert (tmp_path / "all.json").read_bytes() == before
    add_result(tmp_path / "own.json", WALK, "3-states", {"mean": 1.0})
    add_result(tmp_path / "own.json", WALK, "5-states", {"mean": 2.0})
    assert set(read_results(tmp_path / "own.json")[WALK]) == {"3-states", "5-states"}


def test_the_file_says_which_seeds_each_commit_made(write: Fill, tmp_path: Path) -> None:
    (origin,) = write(seeds=(0, 1))[WALK]["plain"]["origins"]
    assert origin["seeds"] == [0, 1]
    assert {"command", "commit", "versions", "hardware"} <= set(origin)

    def change(table: dict[str, Any]) -> None:
        for cell in table[WALK].values():
            for one in cell.get("origins", ()):
                one["commit"] = "abc123"

    edit(tmp_path / "all.json", change)
    cell = write(seeds=(1, 2), tasks=(WALK,))[WALK]["plain"]
    commits = {one["commit"]: one["seeds"] for one in cell["origins"]}
    assert commits == {"abc123": [0], origin["commit"]: [1, 2]}
    assert "- commit: abc123, " in (tmp_path / "all.md").read_text()


def test_only_runs_that_the_file_has_not_either_are_named_as_missing(
    write: Fill, tmp_path: Path
) -> None:
    write(seeds=(0, 1), tasks=(WALK,))
    write(seeds=(0, 1, 2, 3), tasks=(WALK,))
    text = (tmp_path / "all.md").read_text()
    assert f"- {WALK}, plain, seed 3: not begun" in text
    assert "seed 1: not begun" not in text


def test_a_file_without_curves_can_be_filled(write: Fill, tmp_path: Path) -> None:
    def strip(table: dict[str, Any]) -> None:
        for row in (table[WALK], table[CHOICE]):
            for cell in row.values():
                cell.pop("curves", None)
                cell.pop("seed_steps", None)

    whole = write()
    edit(tmp_path / "all.json", strip)
    cell = write(seeds=(0,))[WALK]["plain"]
    assert set(cell["curves"]) == {"0"}
    for name in ("mean", "returns", "steps_to_paper", "steps", "origins"):
        assert cell[name] == whole[WALK]["plain"][name]


@pytest.mark.parametrize(
    "change",
    [
        lambda cell: cell.update(seeds=[0.5, 0.7, 0.9]),
        lambda cell: cell.update(seeds=[0, 0, 1]),
        lambda cell: cell.update(seeds=[], returns=[]),
        lambda cell: cell.pop("returns"),
        lambda cell: cell["returns"].pop(),
        lambda cell: cell.update(returns=["1", "2", "3"]),
        lambda cell: cell["curves"].update({"0": {"steps": [0, 1], "returns": [2.0]}}),
        lambda cell: cell.update(curves=[1]),
        lambda cell: cell.update(options=3),
        lambda cell: cell.update(origins=[{"commit": "a"}]),
        lambda cell: cell.update(paper=[1.0]),
    ],
)
def test_what_no_experiment_wrote_is_refused(
    change: Callable[[Any], Any], write: Fill, tmp_path: Path
) -> None:
    write()
    edit(tmp_path / "all.json", lambda table: change(table[WALK]["plain"]))
    before = (tmp_path / "all.json").read_bytes()
    with pytest.raises(BadInput, match="does not hold tasks, algorithms and seeds"):
        write()
    assert (tmp_path / "all.json").read_bytes() == before


def make_image_cell(*seeds: int) -> CellResults:
    curves = [Curve(np.array([0.0, 10.0]), np.array([seed, seed + 0.1])) for seed in seeds]
    results = [
        SeedResult(seed, 0.1 * seed, 10, 0.0, None if seed else 0.3, curve, curve)
        for seed, curve in zip(seeds, curves, strict=True)
    ]
    return CellResults("mnist", "ours", tuple(results), {"steps": 10})


def test_curves_of_images_are_averaged_over_the_seeds_of_both(tmp_path: Path) -> None:
    path = tmp_path / "all.json"
    write_table(path, [make_image_cell(0, 1, 2)], "")
    whole = path.read_bytes()
    assert json.loads(whole)["mnist"]["ours"]["loss_curve"]["mean"] == pytest.approx([1.0, 1.1])
    write_table(path, [make_image_cell(2)], "")
    filled = fill(read_table(path), [make_image_cell(0, 1)], (), ())
    write_table(path, filled.cells, "")
    assert path.read_bytes() == whole
