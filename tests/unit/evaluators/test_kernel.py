"""Ensembles: saved and read, intervals that hold and widen, familiarity, damaged files."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from litmus.errors import BadInput
from litmus.evaluators.base import load_evaluator
from litmus.evaluators.calibration import LeftOut, calibrate
from litmus.evaluators.ensemble import EnsembleEvaluator


def make_left_out(
    generator: np.random.Generator, lineages: int, policies: int = 200
) -> list[LeftOut]:
    """Errors that grow with the distance, and lineages that differ."""
    found = []
    for _ in range(lineages):
        distances = generator.uniform(0.05, 0.5) + 0.1 * generator.random(policies)
        errors = generator.normal(size=policies) * (0.1 + 2 * distances)
        found.append(LeftOut(errors, np.full(policies, 0.05), distances))
    return found


def test_intervals_hold_for_lineages_that_calibration_did_not_see() -> None:
    generator = np.random.default_rng(0)
    covered = []
    for _ in range(20):
        calibration = calibrate(make_left_out(generator, 10))
        for one in make_left_out(generator, 5):
            widths = calibration.widths(one.spreads, one.distances)
            covered.append(np.mean(np.abs(one.errors) <= widths))
    assert 0.87 < np.mean(covered) < 0.93


def test_intervals_widen_with_distance_and_with_disagreement() -> None:
    calibration = calibrate(make_left_out(np.random.default_rng(0), 10))
    none, some = np.zeros(1), np.ones(1)
    width = calibration.widths(none, none)
    assert calibration.widths(none, some) > 2 * width
    assert calibration.widths(some, none) > 2 * width


def test_a_large_lineage_counts_no_more_than_a_small_one() -> None:
    generator = np.random.default_rng(0)
    exact = LeftOut(generator.normal(size=5000) * 0.01, np.zeros(5000), np.full(5000, 0.1))
    poor = LeftOut(generator.normal(size=50), np.zeros(50), np.full(50, 0.1))
    calibration = calibrate([exact, poor])
    covered = np.mean(np.abs(poor.errors) <= calibration.widths(poor.spreads, poor.distances))
    assert covered > 0.7


def make_ensemble() -> EnsembleEvaluator:
    torch.manual_seed(0)
    made = EnsembleEvaluator((3,), 2, 4, (8,), [[0.0, 0.0], [1.0, 1.0]], card={"policies": 3})
    made.set_return_statistics(100.0, 20.0)
    policies = [torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh()) for _ in range(9)]
    with torch.no_grad():
        from litmus.policies.population import MixedPopulation

        made.remember(
            made.fingerprints(MixedPopulation(policies)),
            calibrate(make_left_out(np.random.default_rng(0), 4)),
        )
    return made


def test_what_is_saved_says_the_same_when_it_is_read_again(tmp_path: Path) -> None:
    ensemble = make_ensemble()
    ensemble.save(tmp_path / "judge.safetensors")
    again = load_evaluator(tmp_path / "judge.safetensors")
    assert isinstance(again, EnsembleEvaluator)
    assert again.card == {"policies": 3}
    policy = torch.nn.Linear(3, 2)
    one, other = ensemble.predict([policy]), again.predict([policy])
    for name in ("mean", "low", "high", "familiarity"):
        assert torch.equal(getattr(one, name), getattr(other, name))
    assert one.low < one.mean < one.high


def test_what_is_like_nothing_seen_is_unfamiliar_and_uncertain() -> None:
    ensemble = make_ensemble()
    seen = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh())
    odd = lambda states: torch.full((len(states), 2), 9.0)  # noqa: E731
    estimate = ensemble.predict([seen, odd])
    assert estimate.familiarity[0] > estimate.familiarity[1]
    widths = estimate.high - estimate.low
    assert widths[1] > 3 * widths[0]


@pytest.mark.parametrize(
    "change",
    [{"members": 3}, {"members": 10**9}, {"num_references": 10**12}, {"hidden": "x"}, {"card": 7}],
)
def test_a_description_that_was_changed_is_refused(change: dict, tmp_path: Path) -> None:
    path = tmp_path / "judge.json"
    make_ensemble().save(path.with_suffix(".safetensors"))
    described = json.loads(path.read_text())
    described["options"] |= change
    path.write_text(json.dumps(described))
    with pytest.raises(BadInput):
        load_evaluator(path.with_suffix(".safetensors"))
