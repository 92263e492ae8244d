"""The contract of a task, and its optional parts, by tasks that are no environments."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from toys import CountdownTask, LabelsTask, TargetTask

from litmus.tasks.base import Episode, MeasuresPopulations, Moments, StepsThrough
from litmus.tasks.control import make_control_task


class Sums:
    """Policies that say `weight` times the sum of the state."""

    def __init__(self, weights: list[float]) -> None:
        self.weights = torch.tensor(weights)

    def __len__(self) -> int:
        return len(self.weights)

    def actions(self, states: torch.Tensor) -> torch.Tensor:  # [K, D] -> [B, K, 1]
        return self.weights[:, None, None] * states.sum(dim=1)[None, :, None]


class OneOf:
    def __init__(self, population: Sums, place: int) -> None:
        self.population, self.place = population, place

    def action_parameters(self, observations: np.ndarray) -> np.ndarray:
        return self.population.actions(torch.from_numpy(observations))[self.place].numpy()


def test_a_population_is_measured_as_its_policies_are_one_by_one() -> None:
    task, population, seeds = LabelsTask(), Sums([0.0, 0.5, 1.0]), [7, 8, 9]
    together = task.measure(population, seeds)
    alone = [task.run_episode(OneOf(population, b), seed) for b, seed in enumerate(seeds)]
    assert [e.return_ for e in together] == pytest.approx([e.return_ for e in alone])
    assert together[2].return_ == pytest.approx(1.0)  # the right answer
    assert together[0].return_ < together[1].return_ < 1.0


def test_a_task_says_what_it_can_do() -> None:
    control = make_control_task("CartPole-v1")
    able = [
        (isinstance(task, MeasuresPopulations), isinstance(task, StepsThrough))
        for task in (LabelsTask(), CountdownTask(), TargetTask(), control)
    ]
    assert able == [(True, False), (False, True), (False, False), (False, True)]


def test_transitions_need_no_environment() -> None:
    steps = list(CountdownTask(start=3.0).step_through(lambda state: np.array([1.25]), seed=0))
    assert [step.observation.item() for step in steps] == [3.0, 1.75, 0.5]
    assert [step.terminated for step in steps] == [False, False, True]


def test_moments_of_images_are_those_of_their_pixels() -> None:
    images = np.random.default_rng(0).integers(0, 256, (7, 5000)).astype(np.uint8)
    found = Moments.of(images)
    np.testing.assert_allclose(found.mean, images.astype(float).mean(0), rtol=1e-12)
    squared = np.square(images.astype(float) - found.mean).sum(0)
    np.testing.assert_allclose(found.squared_deviations, squared, rtol=1e-12)


def test_an_episode_without_moments_is_finite_where_its_return_is() -> None:
    assert Episode(1.0, 1.0, 1).is_finite
    assert not Episode(math.nan, 1.0, 1).is_finite
    assert not Episode(1.0, math.inf, 1).is_finite
    moments = Moments.of(np.array([[0.0], [np.nan]]))
    assert not Episode(1.0, 1.0, 2, moments).is_finite
