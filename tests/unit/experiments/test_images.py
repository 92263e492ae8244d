"""The experiments on images, on a small set: what is planned, done and written down."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from harness import flip
from tiny_images import write_set

from litmus.cli import main
from litmus.errors import BadInput
from litmus.experiments.image_results import summarize
from litmus.experiments.jobs import Standing, TrainJob, build_job, describe_job
from litmus.experiments.mnist_offline import MNIST_OFFLINE, OfflineJob, write_up
from litmus.experiments.mnist_online import MNIST_ONLINE
from litmus.experiments.offline import AT_ONCE, Setup, choose, collect, fit
from litmus.experiments.offline_report import Climbs, write_report
from litmus.experiments.offline_settings import PRESETS, OfflineSettings
from litmus.experiments.plan import Choices, Plan
from litmus.experiments.results_file import add_result
from litmus.reports.image_runs import read_loss
from litmus.reports.progress import make_progress
from litmus.runs.run import Run
from litmus.tasks.classification import make_image_task
from litmus.tasks.known_images import IMAGE_SETS, PARTS

SMALL = replace(
    PRESETS["tuned"],
    policies=150,
    heads=((), (4,)),
    updates=30,
    batch_size=8,
    most_accuracy=0.4,
    images=40,
    probing_states=3,
    climb_steps=10,
    fresh=2,
)


PLAN_OF_IMAGES = ["learning-curves", "--tasks", "mnist", "--algorithms", "pssvf"]


@pytest.fixture
def data(tmp_path: Path) -> str:
    return str(write_set(tmp_path / "set"))


def make_setup(data: str, settings: OfflineSettings = SMALL) -> tuple[Setup, list]:
    tasks = [
        make_image_task("images", data, held_out, images_per_episode=settings.images)
        for held_out in ("validation", "test")
    ]
    return Setup.of(tasks[0], settings), tasks


def test_online_runs_are_presets_times_sizes_times_seeds(data: str) -> None:
    choices = Choices(tasks=("images",), seeds=(3, 4), data=data, probing_states=7, steps=32)
    jobs = MNIST_ONLINE.plan("mnist-online", choices).jobs
    assert [job.name for job in jobs] == [
        f"images, {preset}-7, seed {seed}" for seed in (3, 4) for preset in ("tuned", "paper")
    ]
    for job in jobs:
        assert isinstance(job, TrainJob)
        assert job.config["env_kwargs"]["held_out"] == "test"
        assert job.config["selection_share"] == 0  # nothing may be chosen by test images
        assert (job.config["data"], job.config["steps"]) == (data, 32)


@pytest.fixture(scope="module")
def online(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an experiment whose five runs are done and written up."""
    out = tmp_path_factory.mktemp("online")
    plan = plan_online(write_set(out / "set"))
    for job in plan.jobs:
        job.work(out / job.folder)
    plan.write_up(out, out / "results.json", make_progress(quiet=True))
    return out


def plan_online(data: Path) -> Plan:
    choices = Choices(
        tasks=("images",), seeds=tuple(range(5)), data=str(data), preset="tuned", steps=96
    )
    return MNIST_ONLINE.plan("mnist-online", replace(choices, probing_states=3))


def test_the_loss_of_perturbed_policies_stands_beside_the_accuracy_with_its_interval(
    online: Path,
) -> None:
    cell = json.loads((online / "table.json").read_text())["images"]["tuned-3"]
    losses = [
        [-event["training_mean"] for event in Run(path).metrics if event["event"] == "round"]
        for path in sorted((online / "runs/images/tuned-3").iterdir())
    ]
    assert cell["loss_curve"]["steps"] == [32, 64, 96]
    assert cell["loss_curve"]["mean"] == pytest.approx(np.mean(losses, axis=0))
    for curve in (cell["loss_curve"], cell["accuracy_curve"]):
        low, high = curve["ci95"]
        assert all(a <= b <= c for a, b, c in zip(low, curve["mean"], high, strict=True))
        assert low[-1] < high[-1]
    assert {path.name for path in (online / "figures").glob("loss*")} == {
        "loss-images.png",
        "loss-images.svg",
    }
    page = (online / "report.html").read_text()
    charts = json.loads(page.split('id="litmus-data">')[1].split("</script>")[0])
    (panel,) = charts["loss-images"]["views"][0]["panels"]
    assert "low" in panel["series"][-1]
    results = json.loads((online / "results.json").read_text())["images_online_3"]["tuned"]
    assert [y for _, y in results["losses"]["2"]] == pytest.approx(losses[2])


