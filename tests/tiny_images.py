"""A small set of images that tests make themselves: a bright corner tells the class."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from litmus.tasks.idx import write_idx
from litmus.tasks.known_images import PARTS

CLASSES, SIDE = 3, 8
CORNERS = ((0, 0), (0, 4), (4, 0))


def draw(count: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Images [count, 8, 8] as bytes, and their classes."""
    generator = np.random.default_rng(seed)
    labels = generator.integers(CLASSES, size=count).astype(np.uint8)
    images = generator.integers(0, 60, size=(count, SIDE, SIDE)).astype(np.uint8)
    for image, label in zip(images, labels, strict=True):
        row, column = CORNERS[label]
        image[row : row + 4, column : column + 4] += 150
    return images, labels


def write_set(folder: Path, train: int = 120, test: int = 30, suffix: str = ".gz") -> Path:
    """The four files of a set."""
    folder.mkdir(parents=True, exist_ok=True)
    arrays = (*draw(train, seed=1), *draw(test, seed=2))
    for part, array in zip(PARTS, arrays, strict=True):
        write_idx(folder / f"{part}{suffix}", array)
    return folder


OPTIONS = {
    "task": "images",
    "env_kwargs": {"images_per_episode": 12},
    "channels": (2,),
    "steps": 24,
    "round_size": 4,
    "round_turns": 1,
    "evaluator_updates": 2,
    "policy_updates": 2,
    "batch_size": 4,
    "buffer_size": 16,
    "probing_states": 2,
    "evaluator": "fingerprint",
    "evaluator_hidden": (4,),
    "evaluate_every": 8,
    "evaluate_episodes": 2,
    "device": "cpu",
}
"""Of a run that takes a moment, with any preset."""
