"""Stable-Baselines3's .zip files: PPO, A2C, DDPG, TD3, SAC, and ARS of sb3-contrib.

Only two files in the archive are read: `policy.pth`, through torch's reader for tensors alone, and
`data`, as JSON; the pickles that `data` carries as text are left alone. The policy is what
`predict(…, deterministic=True)` does, for choices the probability of each.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from litmus.errors import BadInput
from litmus.policies.foreign_layers import (
    Layer,
    ObservationStatistics,
    Spaces,
    build_policy,
    find_layers,
)
from litmus.policies.foreign_tensors import read_entry, read_torch
from litmus.policies.policy import Policy
from litmus.tasks.base import DiscreteActions

TENSORS, DESCRIPTION = "policy.pth", "data"
LIBRARIES = ("stable_baselines3", "sb3_contrib")
"""Whose classes of policies do what is known of them."""
SUPPORTED = "PPO, A2C, DDPG, TD3, SAC and ARS"

ACTIVATIONS = {
    "Tanh": "tanh",
    "ReLU": "relu",
    "ELU": "elu",
    "LeakyReLU": "leaky-relu",
    "SiLU": "silu",
}


@dataclass(frozen=True)
class Actor:
    """Where an algorithm keeps the network that acts, and what it does by default."""

    algorithm: str
    prefixes: tuple[str, ...]
    """Of its layers, from the first to the last."""
    activation: str
    is_squashed: bool


ON_POLICY = Actor("ppo-or-a2c", ("mlp_extractor.policy_net.", "action_net."), "tanh", False)
SAC = Actor("sac", ("actor.latent_pi.", "actor.mu."), "relu", True)
TD3 = Actor("td3-or-ddpg", ("actor.mu.",), "relu", True)
ARS = Actor("ars", ("action_net.",), "relu", True)


def is_sb3(archive: zipfile.ZipFile) -> bool:
    return {TENSORS, DESCRIPTION} <= set(archive.namelist())


def read_sb3(
    path: Path,
    archive: zipfile.ZipFile,
    spaces: Spaces,
    statistics: ObservationStatistics | None = None,
) -> tuple[Policy, str]:
    """The policy, and its algorithm as far as the file tells."""
    tensors = read_torch(path, read_entry(path, archive, TENSORS))
    described = _read_description(path, read_entry(path, archive, DESCRIPTION))
    actor = _find_actor(path, tensors)
    _refuse_others(path, tensors, described)
    keywords = _read_object(described.get("policy_kwargs"))
    layers: list[Layer] = []
    for prefix in actor.prefixes:
        if prefix.startswith("mlp_extractor") and not any(n.startswith(prefix) for n in tensors):
            continue  # net_arch=[]: a linear policy
        layers += find_layers(str(path), tensors, prefix)
    is_linear_ars = actor is ARS and _is_linear_ars(described, layers)
    is_squashed = keywords.get("squash_output", actor.is_squashed and not is_linear_ars)
    output = "tanh" if is_squashed else "clip"
    if isinstance(spaces.actions, DiscreteActions):
        output = "argmax" if actor is ARS else "softmax"
    activation = _read_activation(path, keywords, actor.activation)
    policy = build_policy(str(path), layers, spaces, activation, output, statistics)
    return policy, actor.algorithm


def _find_actor(path: Path, tensors: Mapping[str, Tensor]) -> Actor:
    names = set(tensors)
    if any(name.startswith("actor.latent_pi.") for name in names):
        return SAC
    if "actor.mu.weight" in names and "actor.log_std.weight" in names:
        return Actor("sac", ("actor.mu.",), "relu", True)  # net_arch=[]
    if any(name.startswith("actor.mu.") for name in names):
        return TD3
    if "action_net.weight" in names and "value_net.weight" in names:
        return ON_POLICY
    if any(re.match(r"action_net\.\d+\.weight$", name) for name in names):
        return ARS
    raise BadInput(f"{path} is not an agent of {SUPPORTED} with an MlpPolicy")


def _refuse_others(path: Path, tensors: Mapping[str, Tensor], described: dict[str, Any]) -> None:
    """Parts that a perceptron does not have."""
    odd = [
        name
        for name in tensors
        if "features_extractor" in name
        or "shared_net" in name
        or "lstm" in name
        or "running_" in name
    ]
    if odd:
        raise BadInput(f"{path} is not a plain perceptron: it holds '{odd[0]}'")
    if any(name.startswith("actor.mu.0") for name in tensors) and "actor.log_std" in tensors:
        raise BadInput(f"{path} is a SAC agent with state-dependent exploration: it is not read")
    extractor = _read_object(described.get("policy_kwargs")).get("features_extractor_class")
    made_by = str(_read_object(described.get("policy_class")).get("__module__", LIBRARIES[0]))
    if extractor is not None and "FlattenExtractor" not in str(extractor):
        raise BadInput(f"{path} has a features extractor of its own: it is not read")
    if made_by.partition(".")[0] not in LIBRARIES:
        raise BadInput(f"{path} has a policy class of its own, from {made_by[:40]}: it is not read")
    space = _read_object(described.get("action_space"))
    kind = str(space.get(":type:", ""))
    if "MultiDiscrete" in kind or "MultiBinary" in kind:
        raise BadInput(f"{path} takes several choices at once: its policy is not read")


def _is_linear_ars(described: dict[str, Any], layers: list[Layer]) -> bool:
    words = str(_read_object(described.get("policy_class")).get("__doc__", "")).split()
    return words[:1] == ["Linear"] if words else len(layers) == 1


def _read_activation(path: Path, keywords: dict[str, Any], default: str) -> str:
    text = keywords.get("activation_fn")
    if text is None:
        return default
    name = re.sub(r"[^A-Za-z0-9_.]", "", str(text).removeprefix("<class ")).rpartition(".")[2]
    if name not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise BadInput(f"{path} has the activation '{name[:40]}'; {known} can be read")
    return ACTIVATIONS[name]


def _read_description(path: Path, data: bytes) -> dict[str, Any]:
    try:
        found = json.loads(data)  # it may hold NaN, which JSON does not
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise BadInput(f"{path}: '{DESCRIPTION}' in it is not a JSON object")
    return found


def _read_object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
