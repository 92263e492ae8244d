"""Results do not depend on who runs the episodes, nor on what becomes of the workers."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest
from harness import (
    DEADLINE,
    PROCESS,
    Hold,
    assert_same_result,
    is_alive,
    list_children,
    tiny,
    to_arguments,
    train_tiny,
    wait_until,
)

from litmus.algorithms import ALGORITHMS
from litmus.errors import RunFailed
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.board import CLAIMED
from litmus.rollouts.make import make_collector
from litmus.rollouts.pool import PoolCollector
from litmus.rollouts.serial import SerialCollector
from litmus.seeding import Stream
from litmus.tasks import make_task_spec


@pytest.mark.parametrize("algorithm", [*sorted(ALGORITHMS), "pssvf, solved for"])
def test_results_do_not_depend_on_the_number_of_workers(algorithm: str, tmp_path: Path) -> None:
    sizes = {"ars": {"directions": 3}, "ddpg": {"distribution": "auto"}}
    own = sizes.get(algorithm, {"round_size": 5})
    if algorithm == "pssvf, solved for":
        algorithm, own = "pssvf", {**own, **PROCESS}
    options = {"steps": 60, "distribution": "gaussian", **own}
    for workers in (0, 1, 2, 3):
        train_tiny(tmp_path / str(workers), algorithm, workers=workers, **options)
        assert_same_result(tmp_path / "0", tmp_path / str(workers))


def test_evaluation_does_not_disturb_training(tmp_path: Path) -> None:
    options = {"steps": 60, "distribution": "gaussian", "workers": 2}
    with_it = train_tiny(tmp_path / "with", evaluate_every=4, evaluate_episodes=3, **options)
    without = train_tiny(tmp_path / "without", evaluate_every=0, **options)
    assert len(with_it.evaluations) > 5
    assert without.evaluations == []
    assert with_it.policy_path.read_bytes() == without.policy_path.read_bytes()
    assert with_it.evaluator_path.read_bytes() == without.evaluator_path.read_bytes()


def test_evaluations_come_when_they_are_due_and_at_the_end(tmp_path: Path) -> None:
    run = train_tiny(tmp_path / "run", steps=40, round_size=1, evaluate_every=10)  # 4 steps each
    assert [event["steps"] for event in run.evaluations] == [0, 12, 20, 32, 40]
    assert all(len(event["returns"]) == 2 for event in run.evaluations)
    for event in run.evaluations:
        assert event["mean"] == pytest.approx(np.mean(event["returns"]))


def make_setting(task: str = "toys:ToyWalk-v0") -> Setting:
    spec = make_task_spec(task)
    built = spec.build()
    head = ActionHead.for_task("auto", built.actions)
    return Setting(spec, MlpArchitecture(built.state_shape, head, hidden=(4,)), seed=3)


def make_request(setting: Setting, indices: range, noise: float = 0.1) -> Request:
    theta = np.linspace(-1, 1, setting.architecture.num_params, dtype=np.float32)
    normalizer = Normalizer(np.array([0.5, 0.0, -0.5]), np.array([1.0, 2.0, 0.5]))
    return Request(theta, normalizer, noise, Stream.TRAINING, indices)


def describe(episodes) -> list[tuple]:
    return [
        (e.return_, e.training_return, e.steps, e.moments.count, *e.moments.mean.tolist())
        for e in episodes
    ]


def test_the_serial_collector_and_the_pool_are_interchangeable() -> None:
    setting = make_setting()
    serial, pool = SerialCollector(setting), PoolCollector(setting, workers=2, capacity=20)
    try:
        requests = [make_request(setting, range(first, first + 5)) for first in (0, 100)]
        expected = [describe(serial.start(request).result()) for request in requests]
        pending = [pool.start(request) for request in requests]
        found = [describe(one.result()) for one in reversed(pending)]
        assert found[::-1] == expected
        assert len({line[0] for line in expected[0]}) == 5  # five different perturbations
    finally:
        serial.close()
        pool.close()


def test_an_episode_depends_on_its_index_and_not_on_its_company() -> None:
    setting = make_setting()
    collector = SerialCollector(setting)
    together = describe(collector.start(make_request(setting, range(6))).result())
    alone = describe(collector.start(make_request(setting, range(4, 5))).result())
    assert together[4:5] == alone
    collector.close()


def test_more_episodes_than_the_pool_has_room_for_are_run_in_turns() -> None:
    setting = make_setting()
    pool, serial = PoolCollector(setting, workers=2, capacity=3), SerialCollector(setting)
    request = make_request(setting, range(5, 13))
    try:
        pending = pool.start(request)
        with pytest.raises(RuntimeError, match="all taken"):
            pool.start(request)
        assert describe(pending.result()) == describe(serial.start(request).result())
    finally:
        pool.close()


def test_closing_the_pool_ends_its_workers() -> None:
    pool = PoolCollector(make_setting(), workers=2, capacity=3)
    processes = [worker.process for worker in pool.workers]
    pool.close()
    assert all(process.poll() is not None for process in processes)


def test_killed_workers_are_replaced_and_nothing_is_lost(hold: Hold, monkeypatch) -> None:
    for name, value in hold.environment.items():
        monkeypatch.setenv(name, value)
    setting = make_setting("toys:ToySlowWalk-v0")
    expected_of = SerialCollector(setting)
    pool = PoolCollector(setting, workers=2, capacity=20)
    try:
        for first in (0, 8, 16):
            request = make_request(setting, range(first, first + 8))
            hold.hold()
            pending = pool.start(request)
            wait_until(lambda: bool((pool.board.state == CLAIMED).any()))
            for worker in pool.workers:
                os.kill(worker.process.pid, signal.SIGKILL)
            hold.release()
            assert describe(pending.result()) == describe(expected_of.start(request).result())
    finally:
        pool.close()


def test_all_of_many_workers_may_die_at_once() -> None:
    """More than may die one by one: the machine ran out of memory, say."""
    setting = make_setting("toys:ToySlowWalk-v0")
    pool = PoolCollector(setting, workers=5, capacity=20)
    try:
        pending = pool.start(make_request(setting, range(3)))
        for worker in pool.workers:
            os.kill(worker.process.pid, signal.SIGKILL)
        assert len(pending.result()) == 3
    finally:
        pool.close()


def test_a_worker_that_dies_in_training_leaves_the_result_unchanged(
    tmp_path: Path, monkeypatch, caplog
) -> None:
    monkeypatch.setenv("LITMUS_TOY_DIE_ONCE", str(tmp_path / "died"))
    train_tiny(tmp_path / "killed", task="toys:ToyDyingWalk-v0", workers=2)
    assert (tmp_path / "died").exists()
    assert "died" in caplog.text
    train_tiny(tmp_path / "whole", task="toys:ToyDyingWalk-v0", workers=0)
    assert_same_result(tmp_path / "whole", tmp_path / "killed")


def test_a_task_that_kills_every_worker_ends_the_run(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.delenv("LITMUS_TOY_DIE_ONCE", raising=False)
    with pytest.raises(RunFailed, match="workers died"):
        train_tiny(tmp_path / "run", task="toys:ToyDyingWalk-v0", workers=1)


@pytest.mark.parametrize("workers", [0, 2])
def test_an_environment_that_raises_ends_the_run_with_its_own_words(
    workers: int, tmp_path: Path
) -> None:
    with pytest.raises(RunFailed, match="RuntimeError: the arm fell off"):
        train_tiny(tmp_path / "run", task="toys:ToyRaisingWalk-v0", workers=workers)


def test_a_class_that_only_this_process_knows_is_run_here(caplog) -> None:
    import gymnasium
    from toys import Walk

    class Local(Walk):
        pass

    gymnasium.register("ToyLocalWalk-v0", Local)
    try:
        collector = make_collector(make_setting("ToyLocalWalk-v0"), workers=2, capacity=4)
        assert isinstance(collector, SerialCollector)
        assert "Local" in caplog.text
        collector.close()
    finally:
        del gymnasium.registry["ToyLocalWalk-v0"]


def test_an_environment_registered_by_the_calling_script_reaches_the_workers() -> None:
    """Named without its module: the registration itself travels."""
    import toys  # noqa: F401 - registers

    setting = make_setting("ToyWalk-v0")
    collector = make_collector(setting, workers=1, capacity=4)
    assert isinstance(collector, PoolCollector)
    try:
        assert len(collector.start(make_request(setting, range(3))).result()) == 3
    finally:
        collector.close()


def test_workers_end_when_their_trainer_is_killed(litmus_process, tmp_path: Path) -> None:
    options = tiny("pssvf", task="toys:ToySlowWalk-v0", workers=2)
    process = litmus_process("train", "pssvf", "--out", "run", *to_arguments(options))
    wait_until((tmp_path / "run" / "history" / "rounds.jsonl").exists, process)
    children = list_children(process)
    assert len(children) == 2
    process.kill()
    process.wait(DEADLINE)
    wait_until(lambda: not any(map(is_alive, children)))
