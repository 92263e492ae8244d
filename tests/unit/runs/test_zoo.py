"""A zoo: whole or nothing, several writers at once, damage is named, every run is one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from harness import Killed, flip, raise_, start_python

import litmus
from litmus.errors import BadInput
from litmus.policies.actions import ActionHead
from litmus.policies.mlp import MlpArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.runs.measured import TaskChoice
from litmus.runs.zoo import Zoo, digest_policy, read_measured
from litmus.tasks.base import ContinuousActions

HEAD = ActionHead.for_task("auto", ContinuousActions((-1.0,), (1.0,)))


def make_policy(seed: int = 0) -> Policy:
    architecture = MlpArchitecture((2,), HEAD, (3,))
    params = torch.randn(architecture.num_params, generator=torch.Generator().manual_seed(seed))
    return Policy(architecture, params, Normalizer(np.array([1.0, 2.0]), np.array([3.0, 4.0])))


def add(zoo: Zoo, seed: int = 0, value: float = 1.5) -> None:
    zoo.add(make_policy(seed), (value, 2.0), (1.0, 2.0), 3, f"line {seed}", "pssvf", "here", {})


def test_what_is_stored_is_what_is_read(tmp_path: Path) -> None:
    zoo = Zoo.open(tmp_path / "zoo", TaskChoice("CartPole-v1", {"a": 1}))
    add(zoo)
    again = Zoo(tmp_path / "zoo").read()
    assert again.task == TaskChoice("CartPole-v1", {"a": 1})
    (found,) = again.policies
    assert (found.returns, found.training_returns) == ((1.5, 2.0), (1.0, 2.0))
    assert (found.lineage, found.algorithm) == ("line 0", "pssvf")
    np.testing.assert_array_equal(found.build(), make_policy().flat_params.numpy())
    np.testing.assert_array_equal(found.normalizer.std, [3.0, 4.0])
    assert zoo.records()[0].content == digest_policy(make_policy()) != digest_policy(make_policy(1))


@pytest.mark.parametrize("step", range(3))
def test_a_killed_add_loses_at_most_the_policy_under_way(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before each of the files that a policy is made of."""
    zoo = Zoo.open(tmp_path / "zoo", TaskChoice("CartPole-v1"))
    add(zoo, 0)
    from litmus import files

    write, done = files.write_bytes, []

    def dying(path: Path, data: bytes) -> None:
        done.append(path)
        write(path, data) if len(done) <= step else raise_(Killed())

    with monkeypatch.context() as patch:
        patch.setattr(files, "write_bytes", dying)
        with pytest.raises(Killed):
            add(zoo, 1)
    assert len(Zoo(tmp_path / "zoo").read().policies) == 1
    add(zoo, 1)
    assert len(Zoo(tmp_path / "zoo").read().policies) == 2


def test_several_processes_add_at_once(tmp_path: Path) -> None:
    Zoo.open(tmp_path / "zoo", TaskChoice("CartPole-v1"))
    code = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from test_zoo import *\n"
        "zoo = Zoo(sys.argv[2])\n"
        "for seed in range(8): add(zoo, 100 * int(sys.argv[3]) + seed)\n"
    )
    here, zoo = Path(__file__).parent, tmp_path / "zoo"
    started = [start_python("-c", code, here, zoo, number) for number in range(2)]
    for process in started:
        _, err = process.communicate()
        assert process.returncode == 0, err
    records = Zoo(zoo).records()
    assert [one.number for one in records] == list(range(16))
    assert len({one.content for one in records}) == 16


@pytest.mark.parametrize(
    "name", ["000000.safetensors", "000000.json", "000000.record.json", "zoo.json"]
)
def test_damage_is_named(name: str, tmp_path: Path) -> None:
    add(Zoo.open(tmp_path / "zoo", TaskChoice("CartPole-v1")))
    path = tmp_path / "zoo" / name
    whole = path.read_bytes()
    for position in range(0, len(whole), max(1, len(whole) // 40)):
        path.write_bytes(flip(whole, position))
        with pytest.raises(BadInput, match=name.partition(".")[0]):
            Zoo(tmp_path / "zoo").read()
    path.unlink()
    if name != "000000.record.json":
        with pytest.raises(BadInput):
            Zoo(tmp_path / "zoo").read()


def test_a_policy_in_the_place_of_another_is_noticed(tmp_path: Path) -> None:
    zoo = Zoo.open(tmp_path / "zoo", TaskChoice("CartPole-v1"))
    add(zoo, 0)
    make_policy(1).save(zoo.path / "000000.safetensors")
    with pytest.raises(BadInput, match="not the policy that was measured"):
        zoo.read()


def test_a_number_that_is_none_is_not_stored(tmp_path: Path) -> None:
    zoo = Zoo.open(tmp_path / "zoo", TaskChoice("CartPole-v1"))
    with pytest.raises(BadInput, match="finite"):
        add(zoo, 0, float("nan"))
    assert zoo.records() == []


def test_what_is_no_zoo_is_not_made_one(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "file").touch()
    with pytest.raises(BadInput, match="is no zoo"):
        Zoo.open(tmp_path / "other", TaskChoice("CartPole-v1"))
    with pytest.raises(BadInput, match="task"):
        Zoo.open(tmp_path / "none")
    Zoo.open(tmp_path / "zoo", TaskChoice("CartPole-v1"))
    with pytest.raises(BadInput, match="CartPole"):
        Zoo.open(tmp_path / "zoo", TaskChoice("Pendulum-v1"))


def test_every_run_is_a_zoo(cartpole_run: Path) -> None:
    """Its history: the very policies that it measured, with the normaliser of their round."""
    found = read_measured(cartpole_run)
    run = litmus.Run(cartpole_run)
    assert found.task.task == "CartPole-v1"
    assert {one.lineage for one in found.policies} == {str(cartpole_run)}
    assert {one.algorithm for one in found.policies} == {"pssvf"}
    rounds = [one for one in run.metrics if one["event"] == "round"]
    assert len(found.policies) == rounds[-1]["episodes_done"]
    last = found.policies[-1]
    policy = Policy(last.architecture, torch.from_numpy(last.build()), last.normalizer)
    assert policy.state_shape == (4,)
