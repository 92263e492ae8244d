"""What is planned: seeds, algorithms by name, combinations, plan files."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from harness import tiny, train_tiny
from hypothesis import given
from hypothesis import strategies as st
from tiny_images import write_set

from litmus.errors import BadInput
from litmus.experiments import EXPERIMENTS
from litmus.experiments.grid import Grid, Variant, combine, name_folder
from litmus.experiments.jobs import TrainJob, build_job, describe_job
from litmus.experiments.plan import Choices, read_seeds
from litmus.experiments.plan_file import read_plan_file
from litmus.presets import preset_values

WALK = "toys:ToyWalk-v0"


def make_grid(**options: Any) -> Grid:
    given = {"tasks": (WALK,), "variants": (Variant("pssvf", "pssvf", "small"),), "seeds": (0, 1)}
    return Grid(title="A test", steps=lambda task: 40, **{**given, **options})


def list_labels(grid: Grid, **choices: Any) -> list[str]:
    jobs = grid.plan("test", Choices(**choices)).jobs
    return list(dict.fromkeys(job.label for job in jobs if isinstance(job, TrainJob)))


def test_choices_of_steps_evaluations_and_device_are_those_of_every_run() -> None:
    names = ("steps", "evaluate_every", "device")
    grid = make_grid(options={"evaluate_every": 10})
    for chosen, expected in [
        ({}, (40, 10, "cpu")),
        ({"steps": 60, "evaluate_every": 20, "device": "auto"}, (60, 20, "auto")),
    ]:
        jobs = [
            one for one in grid.plan("test", Choices(**chosen)).jobs if isinstance(one, TrainJob)
        ]
        assert {tuple(one.config[name] for name in names) for one in jobs} == {expected}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("3", (0, 1, 2)),
        (3, (0, 1, 2)),
        ("100-102", (100, 101, 102)),
        ("7-7", (7,)),
        ([5, 1, 5], (5, 1)),
        (range(4, 6), (4, 5)),
    ],
)
def test_seeds_are_a_number_a_range_or_a_list(given: Any, expected: tuple[int, ...]) -> None:
    assert read_seeds(given) == expected


@pytest.mark.parametrize(
    "given",
    [
        "",
        "0",
        0,
        -1,
        "5-3",
        "a",
        "1-2-3",
        "1.5",
        2.5,
        True,
        [],
        [-1],
        ["1"],
        [2**32],
        "0-99999999999999999999",
        "9" * 30,
        None,
        "４",
    ],
)
def test_what_are_no_seeds_is_bad_input(given: Any) -> None:
    with pytest.raises(BadInput, match="seed"):
        read_seeds(given)


@given(st.text(min_size=1, max_size=120), st.text(min_size=1, max_size=120))
def test_folders_are_harmless_and_no_two_names_share_one(first: str, second: str) -> None:
    folders = [name_folder(first), name_folder(second)]
    for folder in folders:
        assert folder not in ("", ".", "..")
        assert len(folder.encode()) < 200
        assert not set(folder) & set("/\0\n ")
    assert (folders[0] == folders[1]) == (first == second)


def test_every_combination_of_a_grid_is_a_variant() -> None:
    found = combine(Variant("pssvf", "pssvf"), {"noise": [0.1, 0.05], "hidden": [[8], [8, 8]]})
    assert [variant.name for variant in found] == [
        "pssvf,noise=0.1,hidden=8",
        "pssvf,noise=0.1,hidden=8x8",
        "pssvf,noise=0.05,hidden=8",
        "pssvf,noise=0.05,hidden=8x8",
    ]
    assert found[3].options == {"noise": 0.05, "hidden": [8, 8]}


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ({"noise": [0.1, 0.1]}, "would be called 'pssvf,noise=0.1'"),
        (
            {name: list(range(10)) for name in ("a", "b", "c", "d", "e", "f")},
            "100,000 combinations",
        ),
    ],
)
def test_a_grid_that_no_table_can_show_is_refused(grid: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        make_grid(grid=grid).plan("test", Choices())


def test_names_of_values_that_are_nearly_equal_differ() -> None:
    found = combine(Variant("p", "pssvf"), {"noise": [0.1, 0.100000001]})
    assert [one.name for one in found] == ["p,noise=0.1", "p,noise=0.100000001"]


def test_runs_are_planned_seed_by_seed_and_on_one_core_each() -> None:
    grid = make_grid(variants=(Variant("a", "pssvf", "small"), Variant("b", "ars", "small")))
    jobs = grid.plan("test", Choices()).jobs
    assert [job.name for job in jobs] == [
        f"{WALK}, a, seed 0",
        f"{WALK}, b, seed 0",
        f"{WALK}, a, seed 1",
        f"{WALK}, b, seed 1",
    ]
    assert len({job.folder for job in jobs}) == 4
    for job in jobs:
        assert isinstance(job, TrainJob)
        assert job.steps == 40
        assert (job.config["workers"], job.config["device"]) == (0, "cpu")


def test_a_job_travels_as_json() -> None:
    for job in make_grid(beside=("random", "sb3-ars")).plan("test", Choices()).jobs:
        assert build_job(json.loads(json.dumps(describe_job(job)))) == job


def test_algorithms_are_the_experiments_own_or_any_with_any_preset() -> None:
    grid = make_grid()
    assert list_labels(grid, algorithms=("pssvf", "ars-paper", "ars", "vanilla-pssvf-small")) == [
        "pssvf",
        "ars-paper",
        "ars",
        "vanilla-pssvf-small",
    ]
    paper = preset_values("paper", "ars", WALK)
    (job,) = grid.plan("test", Choices(algorithms=("ars-paper",), seeds=(0,))).jobs
    assert isinstance(job, TrainJob)
    assert job.config["hidden"] == list(paper["hidden"])


def test_a_preset_replaces_those_that_a_name_does_not_say() -> None:
    variants = (Variant("pssvf", "pssvf"), Variant("pssvf-paper", "pssvf", "paper"))
    plan = make_grid(variants=variants).plan("test", Choices(preset="small", seeds=(0,)))
    sizes = {job.label: job.config["round_size"] for job in plan.jobs if isinstance(job, TrainJob)}
    assert sizes == {"pssvf": 8, "pssvf-paper": 1}


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"tasks": ("toys:ToyWlak-v0",)}, "did you mean 'ToyWalk-v0'"),
        ({"algorithms": ("psvf",)}, "unknown algorithm 'psvf'; did you mean 'pssvf'"),
        ({"algorithms": ("pssvf-papr",)}, "did you mean 'pssvf-paper'"),
        ({"algorithms": ("random",)}, "random alone"),
        ({"preset": "smal"}, "unknown preset 'smal'; did you mean 'small'"),
        ({"seeds": tuple(range(9_999)), "tasks": tuple(f"{n}" for n in range(99))}, "100,000 runs"),
    ],
)
def test_a_wrong_choice_stops_before_anything_trains(choices: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        make_grid().plan("test", Choices(**choices))


OF_ONE_RUN = {"clone", "zero-shot"}
"""Planned in `tests/contract/test_experiments_on_a_run.py`."""


@pytest.mark.parametrize("name", sorted(set(EXPERIMENTS) - OF_ONE_RUN))
def test_every_experiment_can_be_planned(name: str, tmp_path: Path) -> None:
    experiment = EXPERIMENTS.find(name).load()
    tasks = tuple(
        task for task in experiment.tasks if "Lunar" not in task and "Bipedal" not in task
    )
    choices = Choices(tasks=tasks[:2], seeds=(100,))
    of_images = tasks == ("mnist",)
    if of_images:
        choices = replace(choices, tasks=("images",), data=str(write_set(tmp_path)))
    plan = experiment.plan(name, choices)
    assert plan.bytes_per_job > 0
    folders = [job.folder for job in plan.jobs]
    assert len(set(folders)) == len(folders)
    least = 100_000 if of_images else 200_000
    assert all(job.steps >= least for job in plan.jobs if isinstance(job, TrainJob))


def test_the_paper_stands_beside_runs_that_are_as_long_as_its_own() -> None:
    paper = {"ToyWalk": {"pssvf": (1.0, None)}}
    for steps, is_shown in ((None, True), (40, True), (39, False)):
        plan = make_grid(paper=paper).plan("test", Choices(steps=steps))
        figures = plan.write_up.args[0].paper  # type: ignore[attr-defined]
        assert bool(figures.reported) == is_shown


@pytest.mark.parametrize(
    ("choices", "title"),
    [
        ({}, "A test"),
        ({"algorithms": ("b", "random", "a"), "seeds": (7,), "steps": 50}, "A test"),
        ({"algorithms": ("a", "random")}, "test: a and random on ToyWalk-v0"),
        ({"algorithms": ("a", "b", "ars")}, "test: a, b and ars on ToyWalk-v0"),
        ({"tasks": ("toys:ToySlowWalk-v0",)}, "test: a and b on ToySlowWalk-v0"),
        ({"preset": "small"}, "test: a and b on ToyWalk-v0, with the preset small"),
    ],
)
def test_a_title_claims_no_more_than_what_is_compared(choices: dict[str, Any], title: str) -> None:
    grid = make_grid(variants=(Variant("a", "pssvf", "small"), Variant("b", "ars", "small")))
    assert grid.plan("test", Choices(**choices)).title == title


def test_an_experiment_may_refuse_a_choice() -> None:
    Choices(steps=3).refuse("mine", "tasks", "algorithms")
    with pytest.raises(BadInput, match="mine does not take tasks"):
        Choices(tasks=("A",)).refuse("mine", "tasks")


PLAN = f"""
title = "Noise"
tasks = ["{WALK}"]
algorithms = ["pssvf", "slow", "random"]
seeds = "3-4"
steps = 40
preset = "small"
[options]
evaluate_every = 10
[grid]
noise = [0.1, 0.2]
[variants.slow]
algorithm = "pssvf"
policy_lr = 1e-6
"""


def test_a_plan_file_makes_a_grid_over_any_option(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(PLAN)
    plan = read_plan_file(tmp_path / "mine.toml").plan("mine", Choices())
    trained = [job for job in plan.jobs if isinstance(job, TrainJob)]
    assert plan.title == "Noise"
    assert len(trained) == 2 * 2 * 2
    assert len(plan.jobs) == 8 + 1  # random actions, in the one task
    assert {job.config["noise"] for job in trained} == {0.1, 0.2}
    assert {job.seed for job in trained} == {3, 4}
    assert all(job.config["evaluate_every"] == 10 for job in trained)
    assert {job.config["policy_lr"] for job in trained if "slow" in job.label} == {1e-6}


def test_json_is_as_good_as_toml(tmp_path: Path) -> None:
    options = {name: value for name, value in tiny("ars").items() if name != "hidden"}
    described = {"tasks": [WALK], "algorithms": ["ars"], "seeds": [7], "options": options}
    (tmp_path / "mine.json").write_text(json.dumps(described))
    (job,) = read_plan_file(tmp_path / "mine.json").plan("mine", Choices(steps=99)).jobs
    assert isinstance(job, TrainJob)
    assert (job.seed, job.steps, job.config["directions"]) == (7, 99, 2)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tasks = [", "is not TOML"),
        ("title = 'no tasks'", "names no tasks"),
        ("tasks = []", "takes a list of names"),
        ("tasks = [1]", "takes a list of names"),
        ("taks = ['A']", "unknown key 'taks'; did you mean 'tasks'"),
        ("tasks = ['A']\nseeds = 'x'", "seeds"),
        ("tasks = ['A']\nsteps = -1", "steps must be"),
        ("tasks = ['A']\npreset = 3", "preset takes text"),
        ("tasks = ['A']\nalgorithms = ['psvf']", "unknown algorithm 'psvf'"),
        ("tasks = ['A']\n[grid]\nnoise = 0.1", "grid.noise takes a list"),
        ("tasks = ['A']\n[options]\ntask = 'B'", "'task' cannot be set in options"),
        ("tasks = ['A']\nvariants = 3", "variants takes names with values"),
        ("tasks = ['A']\n[variants.random]\nnoise = 0.5", "cannot be called 'random'"),
    ],
)
def test_a_mistake_in_a_plan_file_is_named(text: str, words: str, tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(BadInput, match=words):
        read_plan_file(tmp_path / "mine.toml")


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("[options]\nnose = 0.1", "unknown option 'nose' for pssvf; did you mean 'noise'"),
        ("[options]\nnoise = 'much'", "noise takes a number"),
        ("[grid]\nnoise = [-0.1]", "noise must be above 0"),
        ("[variants.mine]\nalgorithm = 'pssvff'", "unknown algorithm 'pssvff'"),
        ("[variants.mine]\npreset = 'papr'", "unknown preset 'papr'"),
    ],
)
def test_a_wrong_option_in_a_plan_file_stops_before_anything_trains(
    table: str, words: str, tmp_path: Path
) -> None:
    (tmp_path / "mine.toml").write_text(f"tasks = ['{WALK}']\n{table}")
    with pytest.raises(BadInput, match=words):
        read_plan_file(tmp_path / "mine.toml").plan("mine", Choices())


def test_a_plan_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="there is no file"):
        read_plan_file(tmp_path / "none.toml")
    with pytest.raises(BadInput, match="there is no file"):
        read_plan_file(tmp_path / "none.json")


def test_a_finished_run_counts_wherever_it_was_made_and_an_unfinished_one_must_go_on_alike(
    tmp_path: Path,
) -> None:
    run = train_tiny(tmp_path / "run")
    config = run.config.to_dict()
    elsewhere = TrainJob(WALK, "pssvf", "run", {**config, "device": "auto"})
    elsewhere.check(run.path)
    with pytest.raises(BadInput, match="noise is"):
        replace(elsewhere, config={**config, "noise": 0.7}).check(run.path)
    metrics = run.path / "metrics.jsonl"
    metrics.write_text("".join(metrics.read_text().splitlines(keepends=True)[:-1]))
    replace(elsewhere, config=config).check(run.path)
    with pytest.raises(BadInput, match="device is"):
        elsewhere.check(run.path)
