"""Policies of other libraries: they act as before, and hostile files are refused in one line."""

from __future__ import annotations

import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

import litmus
from litmus.errors import BadInput
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import make_architecture
from litmus.policies.consistency import check_architecture
from litmus.policies.foreign import Reading, read_policy, read_statistics
from litmus.policies.foreign_layers import Spaces
from litmus.policies.foreign_mlp import ACTIVATIONS
from litmus.policies.grouped import GroupedPopulation
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.population import MixedPopulation
from litmus.tasks.base import ContinuousActions, DiscreteActions

BOX = ContinuousActions((-2.0, -1.0), (2.0, 0.5))
SPACES = Spaces((3,), BOX)
TANH = Reading("tanh", "tanh")


def make_actor(activation: type[torch.nn.Module] = torch.nn.Tanh) -> torch.nn.Sequential:
    return torch.nn.Sequential(
        torch.nn.Linear(3, 5),
        activation(),
        torch.nn.Linear(5, 4),
        activation(),
        torch.nn.Linear(4, 2),
    )


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("output", ["clip", "tanh", "softmax", "argmax"])
def test_every_form_of_a_foreign_perceptron_does_the_same(activation: str, output: str) -> None:
    is_discrete = output in ("softmax", "argmax")
    head = ActionHead.for_task("auto", DiscreteActions(3) if is_discrete else BOX)
    options = {"hidden": (4, 5), "activation": activation, "output": output}
    made = make_architecture("foreign-mlp", (3,), head, **options, observation_clip=0.7)
    check_architecture(made)


@pytest.mark.parametrize(
    ("module", "name"),
    [
        (torch.nn.Tanh, "tanh"),
        (torch.nn.ReLU, "relu"),
        (torch.nn.SiLU, "silu"),
        (torch.nn.ELU, "elu"),
    ],
)
@pytest.mark.parametrize("suffix", [".pt", ".safetensors"])
def test_a_state_dict_acts_as_its_network(
    module: type[torch.nn.Module], name: str, suffix: str, tmp_path: Path
) -> None:
    actor, path = make_actor(module), tmp_path / f"actor{suffix}"
    if suffix == ".pt":
        torch.save({"state_dict": actor.state_dict(), "step": 3}, path)
    else:
        save_file(actor.state_dict(), path)
    states = 3 * torch.randn(50, 3)
    low, high = torch.tensor(BOX.low), torch.tensor(BOX.high)
    for output in ("clip", "tanh"):
        policy = read_policy(path, SPACES, Reading(name, output)).policy
        raw = actor(states)
        expected = raw.clamp(low, high)
        if output == "tanh":
            expected = (low + high) / 2 + (high - low) / 2 * torch.tanh(raw)
        torch.testing.assert_close(policy(states), expected.float(), atol=1e-6, rtol=0)


class Named(torch.nn.Module):
    """Layers whose names do not say which is first."""

    def __init__(self) -> None:
        super().__init__()
        self.base, self.mid = torch.nn.Linear(3, 4), torch.nn.Linear(4, 4)
        self.inner, self.out = torch.nn.Linear(4, 4), torch.nn.Linear(4, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = torch.tanh(self.mid(torch.tanh(self.base(x))))
        found: torch.Tensor = self.out(torch.tanh(self.inner(hidden)))
        return found


def test_layers_come_in_the_order_that_they_were_made_in(tmp_path: Path) -> None:
    network, states = Named(), torch.randn(20, 3)
    torch.save(network.state_dict(), tmp_path / "named.pt")
    save_file(network.state_dict(), tmp_path / "named.safetensors")
    policy = read_policy(tmp_path / "named.pt", SPACES, TANH).policy
    low, high = torch.tensor(BOX.low), torch.tensor(BOX.high)
    expected = (low + high) / 2 + (high - low) / 2 * torch.tanh(network(states))
    torch.testing.assert_close(policy(states), expected.float(), atol=1e-6, rtol=0)
    with pytest.raises(BadInput, match="number the layers"):
        read_policy(tmp_path / "named.safetensors", SPACES, TANH)


@pytest.mark.parametrize(
    "odd",
    [
        torch.nn.LayerNorm(5),
        torch.nn.BatchNorm1d(5),
        torch.nn.PReLU(),
        torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(5, 5)),
        torch.nn.Conv1d(5, 5, 1),
    ],
)
def test_what_is_no_plain_perceptron_is_refused(odd: torch.nn.Module, tmp_path: Path) -> None:
    actor = make_actor()
    torch.save(torch.nn.Sequential(actor[0], odd, *actor[1:]).state_dict(), tmp_path / "odd.pt")
    with pytest.raises(BadInput, match="not a plain perceptron"):
        read_policy(tmp_path / "odd.pt", SPACES, TANH)


