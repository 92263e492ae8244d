"""Tiny runs, trained once a session: small networks, a few episodes."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import litmus

TINY: dict[str, Any] = {
    "hidden": (8,),
    "evaluator_hidden": (8,),
    "round_size": 2,
    "evaluate_episodes": 2,
    "workers": 0,
    "quiet": True,
}


def train_tiny(out: Path, task: str, algorithm: str = "pssvf", **options: Any) -> Path:
    if algorithm == "pssvf":
        options.setdefault("probing_states", 8)
    litmus.train(algorithm, task=task, out=out, **{**TINY, **options})
    return out


@pytest.fixture(scope="session")
def hopper_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "hopper"
    return train_tiny(out, "Hopper-v5", steps=600, evaluate_every=150, probing_states=3)


@pytest.fixture(scope="session")
def cartpole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "cartpole"
    return train_tiny(out, "CartPole-v1", steps=600, evaluate_every=150)


@pytest.fixture(scope="session")
def vanilla_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "vanilla"
    return train_tiny(out, "CartPole-v1", "vanilla-pssvf", steps=300, evaluate_every=150)


@pytest.fixture
def copy_of_cartpole(cartpole_run: Path, tmp_path: Path) -> Path:
    """A run that a test may damage."""
    return Path(shutil.copytree(cartpole_run, tmp_path / "damaged"))
