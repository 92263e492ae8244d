"""An ensemble learns from measured policies: uniform draws, averaged weights, checkpoints."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch.optim import AdamW

from litmus.evaluators.ensemble import EnsembleEvaluator
from litmus.judging.data import FitData
from litmus.judging.settings import FitSettings
from litmus.seeding import Stream, make_generator

AT_ONCE = 256
MOST_REFERENCES = 1500
WARM_UP = 50
Places = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Judged:
    """What an ensemble says of policies, in units of its own outputs."""

    means: Floats  # [B]
    spreads: Floats  # [B]
    distances: Floats  # [B]


Check = Callable[[int, EnsembleEvaluator], None]


def train_ensemble(
    data: FitData,
    places: Places,
    settings: FitSettings,
    check: Check | None = None,
    tell: Callable[[int], None] = lambda done: None,
    updates: int | None = None,
) -> EnsembleEvaluator:
    """Learn from the policies at `places`; `check` sees the averaged ensemble after each part."""
    device = data.policies[0].flat_params.device
    total = updates or settings.updates
    generator = make_generator(settings.seed, Stream.FIT, 0)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(generator.integers(2**31)))
        learner, averaged = (make_ensemble(data, places, settings) for _ in range(2))
    averaged.load_state_dict(learner.state_dict())
    learner.to(device)
    averaged.to(device).requires_grad_(False)
    optimizer = AdamW(
        [
            {"params": [learner.probing_states], "lr": settings.probing_lr, "weight_decay": 0.0},
            {"params": list(learner.heads.parameters()), "lr": settings.lr},
        ],
        weight_decay=settings.weight_decay / max(settings.lr, 1e-12),
    )
    pairs = list(zip(averaged.parameters(), learner.parameters(), strict=True))
    size = min(settings.batch_size, len(places))
    weights = torch.full((size,), 1 / size, device=device)
    returns = torch.from_numpy(data.returns).to(device)
    due = {round(total * (part + 1) / settings.checks) for part in range(settings.checks)}
    for update in range(1, total + 1):
        batch = generator.choice(places, size, replace=False)
        loss = learner.loss(data.population(batch), returns[torch.from_numpy(batch)], weights)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        share = 1 - min(settings.averaging, update / (update + WARM_UP))
        with torch.no_grad():
            for average, latest in pairs:
                average.lerp_(latest, share)
        tell(update)
        if update in due and check is not None:
            remember_references(data, places, averaged)
            check(update, averaged)
    remember_references(data, places, averaged)
    return averaged


def make_ensemble(data: FitData, places: Places, settings: FitSettings) -> EnsembleEvaluator:
    ensemble = EnsembleEvaluator(
        data.state_shape,
        settings.members,
        settings.probing_states,
        settings.hidden,
        data.head_units,
        (-1.5, 1.5),
    )
    ensemble.set_normalizer(data.normalizer)
    spread = float(data.returns[places].std())
    ensemble.set_return_statistics(float(data.returns[places].mean()), spread or 1.0)
    return ensemble


def collect_fingerprints(
    data: FitData, places: Places, ensemble: EnsembleEvaluator
) -> torch.Tensor:  # [B, F]
    with torch.no_grad():
        pieces = [
            ensemble.fingerprints(data.population(places[start : start + AT_ONCE]))
            for start in range(0, len(places), AT_ONCE)
        ]
    return torch.cat(pieces)


def remember_references(data: FitData, places: Places, ensemble: EnsembleEvaluator) -> None:
    spread = np.linspace(0, len(places) - 1, min(MOST_REFERENCES, len(places)))
    chosen = places[spread.round().astype(int)]
    ensemble.remember(collect_fingerprints(data, chosen, ensemble), None)


def judge_places(data: FitData, places: Places, ensemble: EnsembleEvaluator) -> Judged:
    fingerprints = collect_fingerprints(data, places, ensemble)
    with torch.no_grad():
        outputs = ensemble.member_outputs(fingerprints)
        spread = outputs.std(0) if ensemble.members > 1 else torch.zeros_like(outputs[0])
        distance = ensemble.distance(fingerprints)
    return Judged(*(one.double().cpu().numpy() for one in (outputs.mean(0), spread, distance)))
