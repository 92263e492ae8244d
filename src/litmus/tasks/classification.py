"""Image classification as a task: an episode is one pass over a random batch of images.

A policy gives a probability per class. Its training return is the negative cross-entropy on the
batch, its return the accuracy in per cent. Perturbed policies are measured on training images;
unperturbed ones, when a run evaluates or chooses, on images that nothing is learned from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput, suggest
from litmus.tasks.base import (
    Actions,
    AskablePopulation,
    DiscreteActions,
    Episode,
    Moments,
    RolloutPolicy,
    has_channels_last,
)
from litmus.tasks.image_sets import Labelled, read_image_set

if TYPE_CHECKING:
    import torch
    from torch import Tensor

HeldOut = Literal["validation", "test"]
HELD_OUT = ("validation", "test")

VALIDATION_SHARE = 6
"""One in so many training images is kept for validation, drawn once and for all."""
"""As many as images have."""
PASSES_AT_ONCE = {"cpu": 2**8, "cuda": 2**14}
"""Policies × images that are asked together: on a CPU, no more than its caches hold."""
MOST_CLASSES = 10_000
LEAST_PROBABILITY = 1e-30
"""Of the right class: the loss of a network that is sure of another is large, not infinite."""


class ClassificationTask:
    """Images of one size, each of one class. Pixels are real numbers; bytes are taken as 0 to 1.

    `held_out` are images to measure unperturbed policies on; without any, a sixth of the others is
    set aside for that. `classes`: how many there are, where these images do not show all of them.
    """

    def __init__(
        self,
        images: NDArray[Any],
        labels: NDArray[Any],
        held_out: tuple[NDArray[Any], NDArray[Any]] | None = None,
        images_per_episode: int = 1024,
        classes: int | None = None,
    ) -> None:
        given = _check(images, labels)
        if held_out is None:
            self.train, self.held_out = split(given)
        else:
            self.train, self.held_out = given, _check(*held_out)
        if self.held_out.images.shape[1:] != self.train.images.shape[1:]:
            raise BadInput("the images that are held out have another size than the others")
        if isinstance(images_per_episode, bool) or not isinstance(images_per_episode, int):
            raise BadInput(f"images_per_episode takes a whole number, not {images_per_episode!r}")
        if not 1 <= images_per_episode <= 10**6:
            raise BadInput(
                f"images_per_episode must be from 1 to a million, not {images_per_episode}"
            )
        self.images_per_episode = images_per_episode
        self.state_shape: tuple[int, ...] = tuple(self.train.images.shape[1:])
        shown = 1 + int(max(self.train.labels.max(), self.held_out.labels.max()))
        self.actions: Actions = DiscreteActions(_check_classes(max(shown, classes or 0)))
        self.pixel_mean = float(self.train.images.mean(dtype=np.float64))
        self.pixel_std = float(self.train.images.std(dtype=np.float64))
        """Of all pixels of all training images."""
        if self.pixel_std == 0:
            raise BadInput("all pixels of all training images are alike: there is nothing to see")
        self._moments = self._describe_pixels()
        self._on_device: dict[tuple[bool, torch.device], tuple[Tensor, Tensor]] = {}

    def run_episode(self, policy: RolloutPolicy, seed: int) -> Episode:
        chosen = self.train.select(self._draw(self.train, seed))
        probabilities = policy.action_parameters(chosen.images)
        right = probabilities[np.arange(len(chosen)), chosen.labels]
        loss = -np.log(np.maximum(right, LEAST_PROBABILITY)).mean(dtype=np.float64)
        hits = (probabilities.argmax(axis=1) == chosen.labels).mean()
        return self._make_episode(float(loss), float(hits))

    def measure(self, population: AskablePopulation, seeds: Sequence[int]) -> list[Episode]:
        return self._measure(population, seeds, self.train, is_held_out=False)

    def measure_held_out(
        self, population: AskablePopulation, seeds: Sequence[int]
    ) -> list[Episode]:
        return self._measure(population, seeds, self.held_out, is_held_out=True)

    def measure_all_held_out(self, population: AskablePopulation) -> list[Episode]:
        """One episode per policy, each on all the images that are held out."""
        import torch

        places = torch.arange(len(self.held_out), device=population.device)
        return self.to_episodes(self._ask(population, places, is_held_out=True))

    def draw_places(self, seed: int) -> NDArray[np.int64]:
        return self._draw(self.train, seed)

    def measure_places(self, population: AskablePopulation, places: Tensor) -> Tensor:  # [2, B]
        return self._ask(population, places, is_held_out=False)

    def to_episodes(self, measured: Tensor) -> list[Episode]:  # [2, B]
        """Read back from the device at once."""
        return [self._make_episode(*one) for one in zip(*measured.tolist(), strict=True)]

    def close(self) -> None:
        pass

    def _measure(
        self,
        population: AskablePopulation,
        seeds: Sequence[int],
        images: Labelled,
        is_held_out: bool,
    ) -> list[Episode]:
        """Policies with the same seed see the same images: they are asked together."""
        import torch

        places_of: dict[int, list[int]] = {}
        for place, seed in enumerate(seeds):
            places_of.setdefault(seed, []).append(place)
        measured = [
            self._ask(
                population if len(places_of) == 1 else population.select(places),
                torch.from_numpy(self._draw(images, seed)).to(population.device),
                is_held_out,
            )
            for seed, places in places_of.items()
        ]
        order = np.argsort([place for places in places_of.values() for place in places])
        episodes = self.to_episodes(torch.cat(measured, dim=1))
        return [episodes[place] for place in order]

    def _ask(
        self, population: AskablePopulation, places: Tensor, is_held_out: bool
    ) -> Tensor:  # [2, B]
        """Mean loss and share of right answers of each policy on the images in these places."""
        import torch

        images, labels = self._move(population.device, is_held_out)
        passes = PASSES_AT_ONCE.get(population.device.type, PASSES_AT_ONCE["cpu"])
        at_once = max(1, passes // len(population))
        sums = torch.zeros(2, len(population), dtype=torch.float64, device=population.device)
        for piece in torch.split(places, at_once):
            wanted = labels[piece].expand(len(population), -1)  # [B, images]
            probabilities = population.actions(images[piece])  # [B, images, A]
            right = probabilities.gather(2, wanted.unsqueeze(2)).squeeze(2)
            sums[0] -= right.clamp_min(LEAST_PROBABILITY).log().sum(1, dtype=torch.float64)
            sums[1] += (probabilities.argmax(2) == wanted).sum(1)
        return sums / len(places)

    def _make_episode(self, loss: float, hits: float) -> Episode:
        return Episode(100 * hits, -loss, 1, self._moments)

    def _draw(self, images: Labelled, seed: int) -> NDArray[np.int64]:
        return np.random.default_rng(seed).integers(len(images), size=self.images_per_episode)

    def _move(self, device: torch.device, is_held_out: bool) -> tuple[Tensor, Tensor]:
        """All images and labels, once per device."""
        import torch

        key = (is_held_out, device)
        if key not in self._on_device:
            part = self.held_out if is_held_out else self.train
            images, labels = torch.from_numpy(part.images), torch.from_numpy(part.labels)
            self._on_device[key] = images.to(device), labels.to(device)
        return self._on_device[key]

    def _describe_pixels(self) -> Moments:
        """Mean and spread of all pixels together, the same for each: single pixels at the edge
        hardly vary, and dividing by that would make specks of dust the brightest of all."""
        count, size = self.images_per_episode, int(np.prod(self.state_shape))
        squared = np.full(size, count * self.pixel_std**2)
        return Moments(count, np.full(size, self.pixel_mean), squared)


def split(images: Labelled) -> tuple[Labelled, Labelled]:
    """Training and validation images: always the same ones."""
    if len(images) < VALIDATION_SHARE:
        raise BadInput(f"{len(images)} training images are too few to keep some for validation")
    order = np.random.default_rng(0).permutation(len(images))
    kept = len(images) // VALIDATION_SHARE
    return images.select(np.sort(order[kept:])), images.select(np.sort(order[:kept]))


def make_image_task(
    name: str, data: str | None = None, held_out: HeldOut = "validation", **options: Any
) -> ClassificationTask:
    """The task of a set of images: `held_out` says on which unperturbed policies are measured."""
    if held_out not in HELD_OUT:
        raise BadInput(f"held_out cannot be '{held_out}'{suggest(str(held_out), HELD_OUT)}")
    train, test = read_image_set(name, data)
    learned, validation = split(train)
    kept = validation if held_out == "validation" else test
    known = ("images_per_episode",)
    for one in options:
        if one not in known:
            near = suggest(one, (*known, "held_out"))
            raise BadInput(f"task '{name}' has no option '{one}'{near}")
    classes = 1 + int(max(train.labels.max(), test.labels.max()))
    held = (kept.images, kept.labels)
    return ClassificationTask(learned.images, learned.labels, held, classes=classes, **options)


def _check_classes(count: int) -> int:
    if not 2 <= count <= MOST_CLASSES:
        raise BadInput(
            f"labels must name from 2 to {MOST_CLASSES:,} classes, counted from 0, not {count:,}"
        )
    return count


def _check(images: NDArray[Any], labels: NDArray[Any]) -> Labelled:
    """Pixels as float32, classes as int64."""
    images, labels = np.asarray(images), np.asarray(labels)
    if images.ndim not in (3, 4) or 0 in images.shape or images.dtype.kind not in "fiu":
        raise BadInput(
            "images must be an array of numbers [N, height, width] or [N, channels, height, "
            f"width], not {images.dtype} {list(images.shape)}"
        )
    if has_channels_last(images.shape[1:]):
        raise BadInput(
            "images must be [N, channels, height, width], with their channels before height and "
            f"width, not {list(images.shape)}"
        )
    if labels.shape != images.shape[:1] or labels.dtype.kind not in "iu" or labels.min() < 0:
        raise BadInput(f"labels must be {len(images)} whole numbers from 0 on, one per image")
    scale = np.float32(1 / 255) if images.dtype == np.uint8 else np.float32(1)
    pixels = images.astype(np.float32) * scale
    if not np.isfinite(pixels).all():
        raise BadInput("images hold pixels that are no finite numbers")
    return Labelled(pixels, labels.astype(np.int64))