def test_what_else_a_policy_keeps_is_no_layer(tmp_path: Path) -> None:
    actor = make_actor()
    beside = {"log_std": torch.zeros(2), "action_scale": torch.ones(2)}
    torch.save({**actor.state_dict(), **beside}, tmp_path / "actor.pt")
    read_policy(tmp_path / "actor.pt", SPACES, TANH)
    torch.save({f"W{n}": one for n, one in enumerate(actor.parameters())}, tmp_path / "raw.pt")
    with pytest.raises(BadInput, match="ends in 'weight'"):
        read_policy(tmp_path / "raw.pt", SPACES, TANH)


def test_a_normaliser_file_is_applied_and_clips(tmp_path: Path) -> None:
    actor = make_actor()
    torch.save(actor.state_dict(), tmp_path / "actor.pt")
    statistics = {"mean": [1.0, 2.0, 3.0], "var": [4.0, 1.0, 0.25], "epsilon": 0.0, "clip": 1.5}
    (tmp_path / "n.json").write_text(json.dumps(statistics))
    np.savez(tmp_path / "n.npz", **{name: np.array(value) for name, value in statistics.items()})
    states = 3 * torch.randn(50, 3)
    mean, std = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([2.0, 1.0, 0.5])
    expected = actor(((states - mean) / std).clamp(-1.5, 1.5))
    for name in ("n.json", "n.npz"):
        reading = Reading("tanh", "clip", "", str(tmp_path / name))
        policy = read_policy(tmp_path / "actor.pt", SPACES, reading).policy
        clipped = expected.clamp(torch.tensor(BOX.low), torch.tensor(BOX.high)).float()
        torch.testing.assert_close(policy(states), clipped, atol=1e-6, rtol=0)


def test_policies_of_mixed_kinds_are_asked_together_as_one_by_one() -> None:
    """With normalisers of their own, folded into the first layer where that can be."""
    generator = np.random.default_rng(0)
    head, policies = ActionHead.for_task("auto", BOX), []
    for number in range(7):
        name = ("mlp", "foreign-mlp")[number % 2]
        options: dict[str, Any] = {"hidden": (4,) if number % 3 else ()}
        if name == "foreign-mlp" and number > 3:
            options["observation_clip"] = 0.5
        made = make_architecture(name, (3,), head, **options)
        normalizer = Normalizer(generator.normal(size=3), generator.uniform(0.5, 2, size=3))
        policies.append(Policy(made, torch.randn(made.num_params), normalizer))
    mixed = [*policies, torch.nn.Linear(3, 2)]
    states = torch.randn(6, 3, dtype=torch.float64)
    with torch.no_grad():
        together = GroupedPopulation(mixed).actions(states)
        alone = MixedPopulation(mixed).actions(states)
    torch.testing.assert_close(together, alone, atol=2e-6, rtol=0)


class Evil:
    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, ("touch hacked",)


