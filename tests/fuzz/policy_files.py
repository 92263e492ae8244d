"""Damaged and hostile policy files, evaluators and zoos: refused in one line, or read; nothing in
them runs."""

from __future__ import annotations

import io
import json
import os
import pickle
import random
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save_file

from fuzz.cases import HARMLESS, NAMED, WRONG, Outcome
from litmus.errors import BadInput
from litmus.evaluators.base import load_evaluator
from litmus.evaluators.kernel import KernelEvaluator
from litmus.policies.foreign import Reading, read_policy, read_statistics
from litmus.policies.foreign_layers import Spaces, choose_architecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.runs.measured import TaskChoice
from litmus.runs.zoo import Zoo
from litmus.tasks.base import ContinuousActions

SPACES = Spaces((3,), ContinuousActions((-1.0, -1.0), (1.0, 2.0)))
HACKED = "hacked"


class Evil:
    """A pickle that would leave a file behind."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder / HACKED),)


def make_files(folder: Path) -> None:
    """One whole file of each kind."""
    torch.manual_seed(0)
    layers = torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)
    state = torch.nn.Sequential(*layers).state_dict()
    torch.save(state, folder / "plain.pt")
    torch.save({"state_dict": state, "epoch": 3}, folder / "wrapped.pt")
    torch.save(state, folder / "legacy.pt", _use_new_zipfile_serialization=False)
    save_file(state, folder / "plain.safetensors")
    actor = {
        "mlp_extractor.policy_net.0.weight": state["0.weight"],
        "mlp_extractor.policy_net.0.bias": state["0.bias"],
        "action_net.weight": state["2.weight"],
        "action_net.bias": state["2.bias"],
        "value_net.weight": torch.zeros(1, 4),
        "log_std": torch.zeros(2),
    }
    kept = io.BytesIO()
    torch.save(actor, kept)
    described = {"policy_kwargs": {"activation_fn": "<class 'torch.nn.modules.activation.ELU'>"}}
    with zipfile.ZipFile(folder / "agent.zip", "w") as archive:
        archive.writestr("data", json.dumps(described))
        archive.writestr("policy.pth", kept.getvalue())
    architecture = choose_architecture(SPACES, (4,), "tanh", "clip")
    policy = Policy(architecture, torch.zeros(architecture.num_params), Normalizer.identity((3,)))
    policy.save(folder / "own.safetensors")
    made = KernelEvaluator((3,), 2, [[0.0, 0.0], [1.0, 1.0]], 3, card={"task": {"task": "x"}})
    made.save(folder / "judge.safetensors")
    zoo = Zoo.open(folder / "zoo", TaskChoice("CartPole-v1"))
    zoo.add(policy, (1.0,), (1.0,), 0, "a", "b", "c", {})
    statistics = {"mean": [0.0, 1.0, 2.0], "var": [1.0, 1.0, 1.0], "clip": 5.0}
    (folder / "statistics.json").write_text(json.dumps(statistics))
    np.savez(folder / "statistics.npz", **{name: np.array(one) for name, one in statistics.items()})


def look_at(path: Path) -> object:
    """What is read depends on the file."""
    name = path.name
    if path.is_dir() and name == "zoo":
        return len(Zoo(path).read().policies)
    if name.startswith("judge"):
        return load_evaluator(path)
    if name.startswith("statistics"):
        return read_statistics(path)
    policy = read_policy(path, SPACES, Reading("tanh", "tanh")).policy
    return policy(torch.zeros(2, 3)).shape


def flip_bits(data: bytes, chance: random.Random) -> bytes:
    broken = bytearray(data)
    for _ in range(chance.choice((1, 1, 4, 64))):
        if broken:
            broken[chance.randrange(len(broken))] ^= 1 << chance.randrange(8)
    return bytes(broken)


def overwrite(data: bytes, chance: random.Random) -> bytes:
    start = chance.randrange(len(data) + 1)
    piece = chance.choice(
        [b"\xff" * 8, b"\0" * 16, b"9" * 12, chance.randbytes(32), b"NaN", b"PK\3\4"]
    )
    return data[:start] + piece + data[start + len(piece) :]


MUTATIONS: list[Callable[[bytes, random.Random], bytes]] = [
    flip_bits,
    flip_bits,
    overwrite,
    lambda data, chance: data[: chance.randrange(len(data) + 1)],
    lambda data, chance: data + chance.randbytes(chance.randrange(1, 200)),
    lambda data, chance: data[chance.randrange(len(data) + 1) :] + data,
    lambda data, chance: chance.randbytes(chance.randrange(300)),
    lambda data, chance: data.replace(b"float", b"int64", 1),
    lambda data, chance: data.replace(b"[", b"[" * 5000, 1),
]


@dataclass(frozen=True)
class PolicyFiles:
    seed: int
    whole: Path
    folder: Path

    def __call__(self, number: int) -> Outcome:
        chance = random.Random(f"{self.seed} policies {number}")
        place = Path(shutil.copytree(self.whole, self.folder / f"case-{number}"))
        try:
            path, what = self._damage(place, chance)
            outcome, why = self._look(path)
            if (self.folder / HACKED).exists():
                outcome, why = WRONG, "code in it was run"
            return Outcome(number, outcome, what, why)
        finally:
            shutil.rmtree(place, ignore_errors=True)

    def _damage(self, place: Path, chance: random.Random) -> tuple[Path, str]:
        if chance.random() < 0.15:
            return self._plant(place, chance)
        files = sorted(one for one in place.rglob("*") if one.is_file() and one.name != ".lock")
        file = chance.choice(files)
        mutation = chance.randrange(len(MUTATIONS))
        file.write_bytes(MUTATIONS[mutation](file.read_bytes(), chance))
        if file.parent.name == "zoo":
            looked = file.parent
        elif file.name == "statistics.json":
            looked = file
        else:
            looked = file.with_suffix(".safetensors") if file.suffix == ".json" else file
        return looked, f"{file.name} after mutation {mutation}"

    def _plant(self, place: Path, chance: random.Random) -> tuple[Path, str]:
        """A pickle with code in it, in every place where there might be one."""
        evil, kept = Evil(self.folder), io.BytesIO()
        torch.save({"0.weight": evil}, kept)
        kind = chance.randrange(4)
        path = place / ("evil.zip" if kind == 2 else "statistics.npz" if kind == 3 else "evil.pt")
        if kind == 0:
            path.write_bytes(pickle.dumps(evil, protocol=chance.randrange(5)))
        elif kind == 1:
            path.write_bytes(kept.getvalue())
        elif kind == 2:
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("data", json.dumps({"policy_class": {":serialized:": "gASV"}}))
                archive.writestr("policy.pth", kept.getvalue())
        else:
            np.savez(path, mean=np.array([evil], dtype=object))
        return path, f"{path.name} with code in it"

    def _look(self, path: Path) -> tuple[str, str]:
        try:
            look_at(path)
        except BadInput as error:
            return (NAMED, "") if "\n" not in str(error) else (WRONG, f"lines: {error}")
        return HARMLESS, ""
