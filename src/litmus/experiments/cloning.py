"""F1, F2: a run's policy is asked in k of its probing states, and a fresh one learns those k pairs.

The paper chose the states by hand. Here they are chosen by the return of the clone in episodes that
are for choosing alone: among all subsets where there are few, else greedily, one state after the
other, among the probing states that V depends on most. What is reported was measured in other
episodes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam

from litmus.analysis.knowledge import AskingEvaluator, measure_importance
from litmus.errors import BadInput, option
from litmus.experiments.of_run import OfRun
from litmus.experiments.plan import Choices
from litmus.fields import Values
from litmus.judging.episodes import EpisodeRunner
from litmus.policies.policy import Policy
from litmus.policies.population import MixedPopulation, flatten
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.runs.measured import TaskChoice
from litmus.runs.run import Run

STATES, STEPS, LR = 3, 1500, 1e-3
ALIKE = 1e-6
"""Mean squared difference of actions below which a clone has nothing left to learn."""
MOST_SUBSETS = 60
"""More than that are searched greedily."""
CANDIDATES = 16
"""In each step of a greedy search."""
CHOOSING, REPORTING = range(3), range(100, 110)
"""Episodes."""
NEIGHBOURS, NOISE = 32, 0.05
"""Perturbations of the policy by which the importance of a probing state is measured."""


def choose_settings(name: str, choices: Choices, run: Run) -> dict[str, Values]:
    choices.refuse(name, "architecture")
    states = run.evaluator.probing_states
    assert states is not None
    count, indices = len(states), choices.indices
    wanted = len(indices) if indices is not None else choices.states or STATES
    if wanted > count or any(index >= count for index in indices or ()):
        raise BadInput(
            f"{run.path} has {count} probing states, numbered from 0: {option('states')} and "
            f"{option('indices')} must be among them"
        )
    if indices is not None and choices.states not in (None, wanted):
        raise BadInput(f"{option('states')} and {option('indices')} say different numbers")
    settings = {"states": wanted, "indices": list(indices or ()), "steps": choices.steps or STEPS}
    return {f"{wanted}-states": {**settings, "lr": LR}}


def clone_once(run: Run, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    search = Search(run, settings, seed)
    with EpisodeRunner(TaskChoice.of(run.config), seed) as runner:
        search.runner = runner
        chosen = tuple(settings["indices"]) or search.choose(int(settings["states"]))
        clone = search.clone(chosen)
        returns = [float(one.return_) for one in runner.run(clone, REPORTING)]
        teacher = [float(one.return_) for one in runner.run(run.policy, REPORTING)]
    return {
        "return": float(np.mean(returns)),
        "returns": returns,
        "teacher": float(np.mean(teacher)),
        "teacher_returns": teacher,
        "indices": list(chosen),
        "tried": [{"indices": list(key), "return": value} for key, value in search.tried.items()],
    }


class Search:
    """Which probing states to copy a policy from."""

    runner: EpisodeRunner

    def __init__(self, run: Run, settings: Mapping[str, Any], seed: int) -> None:
        states = run.evaluator.probing_observations
        assert states is not None
        self.run, self.settings, self.seed = run, settings, seed
        self.states: Tensor = states  # [K, *state]
        with torch.no_grad():
            self.actions = run.policy(states)  # [K, A]
        self.tried: dict[tuple[int, ...], float] = {}

    def choose(self, count: int) -> tuple[int, ...]:
        total = len(self.states)
        if comb(total, count) <= MOST_SUBSETS:
            return max(combinations(range(total), count), key=self.try_out)
        candidates = self.rank_states()[:CANDIDATES]
        chosen: tuple[int, ...] = ()
        for _ in range(count):
            longer = [(*chosen, one) for one in candidates if one not in chosen]
            chosen = max(longer, key=self.try_out)
        return chosen

    def rank_states(self) -> list[int]:
        """The most important first, for policies near the run's own."""
        evaluator, policy = self.run.evaluator, self.run.policy
        if not isinstance(evaluator, AskingEvaluator):
            return list(range(len(self.states)))
        generator = torch.Generator().manual_seed(self.seed)
        center = policy.flat_params
        near = [
            Policy(
                policy.architecture,
                center + NOISE * torch.randn(len(center), generator=generator),
                policy.normalizer,
            )
            for _ in range(NEIGHBOURS)
        ]
        with torch.no_grad():
            actions = MixedPopulation(near).actions(self.states)
        return [int(one) for one in np.argsort(-measure_importance(evaluator, actions))]

    def try_out(self, indices: tuple[int, ...]) -> float:
        """The return of the clone, in episodes for choosing."""
        if indices not in self.tried:
            episodes = self.runner.run(self.clone(indices), CHOOSING)
            self.tried[indices] = float(np.mean([one.return_ for one in episodes]))
        return self.tried[indices]

    def clone(self, indices: Sequence[int]) -> Policy:
        """A fresh policy that learned to do as the run's in these states, and nothing else."""
        teacher = self.run.policy
        torch.manual_seed(self.seed)
        fresh = teacher.architecture.build()
        start_at_zero(fresh)
        clone = Policy(teacher.architecture, flatten(fresh), teacher.normalizer)
        states, wanted = self.states[list(indices)], self.actions[list(indices)]
        optimizer = Adam(clone.network.parameters(), lr=float(self.settings["lr"]))
        for _ in range(int(self.settings["steps"])):
            loss = (clone(states) - wanted).square().mean()
            if float(loss.detach()) < ALIKE:
                break
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        return clone.requires_grad_(False)


def start_at_zero(network: nn.Module) -> None:
    """What a clone does where it learned nothing is then not up to chance."""
    layers = [one for one in network.modules() if isinstance(one, nn.Linear)]
    for parameter in layers[-1].parameters() if layers else ():
        nn.init.zeros_(parameter)


def draw_clones(name: str, repeats: Sequence[dict[str, Any]]) -> Chart:
    numbers = list(range(1, 1 + len(repeats)))
    lines = [
        Series(title, numbers, np.array([one[key] for one in repeats], float), color=color)
        for color, (title, key) in enumerate((("clone", "return"), ("its teacher", "teacher")))
    ]
    return Chart(
        name,
        "A policy copied from a few probing states",
        "Each in ten episodes that the choice of states did not see.",
        [View("repeats", "repeat", [Panel("return", lines)])],
    )


CLONING = OfRun(
    "A policy copied from a few probing states",
    "litmus.experiments.cloning:clone_once",
    draw_clones,
    choose_settings,
)
