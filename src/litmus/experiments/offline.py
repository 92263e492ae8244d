"""Policies that are measured once, evaluators that learn from them alone, and fresh policies that
climb those evaluators: the parts of `mnist_offline.py`."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor
from torch.optim import Adam

from litmus.capture import CapturedStep
from litmus.errors import BadInput
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.experiments.offline_settings import OfflineSettings
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Architecture
from litmus.policies.cnn import CnnArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import FlatPopulation
from litmus.policies.rows import CnnShape
from litmus.runs.provenance import describe_process
from litmus.seeding import Stream, make_generator
from litmus.tasks.base import Episode
from litmus.tasks.classification import ClassificationTask, make_image_task
from litmus.training.setup import choose_device

AT_ONCE = 128
"""Policies that are measured together, on the same images."""
SAMPLED = 1024
"""Policies by which it is told what probing actions are usual."""
STEPS_BETWEEN_RECORDS = 5
SPLITS = ("validation", "test")
LEAST_SPREAD = 1e-4
SECONDS_BETWEEN_NEWS = 1.0


@dataclass(frozen=True)
class Setup:
    """What every part needs."""

    architecture: Architecture
    shape: CnnShape
    normalizer: Normalizer
    settings: OfflineSettings
    device: torch.device

    @staticmethod
    def of(task: ClassificationTask, settings: OfflineSettings) -> Setup:
        network = CnnArchitecture(task.state_shape, ActionHead.for_task("auto", task.actions))
        size = math.prod(task.state_shape)
        normalizer = Normalizer(np.full(size, task.pixel_mean), np.full(size, task.pixel_std))
        architecture = cast(Architecture, network)
        return Setup(architecture, network.shape, normalizer, settings, choose_device("auto"))

    def initialize(self, count: int) -> Tensor:
        """Rows [count, P], each drawn as torch initialises such a network."""
        sizes, bounds = torch.tensor(self.shape.sizes), torch.tensor(self.shape.initial_bounds)
        bound = torch.repeat_interleave(bounds, sizes).to(self.device)
        return (2 * torch.rand(count, len(bound), device=self.device) - 1) * bound

    def show(self, rows: Tensor) -> FlatPopulation:
        """Policies as a task sees them."""
        return FlatPopulation(self.architecture, rows, self.normalizer)

    def probe(self, rows: Tensor) -> FlatPopulation:
        """Policies as an evaluator sees them."""
        return FlatPopulation(self.architecture, rows)


@dataclass(frozen=True)
class Measured:
    """Policies with their returns, and what was thrown away."""

    rows: Tensor  # [N, P]
    returns: Tensor  # [N], float64
    highest_accuracy: float
    thrown_away: int


@dataclass(frozen=True)
class Judge:
    """An evaluator, and what probing actions of the policies that it learned from are like."""

    evaluator: FingerprintEvaluator
    mean: Tensor  # [K·A]
    spread: Tensor  # [K·A]

    def judge(self, population: FlatPopulation) -> tuple[Tensor, Tensor]:  # [B], [B]
        """Predicted returns, and the mean squared distance from what is usual."""
        actions = population.actions(self.evaluator.probing_states)
        distance = ((actions.flatten(1) - self.mean) / self.spread).square().mean(1)
        return self.evaluator.value_of_actions(actions), distance


def run_offline(
    task_name: str,
    data: str | None,
    settings: OfflineSettings,
    seed: int,
    folder: Path,
    tell: Callable[[int], None],
) -> dict[str, Any]:
    """Everything for one seed; the first evaluator is left in the folder. It tells how many of its
    updates are done, on average over the evaluators."""
    drawn = make_generator(seed, Stream.INITIALIZATION, 0)
    torch.manual_seed(int(drawn.integers(2**62)))
    tasks = [
        make_image_task(task_name, data, held_out, images_per_episode=settings.images)
        for held_out in ("validation", "test")
    ]
    setup = Setup.of(tasks[0], settings)
    measured = collect(setup, tasks[0], drawn)
    judges: list[Judge] = []
    told = time.monotonic()

    def learned(updates: int) -> None:
        nonlocal told
        if updates == settings.updates or time.monotonic() - told > SECONDS_BETWEEN_NEWS:
            tell((len(judges) * settings.updates + updates) // len(settings.heads))
            told = time.monotonic()

    for hidden in settings.heads:
        judges.append(fit(setup, measured, hidden, learned))
    curve = climb(setup, judges, tasks)
    judges[0].evaluator.set_normalizer(setup.normalizer)
    judges[0].evaluator.save(folder / "evaluator.safetensors")
    return {
        "kept": len(measured.returns),
        "thrown_away": measured.thrown_away,
        "highest_accuracy_seen": measured.highest_accuracy,
        "chosen_by_validation": choose(curve, by="validation_accuracy"),
        "chosen_by_familiarity": choose(curve, by="distance"),
        "curve": curve,
        "provenance": describe_process(),
    }


def collect(setup: Setup, task: ClassificationTask, generator: np.random.Generator) -> Measured:
    """Measure random policies; those above the accuracy are thrown away.

    Policies that met the same images differ by themselves alone: what these images cost all of them
    is taken out of their returns.
    """
    settings = setup.settings
    rows: list[Tensor] = []
    returns: list[Tensor] = []
    best, thrown_away = 0.0, 0
    for start in range(0, settings.policies, AT_ONCE):
        count = min(AT_ONCE, settings.policies - start)
        fresh = setup.initialize(count)
        fresh += settings.noise * torch.randn_like(fresh)
        seeds = [int(generator.integers(2**31))] * count
        with torch.no_grad():
            found = task.measure(setup.show(fresh), seeds)
        places = [i for i, one in enumerate(found) if _is_kept(one, settings.most_accuracy)]
        rows.append(fresh[places])
        returns.append(
            torch.tensor([found[i].training_return for i in places], dtype=torch.float64)
        )
        best = max([best, *(found[i].return_ / 100 for i in places)])
        thrown_away += count - len(places)
    together = torch.cat(returns)
    if len(together) < 2:
        raise BadInput("no random classifier was bad enough to learn from")
    level = together.mean()
    alike = torch.cat([level + one - one.mean() for one in returns if len(one)])
    return Measured(torch.cat(rows), alike.to(setup.device), best, thrown_away)


def _is_kept(episode: Episode, most_accuracy: float) -> bool:
    return episode.is_finite and episode.return_ <= 100 * most_accuracy


def fit(
    setup: Setup,
    measured: Measured,
    hidden: Sequence[int],
    learned: Callable[[int], None] = lambda updates: None,
) -> Judge:
    """An evaluator that learns from what was measured, and is frozen then."""
    settings, device, architecture = setup.settings, setup.device, setup.architecture
    evaluator = FingerprintEvaluator(
        architecture.state_shape,
        architecture.head.size,
        settings.probing_states,
        hidden,
        (-0.5, 0.5),
    ).to(device)
    returns = measured.returns
    evaluator.set_return_statistics(float(returns.mean()), float(returns.std()))
    on_cuda = device.type == "cuda"
    rates = [torch.tensor(lr, device=device) for lr in (settings.probing_lr, settings.evaluator_lr)]
    optimizer = Adam(
        [
            {"params": [evaluator.probing_states], "lr": rates[0]},
            {"params": list(evaluator.head.parameters()), "lr": rates[1]},
        ],
        fused=True,
        capturable=on_cuda,
    )
    weights = torch.full((settings.batch_size,), 1 / settings.batch_size, device=device)
    parameters = list(evaluator.parameters())

    def step(places: Tensor) -> Tensor:
        population = setup.probe(measured.rows.index_select(0, places))
        loss = evaluator.loss(population, returns.index_select(0, places), weights)
        gradients = torch.autograd.grad(loss, parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        optimizer.step()
        return loss.detach()

    captured = CapturedStep(step)
    for update in range(settings.updates):
        share = 0.5 * (1 + math.cos(math.pi * update / settings.updates))
        for rate, lr in zip(rates, (settings.probing_lr, settings.evaluator_lr), strict=True):
            rate.fill_(share * lr)
        places = torch.randint(len(returns), (settings.batch_size,), device=device)
        _ = captured(places) if on_cuda else step(places)
        learned(update + 1)
    for parameter in parameters:
        parameter.requires_grad_(False)  # frozen from here on
    return describe_usual(setup, evaluator, measured.rows[:SAMPLED])


def describe_usual(setup: Setup, evaluator: FingerprintEvaluator, rows: Tensor) -> Judge:
    """Mean and spread of each probing action over these policies."""
    with torch.no_grad():
        pieces = [
            setup.probe(piece).actions(evaluator.probing_states).flatten(1)
            for piece in torch.split(rows, AT_ONCE)
        ]
    prints = torch.cat(pieces)
    return Judge(evaluator, prints.mean(0), prints.std(0).clamp_min(LEAST_SPREAD))


def climb(
    setup: Setup, judges: Sequence[Judge], tasks: Sequence[ClassificationTask]
) -> dict[str, list[Any]]:
    """Fresh policies follow what the judges agree on; every few steps they are measured on all
    validation and all test images."""
    settings = setup.settings
    rows = setup.initialize(settings.fresh).requires_grad_()
    optimizer = Adam([rows], lr=settings.climb_lr)
    names = ("predicted", "distance", *(f"{s}_{w}" for s in SPLITS for w in ("accuracy", "return")))
    curve: dict[str, list[Any]] = {name: [] for name in ("steps", *names)}
    for step in range(settings.climb_steps + 1):
        population = setup.probe(rows)
        judged = [judge.judge(population) for judge in judges]
        units = [
            (value - judge.evaluator.return_mean) / judge.evaluator.return_std
            for judge, (value, _) in zip(judges, judged, strict=True)
        ]
        distance = torch.stack([far for _, far in judged]).mean(0)  # [fresh]
        score = torch.stack(units).mean(0) - settings.familiarity_weight * distance
        if step % STEPS_BETWEEN_RECORDS == 0:
            curve["steps"].append(step)
            predicted = torch.stack([value for value, _ in judged]).mean(0)
            curve["predicted"].append(predicted.tolist())
            curve["distance"].append(distance.sqrt().tolist())
            with torch.no_grad():
                shown = setup.show(rows.detach())
                for split, task in zip(SPLITS, tasks, strict=True):
                    found = task.measure_all_held_out(shown)
                    curve[f"{split}_accuracy"].append([one.return_ / 100 for one in found])
                    curve[f"{split}_return"].append([one.training_return for one in found])
        (gradient,) = torch.autograd.grad(score.sum(), rows)
        rows.grad = -gradient.to(rows.dtype)
        optimizer.step()
    return curve


def choose(curve: Mapping[str, list[Any]], by: str) -> list[float]:
    """Test accuracy of each fresh policy at the step that is taken of it."""
    records = choose_records(curve, by)
    return [float(curve["test_accuracy"][i][place]) for place, i in enumerate(records)]


def choose_records(curve: Mapping[str, list[Any]], by: str) -> list[int]:
    """Which record of the curve is taken of each fresh policy: where it was best on validation
    images, or, by the distance alone, where it was nearest to what the judges know after it had
    been farthest from it. (At first all policies are near: they do nothing yet.)"""
    chosen = []
    for values in zip(*curve[by], strict=True):
        record = values.index(max(values))
        if by == "distance":
            record = values.index(min(values[record:]), record)
        chosen.append(record)
    return chosen
