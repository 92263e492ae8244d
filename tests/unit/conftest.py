"""Tiny runs, trained once a session: small networks, a few episodes."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from harness import train_tiny


@pytest.fixture(scope="session")
def hopper_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "hopper"
    train_tiny(out, task="Hopper-v5", steps=600, evaluate_every=150)
    return out


@pytest.fixture(scope="session")
def cartpole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "cartpole"
    train_tiny(out, task="CartPole-v1", steps=600, evaluate_every=150, probing_states=8)
    return out


@pytest.fixture(scope="session")
def vanilla_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("runs") / "vanilla"
    train_tiny(out, "vanilla-pssvf", task="CartPole-v1", steps=300, evaluate_every=150)
    return out


@pytest.fixture
def copy_of_cartpole(cartpole_run: Path, tmp_path: Path) -> Path:
    """A run that a test may damage."""
    return Path(shutil.copytree(cartpole_run, tmp_path / "damaged"))