def test_each_seeds_probing_images_and_what_they_are_answered_with_are_on_the_page(
    online: Path,
) -> None:
    page = (online / "report.html").read_text()
    for seed in range(5):
        folder = online / f"pictures/images-tuned-3-seed{seed}"
        assert {one.name for one in folder.iterdir()} == {
            *("probing-images.png", "evolution.png", "choices.txt")
        }
        shown = page.split(f'id="probing-{folder.name}"')[1].split("</figure>")[0]
        assert shown.count("<img") == 1 + 3  # the strip, and each image in the end
        for line in (folder / "choices.txt").read_text().splitlines():
            assert f">{line.partition(': ')[2]}</div>" in shown
    assert len(page) < 3e6


def test_a_run_whose_snapshots_are_damaged_is_named_and_the_others_are_shown(
    online: Path, tmp_path: Path
) -> None:
    copy = Path(shutil.copytree(online, tmp_path / "copy"))
    snapshots = copy / "runs/images/tuned-3/seed-3/history/probing.bin"
    snapshots.write_bytes(flip(snapshots.read_bytes(), 99))
    plan_online(online / "set").write_up(copy, None, make_progress(quiet=True))
    page = (copy / "report.html").read_text()
    assert "Images, tuned-3, seed 3: snapshot 0 in" in page
    assert page.count('id="probing-images-tuned-3') == 4


def test_a_long_curve_of_losses_is_made_of_means_over_rounds() -> None:
    rounds = [
        {"event": "round", "steps": step, "training_mean": -float(step % 2)} for step in range(1000)
    ]
    curve = read_loss(SimpleNamespace(metrics=[*rounds, {"event": "finished"}]))  # type: ignore
    assert curve.x[:2].tolist() == [4.5, 14.5]
    assert curve.y.tolist() == [0.5] * 100


def test_only_bad_classifiers_are_learned_from(data: str) -> None:
    setup, tasks = make_setup(data)
    torch.manual_seed(0)
    measured = collect(setup, tasks[0], np.random.default_rng(0))
    assert len(measured.rows) == len(measured.returns) == 150 - measured.thrown_away
    assert 0 < measured.thrown_away < 150
    assert measured.highest_accuracy <= SMALL.most_accuracy


def test_nothing_to_learn_from_is_said(data: str) -> None:
    setup, tasks = make_setup(data, replace(SMALL, most_accuracy=-1.0))
    with pytest.raises(BadInput, match="bad enough"):
        collect(setup, tasks[0], np.random.default_rng(0))


def test_a_judge_is_frozen_and_knows_what_is_usual(data: str) -> None:
    setup, tasks = make_setup(data)
    torch.manual_seed(0)
    measured = collect(setup, tasks[0], np.random.default_rng(0))
    judge = fit(setup, measured, ())
    assert not any(parameter.requires_grad for parameter in judge.evaluator.parameters())
    values, distance = judge.judge(setup.probe(measured.rows))
    assert float(distance.mean()) == pytest.approx(1.0, rel=0.05)
    assert values.mean() == pytest.approx(float(measured.returns.mean()), rel=0.2)


def test_a_seed_is_done_once_and_written_up(data: str, tmp_path: Path) -> None:
    choices = Choices(tasks=("images",), seeds=(1,), data=data)
    plan = MNIST_OFFLINE.plan("mnist-offline", choices)
    (job,) = plan.jobs
    assert isinstance(job, OfflineJob)
    small = {**job.settings, **vars(SMALL), "heads": [list(one) for one in SMALL.heads]}
    job = replace(job, settings=small)
    assert build_job(json.loads(json.dumps(describe_job(job)))) == job
    folder = tmp_path / "out" / job.folder
    assert job.look(folder).state == "missing"
    job.work(folder)
    assert job.look(folder).state == "finished"
    before = (folder / "result.json").read_bytes()
    job.work(folder)
    assert (folder / "result.json").read_bytes() == before
    for other in (replace(job, seed=2), replace(job, data="elsewhere")):
        with pytest.raises(BadInput, match="other settings"):
            other.read(folder)
    found = job.read(folder)
    assert found["highest_accuracy_seen"] <= 0.4
    assert len(found["chosen_by_validation"]) == len(found["chosen_by_familiarity"]) == 2
    results = tmp_path / "results.json"
    write_up("Title", [job], tmp_path / "out", results, make_progress(quiet=True))
    entry = json.loads(results.read_text())["images_offline"]["tuned"]
    assert entry["seeds"] == [pytest.approx(np.mean(found["chosen_by_validation"]))]
    assert json.loads((tmp_path / "out/table.json").read_text()) == {"images": {"tuned": entry}}