def write_zip(path: Path, **entries: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in entries.items():
            archive.writestr(name.replace("__", "."), data)
    return path


def to_torch(thing: Any) -> bytes:
    kept = io.BytesIO()
    torch.save(thing, kept)
    return kept.getvalue()


def make_hostile(folder: Path) -> dict[str, Path]:
    state = make_actor().state_dict()
    spoiled = {**state, "0.weight": torch.full((5, 3), float("nan"))}
    stretched = {**state, "0.weight": torch.zeros(1).expand(2**20, 2**20)}
    files = {
        "evil.pt": to_torch({"a": Evil()}),
        "evil.pkl": pickle.dumps(Evil()),
        "list.pt": to_torch([1, 2]),
        "empty.pt": b"",
        "text.pt": b"hello",
        "nan.pt": to_torch(spoiled),
        "stretched.pt": to_torch(stretched),
        "shapes.pt": to_torch({**state, "2.weight": torch.zeros(4, 9)}),
        "bias.pt": to_torch({**state, "2.bias": torch.zeros(9)}),
        "short.safetensors": b"\x08\x00\x00\x00\x00\x00\x00\x00{}",
    }
    found = {name: folder / name for name in files}
    for name, data in files.items():
        found[name].write_bytes(data)
    found["evil.zip"] = write_zip(folder / "evil.zip", policy__pth=files["evil.pt"], data=b"{}")
    found["bomb.zip"] = write_zip(folder / "bomb.zip", policy__pth=b"\0" * 2**28, data=b"{}")
    found["deep.zip"] = write_zip(
        folder / "deep.zip", policy__pth=to_torch(state), data=b"[" * 100_000
    )
    inner = write_zip(folder / "inner.zip", a=b"\0" * 2**20)
    found["packed.pt"] = folder / "packed.pt"
    found["packed.pt"].write_bytes(inner.read_bytes())
    found["dots.zip"] = folder / "dots.zip"
    with zipfile.ZipFile(found["dots.zip"], "w") as archive:
        for name in ("../policy.pth", "policy.pth", "data"):
            archive.writestr(name, to_torch(state) if name == "policy.pth" else b"{}")
    found["fifo.pt"] = folder / "fifo.pt"
    os.mkfifo(found["fifo.pt"])
    found["folder.pt"] = folder / "folder.pt"
    found["folder.pt"].mkdir()
    found["nowhere.pt"] = folder / "nowhere.pt"
    return found


def test_hostile_files_are_refused_in_one_line_and_nothing_in_them_runs(tmp_path: Path) -> None:
    for name, path in make_hostile(tmp_path).items():
        with pytest.raises(BadInput) as refused:
            read_policy(path, SPACES, TANH)
        assert "\n" not in str(refused.value), name
    assert not Path("hacked").exists()


@pytest.mark.parametrize(
    ("reading", "words"),
    [
        (Reading(None, "tanh"), "activation"),
        (Reading("tanh", None), "output"),
        (Reading("tanhh", "clip"), "did you mean 'tanh'"),
        (Reading("tanh", "softmax"), "output"),
        (Reading("tanh", "clip", "critic."), "no matrix"),
        (Reading("tanh", "clip", "", "nowhere.json"), "no file"),
    ],
)
def test_what_a_file_does_not_say_must_be_said(
    reading: Reading, words: str, tmp_path: Path
) -> None:
    torch.save(make_actor().state_dict(), tmp_path / "actor.pt")
    with pytest.raises(BadInput, match=words):
        read_policy(tmp_path / "actor.pt", SPACES, reading)


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"mean": [1]},
        {"mean": [1], "std": [0]},
        {"mean": [1], "std": [1, 2]},
        {"mean": "x", "var": 1},
    ],
)
def test_a_normaliser_that_is_none_is_refused(values: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "n.json").write_text(json.dumps(values))
    with pytest.raises(BadInput):
        read_statistics(tmp_path / "n.json")


def test_an_npz_with_a_pickle_in_it_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "n.npz", mean=np.array([Evil()], dtype=object))
    with pytest.raises(BadInput):
        read_statistics(tmp_path / "n.npz")
    assert not Path("hacked").exists()


SB3 = {
    "PPO": ("Pendulum-v1", {"n_steps": 32, "batch_size": 32}),
    "A2C": ("Pendulum-v1", {}),
    "DDPG": ("Pendulum-v1", {"learning_starts": 50, "policy_kwargs": {"net_arch": [16, 16]}}),
    "TD3": ("Pendulum-v1", {"learning_starts": 50, "policy_kwargs": {"net_arch": [16]}}),
    "SAC": ("Pendulum-v1", {"learning_starts": 50, "policy_kwargs": {"net_arch": [32, 32]}}),
    "ARS": ("Pendulum-v1", {"n_delta": 1}),
    "PPO ": ("CartPole-v1", {"n_steps": 32, "batch_size": 32}),
    "ARS ": ("CartPole-v1", {"n_delta": 1, "policy": "MlpPolicy"}),
    "PPO  ": (
        "Pendulum-v1",
        {
            "n_steps": 32,
            "batch_size": 32,
            "use_sde": True,
            "policy_kwargs": {"activation_fn": torch.nn.ELU, "net_arch": [7]},
        },
    ),
    "ARS  ": ("Pendulum-v1", {"n_delta": 1, "policy": "MlpPolicy"}),
}


@pytest.mark.parametrize("case", SB3)
def test_an_agent_of_stable_baselines_acts_as_before(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("stable_baselines3")
    monkeypatch.setenv("SB3_LOGDIR", str(tmp_path))
    import sb3_contrib
    import stable_baselines3

    name, (task, options) = case.strip(), SB3[case]
    kind = getattr(stable_baselines3, name, None) or sb3_contrib.ARS
    own = dict(options)
    policy = own.pop("policy", "LinearPolicy" if name == "ARS" else "MlpPolicy")
    agent = kind(policy, task, seed=0, device="cpu", **own).learn(60)
    agent.save(tmp_path / "agent.zip")
    loaded = litmus.load_policy(tmp_path / "agent.zip", task=task)
    states = 2 * np.random.default_rng(0).normal(size=(100, *loaded.state_shape)).astype(np.float32)
    expected, _ = agent.predict(states, deterministic=True)
    found = loaded(torch.from_numpy(states)).detach().numpy()
    if expected.ndim == 1:
        np.testing.assert_array_equal(found.argmax(1), expected)
    else:
        np.testing.assert_allclose(found, expected, atol=1e-6)
