"""Classification as a task: known answers, and one policy at a time or many gives the same."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from tiny_images import CLASSES, CORNERS, SIDE, draw, write_set

from litmus.errors import BadInput
from litmus.policies.actions import ActionHead
from litmus.policies.cnn import CnnArchitecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import FlatPopulation
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.batched import BatchedCollector
from litmus.rollouts.episode import ActingPolicy
from litmus.seeding import Stream
from litmus.tasks.base import DiscreteActions, TaskSpec
from litmus.tasks.classification import (
    PASSES_AT_ONCE,
    ClassificationTask,
    make_image_task,
    split,
)
from litmus.tasks.idx import write_idx
from litmus.tasks.known_images import PARTS


def make_task(**options) -> ClassificationTask:
    images, labels = draw(90)
    return ClassificationTask(images, labels, **{"images_per_episode": 20, **options})


def make_population(task: ClassificationTask, count: int = 4) -> FlatPopulation:
    architecture = CnnArchitecture(
        task.state_shape, ActionHead.for_task("auto", task.actions), channels=(2,)
    )
    rows = torch.randn(count, architecture.num_params, generator=torch.Generator().manual_seed(1))
    return FlatPopulation(architecture, rows, Normalizer.identity(task.state_shape))


class Answers:
    """A policy that is given: from images to class probabilities."""

    def __init__(self, answer) -> None:
        self.answer = answer

    def act(self, observation):
        raise AssertionError("an episode is asked in one batch")

    def action_parameters(self, images: np.ndarray) -> np.ndarray:
        return np.stack([self.answer(image) for image in images]).astype(np.float32)


def look_at_corners(image: np.ndarray) -> np.ndarray:
    sums = [image[row : row + 4, column : column + 4].sum() for row, column in CORNERS]
    return np.eye(CLASSES)[int(np.argmax(sums))]


def test_a_policy_that_knows_everything_gets_everything() -> None:
    episode = make_task().run_episode(Answers(look_at_corners), seed=3)
    assert (episode.return_, episode.training_return, episode.steps) == (100.0, 0.0, 1)


def test_a_policy_that_knows_nothing_loses_the_logarithm_of_the_classes() -> None:
    episode = make_task().run_episode(Answers(lambda image: np.full(CLASSES, 1 / CLASSES)), seed=3)
    assert episode.training_return == pytest.approx(-math.log(CLASSES), rel=1e-6)


def test_a_policy_that_is_sure_and_wrong_is_still_a_finite_number() -> None:
    wrong = make_task().run_episode(Answers(lambda image: 1 - look_at_corners(image)), seed=3)
    assert wrong.return_ == 0
    assert wrong.is_finite
    assert wrong.training_return < -50


@pytest.mark.parametrize("seeds", [[5, 5, 5, 5], [5, 6, 5, 7]], ids=["shared", "own"])
def test_many_policies_are_measured_as_each_alone(seeds: list[int]) -> None:
    task = make_task()
    population = make_population(task)
    together = task.measure(population, seeds)
    for row, seed, found in zip(population.rows, seeds, together, strict=True):
        generator = np.random.default_rng(0)
        policy = ActingPolicy(
            population.architecture, row.numpy(), population.normalizer, generator
        )
        alone = task.run_episode(policy, seed)
        assert found.return_ == pytest.approx(alone.return_)
        assert found.training_return == pytest.approx(alone.training_return, rel=1e-5)


def test_the_same_seed_shows_the_same_images() -> None:
    task, population = make_task(), make_population(make_task(), count=1)
    one, again, other = (task.measure(population, [seed])[0] for seed in (1, 1, 2))
    assert one.training_return == again.training_return != other.training_return


def test_measuring_in_pieces_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    task, population = make_task(), make_population(make_task())
    whole = task.measure_all_held_out(population)
    monkeypatch.setitem(PASSES_AT_ONCE, "cpu", 13)
    for one, other in zip(whole, task.measure_all_held_out(population), strict=True):
        assert one.return_ == pytest.approx(other.return_)
        assert one.training_return == pytest.approx(other.training_return, rel=1e-6)


def test_training_and_held_out_images_share_nothing() -> None:
    images = np.arange(60, dtype=np.float32).reshape(60, 1, 1) * np.ones((1, 2, 2), np.float32)
    task = ClassificationTask(images, np.arange(60) % 2)
    kept, learned = (set(one.images[:, 0, 0]) for one in (task.held_out, task.train))
    assert len(kept) == 10
    assert kept | learned == set(range(60))
    assert not kept & learned
    again = split(task.train)[1]
    assert np.array_equal(again.images, split(task.train)[1].images)


def test_unperturbed_policies_are_measured_on_what_is_held_out() -> None:
    """Training episodes see images of one class alone, evaluations those of another."""
    images, labels = np.zeros((8, SIDE, SIDE), np.float32), np.zeros(8, np.int64)
    images[:, 0, 0] = 1e-6  # hardly anything, and the same in all
    task = ClassificationTask(images, labels, held_out=(images, labels + 1))
    population = make_population(task, count=1)
    setting = Setting(TaskSpec("unused:unused"), population.architecture, seed=0)
    collector = BatchedCollector(setting, task)
    returns = {}
    for stream in Stream:
        flat = population.rows[0].numpy()
        request = Request(flat, Normalizer.identity(task.state_shape), 0.0, stream, range(2))
        returns[stream] = {one.return_ for one in collector.start(request).result()}
    assert len(returns[Stream.TRAINING] | returns[Stream.EVALUATION]) == 2
    assert returns[Stream.EVALUATION] == returns[Stream.SELECTION] == returns[Stream.MEASUREMENT]


def test_classes_that_only_test_images_show_are_classes(tmp_path: Path) -> None:
    folder = write_set(tmp_path)
    write_idx(folder / f"{PARTS[3]}.gz", np.full(30, CLASSES + 1, np.uint8))
    for held_out in ("validation", "test"):
        task = make_image_task("images", str(folder), held_out, images_per_episode=5)
        assert task.actions == DiscreteActions(CLASSES + 2)


def test_pixels_are_normalised_all_alike() -> None:
    """A pixel that never varies must not be divided by almost nothing."""
    task = make_task()
    moments = task.measure(make_population(task), [0] * 4)[0].moments
    assert moments is not None
    assert set(moments.mean) == {task.pixel_mean}
    std = np.sqrt(moments.squared_deviations / moments.count)
    assert std == pytest.approx(task.train.images.std(), rel=1e-5)


@pytest.mark.parametrize(
    ("images", "labels", "words"),
    [
        (np.zeros((4, 3)), np.zeros(4, int), "height, width"),
        (np.zeros((4, 3, 3)), np.zeros(3, int), "4 whole numbers"),
        (np.zeros((4, 3, 3)), np.zeros(4), "4 whole numbers"),
        (np.zeros((4, 3, 3)), np.array([0, 1, -1, 0]), "from 0 on"),
        (np.full((4, 3, 3), np.nan), np.zeros(4, int), "no finite numbers"),
        (np.zeros((4, 3, 3)), np.zeros(4, int), "too few"),
        (np.zeros((9, 3, 3)), np.arange(9) % 2, "nothing to see"),
        (np.zeros((9, 3, 3)), np.zeros(9, int), "from 2 to 10,000 classes"),
        (np.zeros((9, 3, 3)), np.arange(9) * 10**6, "from 2 to 10,000 classes"),
        (np.zeros((9, 8, 8, 3)), np.arange(9), "channels before height"),
    ],
)
def test_arrays_that_are_no_labelled_images_are_refused(images, labels, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        ClassificationTask(images, labels)
