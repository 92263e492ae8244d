"""Runs of several seeds that learn in one process are the runs that each would be alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import litmus
from litmus.algorithms import read_config
from litmus.algorithms.base import Resources
from litmus.algorithms.ddpg import Ddpg
from litmus.algorithms.ddpg_acceleration import make_fast_ddpg, put_side_by_side, share_states
from litmus.algorithms.together import Together
from litmus.errors import BadInput, RunFailed, command
from litmus.experiments.jobs import TrainJob, build_job, describe_job
from litmus.experiments.side_by_side import MOST_TOGETHER, SideBySideJob, count_runs
from litmus.experiments.side_by_side import put_side_by_side as group_jobs
from litmus.tasks import find_task
from litmus.training.setup import design_policy
from litmus.training.side_by_side import train_side_by_side

OPTIONS: dict[str, Any] = {
    "task": "toys:ToyWalk-v0",
    "steps": 120,
    "hidden": (16, 8),
    "critic_hidden": (16,),
    "activation": "relu",
    "update_every": 20,
    "start_steps": 20,
    "update_after": 40,
    "updates": 4,
    "batch_size": 8,
    "evaluate_every": 60,
    "evaluate_episodes": 1,
    "workers": 0,
    "device": "cpu",
}


def configure(seed: int, **options: Any) -> Any:
    return read_config("ddpg", {**OPTIONS, "seed": seed, **options})


def list_losses(run: litmus.Run) -> list[float]:
    return [event["critic_loss"] for event in run.metrics if "critic_loss" in event]


def test_runs_side_by_side_are_those_that_they_would_be_alone(tmp_path: Path) -> None:
    folders = [tmp_path / f"seed-{seed}" for seed in range(3)]
    train_side_by_side([(configure(seed), folder) for seed, folder in enumerate(folders)])
    for seed, folder in enumerate(folders):
        alone = litmus.train(
            "ddpg", out=tmp_path / f"alone-{seed}", seed=seed, quiet=True, **OPTIONS
        )
        run = litmus.Run(folder)
        assert run.status == "finished"
        found, expected = list_losses(run), list_losses(alone)
        assert len(found) == 5
        np.testing.assert_allclose(found, expected, rtol=1e-3)
        np.testing.assert_allclose(
            run.policy.flat_params.numpy(), alone.policy.flat_params.numpy(), atol=1e-4
        )


def test_run_side_by_side_is_resumed_alone_and_the_other_way_round(tmp_path: Path) -> None:
    """What Adam knows is in each run's own checkpoint."""
    folders = [tmp_path / f"seed-{seed}" for seed in range(2)]
    train_side_by_side([(configure(seed), folder) for seed, folder in enumerate(folders)])
    longer = [litmus.resume(folder, steps=240, quiet=True) for folder in folders]
    whole = litmus.train(
        "ddpg", out=tmp_path / "whole", seed=1, quiet=True, **{**OPTIONS, "steps": 240}
    )
    np.testing.assert_allclose(list_losses(longer[1]), list_losses(whole), rtol=5e-3)
    # One is ahead of the other now: they are not one program any more, and go on all the same.
    litmus.resume(folders[0], steps=300, quiet=True)
    configs = [configure(seed, steps=steps) for seed, steps in ((0, 300), (1, 240))]
    train_side_by_side(list(zip(configs, folders, strict=True)))
    assert all(litmus.Run(folder).status == "finished" for folder in folders)


def test_one_that_cannot_begin_does_not_hold_up_the_others(tmp_path: Path) -> None:
    for name in ("taken", "taken-too"):
        litmus.train("ddpg", out=tmp_path / name, seed=9, quiet=True, **OPTIONS)
    names = ("taken", "other", "taken-too")
    runs = [(configure(seed), tmp_path / name) for seed, name in enumerate(names)]
    with pytest.raises(BadInput) as raised:
        train_side_by_side(runs)
    told = str(raised.value).split("; taken-too: ")
    assert told[0].startswith("taken: ")
    assert all("another configuration" in one for one in told)
    assert len(told) == 2
    assert litmus.Run(tmp_path / "other").status == "finished"


def test_one_whose_folder_is_in_use_does_not_hold_up_the_others(tmp_path: Path) -> None:
    def prepare(path: Path) -> None:
        if path.name == "seed-1":
            raise BadInput(f"it is in use; wait, then {command('resume', 'seed-1')}")

    runs = [(configure(seed), tmp_path / f"seed-{seed}") for seed in range(2)]
    with pytest.raises(BadInput) as raised:
        train_side_by_side(runs, prepare)
    assert raised.value.for_shell == "seed-1: it is in use; wait, then litmus resume seed-1"
    assert litmus.Run(tmp_path / "seed-0").status == "finished"


