"""Pictures of probing images: what is where in them."""

from __future__ import annotations

import numpy as np
import pytest

from litmus.reports.images import enlarge
from litmus.reports.probing_images import (
    GAP,
    LEAST_SIDE,
    ProbingImages,
    arrange,
    choose_columns,
)


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


@pytest.mark.parametrize("side", [4, 28])
def test_colours_stay_colours(side: int) -> None:
    assert arrange(np.random.default_rng(0).random((1, 2, 3, side, side))).shape[2] == 3


def test_cells_of_a_grid_stay_squares_and_larger_images_are_drawn_smoothly() -> None:
    grid, image = (np.where(np.arange(side) < 8, 0, 255).astype(np.uint8) for side in (12, 28))
    small = enlarge(np.tile(grid, (12, 1)), 36)
    assert np.array_equal(small, np.tile(grid.repeat(3), (36, 1)))
    large = enlarge(np.tile(image, (28, 1)), 84)
    assert large.shape == (84, 84)
    assert (large[:, :22] == 0).all()
    assert (large[:, 27:] == 255).all()
    assert (np.diff(large[0, 22:26].astype(int)) > 50).all()  # from black to white by and by


@pytest.mark.parametrize("side", [28, 256])
def test_a_page_with_ten_noisy_images_of_five_runs_stays_light(side: int) -> None:
    noise = np.random.default_rng(0).random((10, 9, side, side))
    steps, choices = np.linspace(0, 1e5, 9), [f"{k} (99%)" for k in range(10)]
    images = ProbingImages(noise[:, -1], choices, np.arange(10), steps, noise)
    page = images.write_html("a", "Seed 1", level=3)
    assert page.count("<img") == 1 + 10
    assert "after 0, 12,500, 25,000, 37,500" in page
    assert all(f">{one}</div>" in page for one in choices)
    assert 5 * len(page) < 5e6
