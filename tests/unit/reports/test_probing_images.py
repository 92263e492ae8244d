"""Pictures of probing images: what is where in them."""

from __future__ import annotations

import numpy as np

from litmus.reports.probing_images import GAP, LEAST_SIDE, arrange, choose_columns


def test_a_strip_has_a_column_for_every_eighth_of_the_run() -> None:
    steps = np.arange(0, 100_001, 1000.0)
    assert steps[choose_columns(steps)].tolist() == [12_500.0 * n // 1000 * 1000 for n in range(9)]
    assert choose_columns(np.array([0.0])).tolist() == [0]
    assert choose_columns(np.array([0.0, 50.0])).tolist() == [0, 1]


def test_each_image_lies_in_its_place_with_its_own_scale() -> None:
    images, zoom = np.zeros((2, 3, 4, 5)), LEAST_SIDE // 4  # small images are enlarged
    images[1, 2, 0, 1] = 1e-3
    table = arrange(images)
    assert table.shape == (2 * (4 * zoom + GAP) - GAP, 3 * (5 * zoom + GAP) - GAP)
    row, column = 4 * zoom + GAP, 2 * (5 * zoom + GAP)
    bright = np.zeros((4, 5))
    bright[0, 1] = 255
    found = table[row : row + 4 * zoom : zoom, column : column + 5 * zoom : zoom]
    assert np.array_equal(found, bright)
    assert (table[4 * zoom : row] == 255).all()


def test_colours_stay_colours() -> None:
    assert arrange(np.random.default_rng(0).random((1, 2, 3, 4, 4))).shape[2] == 3
