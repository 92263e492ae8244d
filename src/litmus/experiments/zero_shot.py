"""Z1: a fresh policy of an architecture that V never saw climbs the frozen V of a run.

Once with the run's own V, and once with an evaluator fitted to the run's whole history. Three
fresh policies climb; the one that is reported is chosen by V alone. Its true return is measured
along the way, and tells V nothing.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from litmus.errors import BadInput, option
from litmus.evaluators.base import Estimate, Evaluator
from litmus.experiments.of_run import OfRun
from litmus.experiments.plan import Choices
from litmus.fields import Values
from litmus.judging.episodes import EpisodeRunner
from litmus.judging.fit import fit
from litmus.judging.improve import climb
from litmus.judging.settings import ImproveSettings
from litmus.policies.architecture import Architecture, make_architecture
from litmus.policies.policy import Policy
from litmus.policies.population import flatten
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.runs.measured import TaskChoice, read_run
from litmus.runs.run import Run

STEPS, LR = 1500, 3e-3
LOOKS = 20
"""How often the true return is measured along the way."""
EPISODES = 10
STARTS = 3
FIT: Values = {}
"""Options of the fit."""
OWN, REFITTED = "own-v", "refitted"


def choose_settings(name: str, choices: Choices, run: Run) -> dict[str, Values]:
    choices.refuse(name, "states", "indices")
    architecture = choices.architecture or "linear"
    find_architecture(architecture, run)
    shared = {"architecture": architecture, "steps": choices.steps or STEPS, "lr": LR}
    label = architecture.replace(":", "-")
    return {f"{label}-{judge}": {**shared, "judge": judge} for judge in (OWN, REFITTED)}


def find_architecture(name: str, run: Run) -> Architecture:
    """'linear', 'mlp:64x64' or 'package:Class', for the task of a run."""
    own = run.policy.architecture
    if name == "linear":
        return make_architecture("mlp", own.state_shape, own.head, hidden=())
    if sizes := re.fullmatch(r"mlp:(\d{1,5}(?:x\d{1,5})*)", name):
        hidden = tuple(int(size) for size in sizes[1].split("x"))
        return make_architecture("mlp", own.state_shape, own.head, hidden=hidden)
    if ":" not in name or name.startswith("mlp:"):
        raise BadInput(
            f"{option('architecture')} takes linear, mlp:64x64 or package:Class, not '{name}'"
        )
    return make_architecture(name, own.state_shape, own.head)


@dataclass(frozen=True)
class Climb:
    policy: Policy
    step: int
    why: str
    seen: dict[int, Policy]
    """Policies on the way, by their steps."""
    estimate: Estimate
    """What V says of the one that was chosen."""

    @property
    def worth(self) -> float:
        """The lower end of its interval, where V knows one."""
        low = self.estimate.low
        return float(self.estimate.mean[0] if low is None else low[0])


def climb_once(run: Run, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    evaluator: Evaluator = run.evaluator
    if settings["judge"] == REFITTED:
        evaluator = fit(run.path, device="cpu", quiet=True, seed=seed, **FIT)
    architecture = find_architecture(settings["architecture"], run)
    limits = ImproveSettings(int(settings["steps"]), float(settings["lr"]), radius=1e6)
    every = max(1, limits.steps // LOOKS)
    torch.manual_seed(seed)
    climbs = []
    for _ in range(STARTS):
        fresh = Policy(architecture, flatten(architecture.build()), run.policy.normalizer)
        seen: dict[int, Policy] = {}

        def watch(step: int, policy: Policy, seen: dict[int, Policy] = seen) -> None:
            if step % every == 0:
                seen[step] = copy.deepcopy(policy).requires_grad_(False)

        chosen, step, why = climb(evaluator, fresh, limits, watch)
        climbs.append(Climb(chosen, step, why, seen, evaluator.predict([chosen])))
    best = max(climbs, key=lambda one: one.worth)
    with EpisodeRunner(TaskChoice.of(run.config), seed) as runner:
        measured = [float(runner.run(one, [0])[0].return_) for one in best.seen.values()]
        returns = [float(one.return_) for one in runner.run(best.policy, range(1, 1 + EPISODES))]
        teacher = [float(one.return_) for one in runner.run(run.policy, range(1, 1 + EPISODES))]
    return {
        "return": float(np.mean(returns)),
        "returns": returns,
        "predicted": float(best.estimate.mean[0]),
        "predicted_of_each_start": [float(one.estimate.mean[0]) for one in climbs],
        "step": best.step,
        "why_ended": best.why,
        "policy_of_the_run": float(np.mean(teacher)),
        "best_seen_in_training": max(one.mean_return for one in read_run(run.path).policies),
        "curve": {
            "steps": list(best.seen),
            "predicted": [evaluator.score(one) for one in best.seen.values()],
            "measured": measured,
        },
    }


def draw_climb(name: str, repeats: Sequence[dict[str, Any]]) -> Chart:
    length = min(len(one["curve"]["steps"]) for one in repeats)

    def line(title: str, key: str, color: int) -> Series:
        values = np.array([one["curve"][key][:length] for one in repeats], float)
        steps = repeats[0]["curve"]["steps"][:length]
        return Series(title, steps, values.mean(0), values.min(0), values.max(0), color=color)

    panel = Panel(
        "return", [line("predicted by V", "predicted", 0), line("measured", "measured", 1)]
    )
    return Chart(
        name,
        "A fresh policy climbs a frozen V",
        "Mean and range over repeats; V has never seen its architecture.",
        [View("steps", "gradient steps", [panel])],
    )


ZERO_SHOT = OfRun(
    "A fresh policy climbs a frozen V",
    "litmus.experiments.zero_shot:climb_once",
    draw_climb,
    choose_settings,
)
