"""DDPG finds known answers from transitions, in seconds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

import litmus

OPTIONS = {
    "hidden": (32,),
    "critic_hidden": (32,),
    "start_steps": 100,
    "update_after": 100,
    "update_every": 10,
    "updates": 10,
    "batch_size": 32,
    "evaluate_every": 0,
    "workers": 0,
    "device": "cpu",
    "quiet": True,
}


@pytest.mark.parametrize("seed", [0, 1])
def test_what_pays_at_once_is_done_everywhere(seed: int, tmp_path: Path) -> None:
    """The walk pays the first component of the action, which is at most 1."""
    run = litmus.train(
        "ddpg", task="toys:ToyWalk-v0", steps=600, seed=seed, out=tmp_path / "run", **OPTIONS
    )
    states = torch.from_numpy(np.random.default_rng(0).normal(size=(50, 3)))
    with torch.no_grad():
        assert run.policy(states)[:, 0].min() > 0.8


@pytest.mark.parametrize("seed", [0, 1])
def test_what_pays_later_is_found_through_the_critics_own_promises(
    seed: int, tmp_path: Path
) -> None:
    """A push of more than 0.5 pays a little and ends the episode: whoever holds back earns more,
    but only a critic that counts on what follows knows."""
    run = litmus.train(
        *("ddpg",),
        **{"task": "toys:PatienceTask", "steps": 1500, "seed": seed, "discount": 0.9},
        **{"out": tmp_path / "run", **OPTIONS},
    )
    with torch.no_grad():
        assert run.policy(torch.ones(1, 1)).item() < 0.5
    hasty = litmus.train(
        *("ddpg",),
        **{"task": "toys:PatienceTask", "steps": 1500, "seed": seed, "discount": 0.0},
        **{"out": tmp_path / "hasty", **OPTIONS},
    )
    with torch.no_grad():
        assert hasty.policy(torch.ones(1, 1)).item() > 0.5