def test_what_goes_wrong_is_told_with_the_name_of_its_run(tmp_path: Path, capsys) -> None:
    """As the log of an experiment keeps it: warnings, and the user's own traceback."""
    options = {"task": "toys:ToyRaisingWalk-v0", "env_kwargs": {}}
    runs = [
        (configure(0, task="toys:ToyNanWalk-v0"), tmp_path / "dropping"),
        (configure(1, **options), tmp_path / "raising"),
    ]
    with pytest.raises(RunFailed, match=r"^raising: an episode failed .*: the arm fell off$"):
        train_side_by_side(runs)
    told = capsys.readouterr().err
    assert "dropping: warning: " in told
    assert "raising: Traceback" in told
    assert "toys.py" in told
    assert litmus.Run(tmp_path / "dropping").status == "finished"


def make_algorithms(folder: Path, count: int) -> list[Ddpg]:
    together = Together(count)
    algorithms = []
    for seed in range(count):
        config = configure(seed)
        spec = find_task(config)
        nobody: Any = None  # nothing is evaluated here
        architecture = design_policy(config, spec)
        (folder / str(seed)).mkdir()
        resources = Resources(
            *(config, spec, architecture, nobody, torch.device("cpu"), 1, folder / str(seed)),
            (together, seed),
        )
        algorithms.append(make_fast_ddpg(resources))
    return algorithms


def test_what_is_put_side_by_side_is_still_each_runs_own(tmp_path: Path) -> None:
    algorithms = make_algorithms(tmp_path, 2)
    before = [one.theta.detach().clone() for one in algorithms]
    for one in algorithms:
        rows, _ = one._collect()
        one.replay.add(rows)
    learners = [one.learner for one in algorithms]
    joined = put_side_by_side(learners)
    assert joined is not None
    for one, theta in zip(algorithms, before, strict=True):
        assert torch.equal(one.theta, theta)
    room = len(learners[0].transitions)
    places = torch.randint(20, (3, 2, 8), generator=torch.Generator().manual_seed(0))
    joined.update_each(places + torch.tensor([[0], [room]]))
    share_states(learners, joined)
    for number, one in enumerate(algorithms):
        assert torch.equal(one.theta, joined.theta[number])
        assert not torch.equal(one.theta, before[number])
        state = one.state_dict()["theta_optimizer"]["state"]["0"]
        assert state["step"] == 3
        assert state["exp_avg"].shape == one.theta.shape
    learners[0].update_all(places[:, 0])  # alone, it is ahead
    assert put_side_by_side(learners) is None


def test_jobs_of_one_group_share_a_program_on_a_gpu_alone(tmp_path: Path) -> None:
    def make(algorithm: str, device: str, seed: int) -> TrainJob:
        config = {"algorithm": algorithm, **OPTIONS, "device": device, "seed": seed}
        folder = f"runs/walk/{algorithm}-{device}/seed-{seed}"
        return TrainJob(OPTIONS["task"], f"{algorithm}-{device}", folder, config)

    jobs = [
        make(algorithm, device, seed)
        for seed in (0, 1)
        for algorithm in ("ddpg", "ars")
        for device in ("cuda", "cpu")
    ]
    grouped = group_jobs(jobs, tmp_path)
    shared = [job for job in grouped if isinstance(job, SideBySideJob)]
    assert [job.folder for job in shared] == ["runs/walk/ddpg-cuda/seed-0"]
    assert [count_runs(job) for job in shared] == [2]
    assert len(grouped) == len(jobs) - 1
    more = [make("ddpg", "cuda", seed) for seed in range(MOST_TOGETHER + 3)]
    grouped = group_jobs(more, tmp_path)
    assert [count_runs(job) for job in grouped] == [MOST_TOGETHER, 3]
    assert len({job.folder for job in grouped}) == 2
    own = [replace(job, config={**job.config, "architecture": "own:Network"}) for job in more]
    assert group_jobs(own, tmp_path) == own  # no program for several of them
    rebuilt = build_job(describe_job(shared[0]))
    assert rebuilt.steps == 2 * OPTIONS["steps"]
    assert rebuilt.look(tmp_path / rebuilt.folder).state == "missing"