def test_how_far_a_seed_is_can_be_seen_while_it_is_at_work(
    data: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (job,) = MNIST_OFFLINE.plan("it", Choices(tasks=("images",), seeds=(1,), data=data)).jobs
    assert isinstance(job, OfflineJob)
    small = {**vars(SMALL), "heads": [list(one) for one in SMALL.heads]}
    job = replace(job, settings=small)
    seen = []

    def stop(*_: Any) -> None:
        seen.append(job.look(tmp_path))
        raise KeyboardInterrupt

    monkeypatch.setattr("litmus.experiments.offline.climb", stop)
    with pytest.raises(KeyboardInterrupt):
        job.work(tmp_path)
    assert seen == [Standing("unfinished", SMALL.updates)]
    assert job.look(tmp_path) == Standing("missing")  # it begins anew


STEPS = [0, 5, 10, 15]
CLIMBED = {
    "settings": {"seed": 7, "most_accuracy": 0.12},
    "kept": 9,
    "thrown_away": 1,
    "highest_accuracy_seen": 0.12,
    "chosen_by_validation": [0.3, 0.7],
    "chosen_by_familiarity": [0.4, 0.5],
    "provenance": {"commit": "abc"},
    "curve": {
        "steps": STEPS,
        "validation_accuracy": [[0.1, 0.1], [0.9, 0.2], [0.5, 0.3], [0.5, 0.8]],
        "distance": [[0.1, 0.1], [5.0, 6.0], [3.0, 2.0], [4.0, 3.0]],
        "test_accuracy": [[0.2, 0.1], [0.3, 0.2], [0.4, 0.5], [1.0, 0.7]],
        "test_return": [[-2.3, -2.3], [-2.0, -2.0], [-1.9, -1.9], [-1.8, -1.8]],
        "predicted": [[-2.3, -2.3], [-1.9, -1.9], [-1.7, -1.7], [-1.5, -1.5]],
    },
}
"""What a seed with two fresh networks leaves."""


def test_accuracy_prediction_truth_and_the_chosen_steps_of_a_climb_are_drawn_and_named(
    tmp_path: Path,
) -> None:
    climbs = Climbs("mnist", "tuned", [CLIMBED])
    accuracy, returns, distance = climbs.draw().views[0].panels
    drawn = {series.name: (list(series.x), list(series.y)) for series in accuracy.series}
    assert drawn["best on validation images"] == ([5, 15], [30, 70])
    assert drawn["by familiarity alone, without labels"] == ([10, 10], [40, 50])
    assert drawn["fresh CNNs, mean"][1][-1] == 85
    assert drawn["the paper: 65%"][1] == [65, 65]
    assert [series.name for series in returns.series] == ["predicted by V", "measured"]
    assert list(distance.series[0].y)[1] == 5.5
    written = write_report("Title", [climbs], ["mnist, tuned, seed 8"], tmp_path)
    page, text = ((tmp_path / name).read_text() for name in ("report.html", "table.md"))
    assert tmp_path / "figures/climb-mnist-tuned.png" in written
    for told in (page, text):
        assert "reach 50.0% of the test images (the paper: 65%)" in told
        assert "45.0% at the one that is chosen by familiarity alone" in told
        assert "+0.10 at step 5, +0.20 at step 10, +0.30 at step 15" in told
        assert "seed 8" in told
    assert 'data-chart="climb-mnist-tuned"' in page


def test_the_folder_of_images_is_the_same_wherever_the_command_is_given(
    data: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(Path(data).parent)
    typed = Choices(tasks=("images",), seeds=(1,), data=Path(data).name, steps=8)
    (offline,) = MNIST_OFFLINE.plan("mnist-offline", typed).jobs
    assert isinstance(offline, OfflineJob)
    assert offline.describe()["data"] == data
    for online in MNIST_ONLINE.plan("mnist-online", typed).jobs:
        assert isinstance(online, TrainJob)
        assert online.config["data"] == data


def test_the_step_is_chosen_without_test_images() -> None:
    curve = {
        "validation_accuracy": [[0.1], [0.9], [0.5], [0.5]],
        "distance": [[0.1], [5.0], [3.0], [4.0]],
        "test_accuracy": [[0.2], [0.3], [0.4], [1.0]],
    }
    assert choose(curve, by="validation_accuracy") == [0.3]
    assert choose(curve, by="distance") == [0.4]  # the nearest after the farthest


def test_a_policy_that_goes_ever_farther_is_taken_at_its_end() -> None:
    curve = {"distance": [[0.1], [1.0], [2.0]], "test_accuracy": [[0.2], [0.3], [0.4]]}
    assert choose(curve, by="distance") == [0.4]


def test_returns_of_random_networks_are_free_of_what_their_images_cost_all(data: str) -> None:
    setup, tasks = make_setup(data, replace(SMALL, policies=2 * AT_ONCE, most_accuracy=1.0))
    measured = collect(setup, tasks[0], np.random.default_rng(0))
    first, second = measured.returns.split(AT_ONCE)
    assert float(first.mean()) == pytest.approx(float(second.mean()), abs=1e-12)


def test_what_an_experiment_on_images_does_not_take_is_said(data: str) -> None:
    for experiment in (MNIST_ONLINE, MNIST_OFFLINE):
        with pytest.raises(BadInput, match="it does not take algorithms"):
            experiment.plan("it", Choices(tasks=("images",), data=data, algorithms=("ars",)))


def test_a_preset_that_there_is_not_is_named() -> None:
    with pytest.raises(BadInput, match="did you mean 'paper'"):
        MNIST_OFFLINE.plan("mnist-offline", Choices(preset="papre"))


@pytest.mark.parametrize("experiment", [MNIST_ONLINE, MNIST_OFFLINE])
def test_tasks_without_images_and_sets_without_files_are_named(experiment, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="it is for sets of images, and 'Swimmer-v5' is none"):
        experiment.plan("it", Choices(tasks=("Swimmer-v5",)))
    with pytest.raises(BadInput, match="there is no folder"):
        experiment.plan("it", Choices(tasks=("images",), data=str(tmp_path / "nothing")))


@pytest.fixture
def mirrored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """mnist is on no disk here, and can be had from this address."""
    monkeypatch.delenv("LITMUS_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    mirror = f"{write_set(tmp_path / 'mirror').as_uri()}/"
    known = replace(IMAGE_SETS["mnist"], mirrors=(mirror,))
    monkeypatch.setitem(IMAGE_SETS, "mnist", known)
    return mirror


@pytest.mark.parametrize("words", [["mnist-online"], ["mnist-offline"], PLAN_OF_IMAGES])
def test_a_dry_run_says_where_images_would_come_from_and_fetches_none(
    words: list[str], mirrored: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["experiment", *words, "--seeds", "1", "--dry-run"]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == (
        f"mnist is not on this machine: it would be downloaded from {mirrored} into "
        f"{tmp_path / 'cache/litmus/mnist'}"
    )
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("name", ["mnist-online", "mnist-offline"])
def test_a_dry_run_says_where_images_lie(
    name: str, data: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--tasks", "images", "--data", data, "--seeds", "1", "--dry-run"]
    assert main(["experiment", name, *words]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == f"images lies in {data}"


@pytest.mark.parametrize("experiment", [MNIST_ONLINE, MNIST_OFFLINE])
def test_a_file_that_is_cut_short_is_named_before_anything_begins(
    experiment: Any, data: str
) -> None:
    path = Path(data) / f"{PARTS[2]}.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(BadInput, match=path.name):
        experiment.plan("it", Choices(tasks=("images",), data=data))


@pytest.mark.parametrize("experiment", [MNIST_ONLINE, MNIST_OFFLINE])
def test_more_probing_images_than_anything_can_hold_are_refused(experiment: Any, data: str) -> None:
    with pytest.raises(BadInput, match=r"probing.states"):
        experiment.plan("it", Choices(tasks=("images",), data=data, probing_states=10**12))


MADE_BY = [{"commit": "a", "versions": {}}, {"commit": "b", "versions": {}}]


def test_results_keep_what_other_experiments_wrote(tmp_path: Path) -> None:
    path = tmp_path / "new" / "mnist.json"
    add_result(path, "online_10", "paper", summarize([0.5, 0.7], 100, [{"versions": {}}]))
    add_result(path, "online_10", "tuned", summarize([0.9], 100, [{}]))
    add_result(path, "online_10", "paper", summarize([0.6, 0.8], 100, MADE_BY))
    known = json.loads(path.read_text())["online_10"]
    assert known["paper"]["mean"] == pytest.approx(0.7)
    assert known["paper"]["std"] == pytest.approx(0.1414, abs=1e-4)
    assert (known["tuned"]["seeds"], known["tuned"]["std"]) == ([0.9], None)
    assert known["paper"]["provenance"] == {"commit": "a", "versions": {}, "commits": ["a", "b"]}
    path.write_text("[]")
    with pytest.raises(BadInput, match="JSON object"):
        add_result(path, "offline", "paper", {})
