"""F1, F2: a run's policy is asked in k of its probing states, and a fresh one learns those k pairs.

The paper chose the states by hand. Here they are chosen by the return of the clone in episodes that
are for choosing alone: among all subsets where there are few; else greedily, one state after the
other, and then each is exchanged for others while that helps. The best subsets meet in more such
episodes. What is reported was measured in other ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Any, TypeAlias

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
from litmus.policies.population import FlatPopulation, MixedPopulation, flatten
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.runs.measured import TaskChoice
from litmus.runs.run import Run

Subset: TypeAlias = tuple[int, ...]
"""Probing states, by their numbers."""

STATES, STEPS, LR = 3, 600, 3e-3
ALIKE = 1e-6
"""Mean squared difference of actions below which a clone has nothing left to learn."""
MOST_SUBSETS = 60
"""More than that are searched greedily."""
CANDIDATES = 200
"""For each place of a greedy search."""
SEARCHES = 2
"""Each from another first state: the best ones alone."""
EXCHANGES = 4
"""Times that every chosen state may be exchanged for another."""
AT_ONCE = 32
"""Clones that learn together."""
FINALISTS = 10
"""Subsets that meet in more episodes."""
CHOOSING, DECIDING, REPORTING = range(3), range(3, 20), range(100, 110)
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
        (clone,) = search.clone([chosen])
        returns, teacher = (search.measure(one, REPORTING) for one in (clone, run.policy))
    return {
        "return": float(np.mean(returns)),
        "returns": returns,
        "teacher": float(np.mean(teacher)),
        "teacher_returns": teacher,
        "indices": list(chosen),
        "tried": len(search.tried),
        "finalists": [
            {"indices": list(one), "return": value} for one, value in search.finalists.items()
        ],
    }


def batched(subsets: Sequence[Subset], count: int) -> list[Sequence[Subset]]:
    return [subsets[start : start + count] for start in range(0, len(subsets), count)]


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
        self.tried: dict[Subset, float] = {}
        self.finalists: dict[Subset, float] = {}

    def choose(self, count: int) -> Subset:
        total = len(self.states)
        if math.comb(total, count) <= MOST_SUBSETS:
            self.find_best(combinations(range(total), count))
        else:
            self._search(self.rank_states()[:CANDIDATES], count)
        complete = [one for one in self.tried if len(one) == count]
        finalists = sorted(complete, key=lambda one: -self.tried[one])[:FINALISTS]
        for one, clone in zip(finalists, self.clone(finalists), strict=True):
            self.finalists[one] = float(np.mean(self.measure(clone, DECIDING)))
        return max(finalists, key=self.finalists.__getitem__)

    def _search(self, candidates: Sequence[int], count: int) -> None:
        self._find_best_with((), candidates)
        firsts = sorted(self.tried, key=lambda one: -self.tried[one])[:SEARCHES]
        for chosen in firsts:
            for _ in range(count - 1):
                chosen = self._find_best_with(chosen, candidates)
            self._exchange(chosen, candidates)

    def _exchange(self, chosen: Subset, candidates: Sequence[int]) -> None:
        for _ in range(EXCHANGES):
            before = chosen
            for one in before:
                rest = tuple(other for other in chosen if other != one)
                chosen = self._find_best_with(rest, candidates)
            if set(chosen) == set(before):
                break

    def _find_best_with(self, some: Subset, candidates: Sequence[int]) -> Subset:
        """The best subset that has one more state than these."""
        return self.find_best((*some, one) for one in candidates if one not in some)

    def find_best(self, subsets: Iterable[Subset]) -> Subset:
        """By the return of their clones, in episodes for choosing."""
        sorted_ones = list(dict.fromkeys(tuple(sorted(one)) for one in subsets))
        new = [one for one in sorted_ones if one not in self.tried]
        best = lowest = -math.inf  # the mean of the best one's episodes, and the worst of them
        for some in batched(new, AT_ONCE):
            for one, clone in zip(some, self.clone(some), strict=True):
                returns = self.measure(clone, CHOOSING[:1])
                if returns[0] >= lowest:  # else no more is spent on it
                    returns += self.measure(clone, CHOOSING[1:])
                self.tried[one] = float(np.mean(returns))
                if self.tried[one] > best:
                    best, lowest = self.tried[one], min(returns)
        return max(sorted_ones, key=self.tried.__getitem__)

    def measure(self, clone: Policy, episodes: range) -> list[float]:
        return [float(one.return_) for one in self.runner.run(clone, episodes)]

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

    def clone(self, subsets: Sequence[Subset]) -> list[Policy]:
        """For each, a fresh policy that learned to do as the run's in these states, and nothing
        else. All subsets have as many."""
        teacher, wanted = self.run.policy, torch.tensor(subsets)  # [B, k]
        architecture, normalizer = teacher.architecture, teacher.normalizer
        torch.manual_seed(self.seed)
        fresh = architecture.build()
        start_at_zero(fresh)
        rows = flatten(fresh).repeat(len(subsets), 1).requires_grad_()
        clones = FlatPopulation(architecture, rows, normalizer)
        asked, own = torch.unique(wanted, return_inverse=True)
        everyone = torch.arange(len(subsets))[:, None]
        optimizer = Adam([rows], lr=float(self.settings["lr"]))
        for _ in range(int(self.settings["steps"])):
            actions = clones.actions(self.states[asked])[everyone, own]  # [B, k, A]
            losses = (actions - self.actions[wanted]).square().mean((1, 2))
            if float(losses.detach().max()) < ALIKE:
                break
            (rows.grad,) = torch.autograd.grad(losses.sum(), rows)
            optimizer.step()
        learned = rows.detach().clone()
        return [Policy(architecture, row, normalizer).requires_grad_(False) for row in learned]


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
