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
@pytest.mark.parametrize(("discount", "best"), [(0.9, 1.0), (0.0, -1.0)])
def test_what_pays_later_is_worth_it_to_who_counts_on_what_follows(
    discount: float, best: float, seed: int, tmp_path: Path
) -> None:
    """An action costs a third of what it pays in the next step."""
    run = litmus.train(
        "ddpg",
        task="toys:InvestingTask",
        steps=1000,
        seed=seed,
        discount=discount,
        out=tmp_path / "run",
        **OPTIONS,
    )
    with torch.no_grad():
        actions = run.policy(torch.linspace(-1, 1, 9).unsqueeze(1))
    assert (actions - best).abs().max() < 0.5
