"""Z1: a fresh policy of an architecture that V never saw climbs the frozen V of a run.

Once with the run's own V, and once with an evaluator fitted to the run's whole history. The
policy that is reported is chosen by V alone; its true return is measured along the way, and tells V
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from litmus.errors import BadInput, option
from litmus.evaluators.base import Evaluator
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


def climb_once(run: Run, settings: Mapping[str, Any], seed: int) -> dict[str, Any]:
    evaluator: Evaluator = run.evaluator
    if settings["judge"] == REFITTED:
        evaluator = fit(run.path, device="cpu", quiet=True, seed=seed, **FIT)
    architecture = find_architecture(settings["architecture"], run)
    torch.manual_seed(seed)
    fresh = Policy(architecture, flatten(architecture.build()), run.policy.normalizer)
    every = max(1, int(settings["steps"]) // LOOKS)
    curve: dict[str, list[float]] = {name: [] for name in ("steps", "predicted", "measured")}
    with EpisodeRunner(TaskChoice.of(run.config), seed) as runner:

        def watch(step: int, policy: Policy) -> None:
            if step % every == 0:
                curve["steps"].append(step)
                curve["predicted"].append(evaluator.score(policy))
                curve["measured"].append(float(runner.run(policy, [0])[0].return_))

        limits = ImproveSettings(int(settings["steps"]), float(settings["lr"]), radius=1e6)
        chosen, step, why = climb(evaluator, fresh, limits, watch)
        returns = [float(one.return_) for one in runner.run(chosen, range(1, 1 + EPISODES))]
        teacher = [float(one.return_) for one in runner.run(run.policy, range(1, 1 + EPISODES))]
    return {
        "return": float(np.mean(returns)),
        "returns": returns,
        "predicted": evaluator.score(chosen),
        "step": step,
        "why_ended": why,
        "policy_of_the_run": float(np.mean(teacher)),
        "best_seen_in_training": max(one.mean_return for one in read_run(run.path).policies),
        "curve": curve,
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
