"""Probing states that are images: how they turned from noise into something, and what is
chosen there. One picture for the page, the same as files."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from litmus.files import write_bytes
from litmus.policies.policy import Policy
from litmus.reports.details import RunDetails
from litmus.reports.figures import thin
from litmus.reports.html import heading, paragraph, tag
from litmus.reports.images import (
    enlarge,
    find_contrast,
    is_image,
    to_picture,
    to_png,
    write_picture,
)
from litmus.runs.run import Run

COLUMNS, MOST_COLUMNS = 9, 17
STEPS_BETWEEN = 12_500
"""Of the strip: a column for every so many interactions and one for the start, where that makes a
strip that can be looked at; else so many columns."""
MOST_ROWS = 10
MOST_SHOWN = 50
"""Images in the end, of a run on a page of many."""
MOST_SIDE = 64
"""Pixels of an image on such a page."""
LEAST_SIDE, PAGE_SIDE, GAP = 84, 56, 4
"""Pixels of an image in a picture, at least; on a page, where there are many; between two."""
WHITE = 255
STRIP = "Probing states from the start to the end of the run"


def choose_columns(steps: NDArray[np.float64]) -> NDArray[np.int64]:
    """The snapshots nearest to evenly spaced steps, the first and the last among them."""
    count = 1 + round((steps[-1] - steps[0]) / STEPS_BETWEEN)
    wanted = np.linspace(steps[0], steps[-1], count if 4 < count <= MOST_COLUMNS else COLUMNS)
    return np.unique(np.abs(steps[None] - wanted[:, None]).argmin(axis=1))


def draw(one: NDArray[Any], least_side: int) -> NDArray[np.uint8]:
    """An image, with its own contrast."""
    return enlarge(to_picture(one, find_contrast(one)), least_side)


def arrange(images: NDArray[Any], least_side: int = LEAST_SIDE) -> NDArray[np.uint8]:
    """A table of images [rows, columns, *state] as one picture."""
    pictures = [[draw(one, least_side) for one in row] for row in images]
    height, width, *rest = pictures[0][0].shape
    tall, wide = height + GAP, width + GAP
    table = np.full(
        (len(pictures) * tall - GAP, len(pictures[0]) * wide - GAP, *rest), WHITE, np.uint8
    )
    for i, row in enumerate(pictures):
        for j, one in enumerate(row):
            table[i * tall : i * tall + height, j * wide : j * wide + width] = one
    return table


def name_choices(policy: Policy, observations: NDArray[Any]) -> list[str]:
    """The likeliest choice for each image, and how likely."""
    with torch.no_grad():
        probabilities = policy(torch.as_tensor(observations)).numpy()
    start = getattr(policy.architecture.head.actions, "start", 0)
    return [f"{start + int(one.argmax())} ({one.max():.0%})" for one in probabilities]


def write_evolution(details: RunDetails, level: int) -> str:
    """The strip for the page; nothing where states are no images or nobody kept them."""
    shape = details.state_shape
    if details.probing is None or details.snapshots is None or not is_image(shape):
        return ""
    assert details.snapshot_steps is not None
    steps, columns = details.snapshot_steps, choose_columns(details.snapshot_steps)
    shown = details.probing.ranking[:MOST_ROWS]
    states = details.snapshots[columns][:, shown].reshape(len(columns), len(shown), *shape)
    picture = arrange(np.moveaxis(states, 0, 1))
    words = f"One row per probing state, one column per snapshot: steps {_list(steps[columns])}."
    policy = details.policy
    if policy is not None and policy.architecture.head.distribution == "categorical":
        observations = details.probing.raw_states[shown].reshape(len(shown), *shape)
        choices = name_choices(policy, observations)
        words += f" In the end the likeliest choices there are, from the top, {', '.join(choices)}."
    drawn = write_picture(picture, STRIP, "strip")
    caption = heading("How the probing states took shape", level) + paragraph(words)
    return tag("figure", tag("figcaption", caption) + drawn, id=f"evolution-{details.key}")


@dataclass(frozen=True)
class ProbingImages:
    """The probing images of a run: in the end, on the way there, and what is chosen."""

    final: NDArray[Any]  # [K, *state]
    choices: Sequence[str]
    """One per image; none where actions are no choices."""
    rows: NDArray[np.int64]
    """Which of them are in the strip."""
    steps: NDArray[np.float64]
    """Of the strip's columns."""
    strip: NDArray[Any]  # [rows, columns, *state]

    def write(self, folder: Path) -> list[Path]:
        """Files: the images in the end, the strip, and in words what is chosen there."""
        folder.mkdir(parents=True, exist_ok=True)
        written = {"probing-images.png": to_png(arrange(_fold(self.final)))}
        if len(self.steps):
            written["evolution.png"] = to_png(arrange(self.strip))
        if self.choices:
            lines = [f"{k}: {one}" for k, one in enumerate(self.choices)]
            if len(self.steps) and len(self.rows) < len(self.final):
                shown = ", ".join(map(str, self.rows))
                lines.append(f"rows of evolution.png, from the top: {shown}")
            written["choices.txt"] = ("\n".join(lines) + "\n").encode()
        for name, data in written.items():
            write_bytes(folder / name, data)
        return [folder / name for name in written]

    def write_html(self, key: str, title: str, level: int) -> str:
        """The strip, and below it each image in the end with the choice there."""
        words, drawn = "How they came about was not kept.", ""
        if len(self.steps):
            words = f"Columns: after {_list(self.steps)} interactions."
            if len(self.rows) < len(self.final):
                words += f" Rows: images {', '.join(map(str, self.rows))}."
            picture = arrange(shrink(self.strip), PAGE_SIDE)
            drawn = write_picture(picture, STRIP, "strip")
        shown = thin(len(self.final), MOST_SHOWN)
        if len(shown) < len(self.final):
            words += f" Below, {len(shown)} of {len(self.final)} images."
        ends = [self._write_end(int(k)) for k in shown]
        caption = heading(title, level) + paragraph(words)
        drawn += tag("div", "".join(ends), class_="frames many")
        return tag("figure", tag("figcaption", caption) + drawn, id=f"probing-{key}")

    def _write_end(self, k: int) -> str:
        choice = self.choices[k] if self.choices else ""
        text = f"Probing image {k} in the end" + (f", answered with {choice}" if choice else "")
        picture = write_picture(draw(shrink(self.final[k]), PAGE_SIDE), text, "picture")
        return tag("div", picture + escape(choice))


def read_probing_images(run: Run) -> ProbingImages | None:
    """None where states are no images; BadInput where what is known of them is damaged."""
    policy, observations = run.policy, run.evaluator.probing_observations
    if observations is None or not is_image(tuple(policy.architecture.state_shape)):
        return None
    final = observations.numpy()
    steps, snapshots = run.read_probing_snapshots()  # [S], [S, K, *state]
    columns = choose_columns(steps) if len(steps) else np.arange(0)
    rows = thin(len(final), MOST_ROWS)
    is_choice = policy.architecture.head.distribution == "categorical"
    return ProbingImages(
        final,
        name_choices(policy, final) if is_choice else [],
        rows,
        steps[columns],
        np.moveaxis(snapshots[columns][:, rows], 0, 1),
    )


def shrink(images: NDArray[Any]) -> NDArray[Any]:
    """Images [..., height, width] or [..., channels, height, width] for a page that stays light."""
    step = math.ceil(images.shape[-1] / MOST_SIDE)
    return images[..., ::step, ::step]


def _fold(images: NDArray[Any]) -> NDArray[Any]:
    """[K, *state] as rows of at most ten; the last one is filled up with its own last image."""
    width = min(MOST_ROWS, len(images))
    missing = -len(images) % width
    filled = np.concatenate([images, np.repeat(images[-1:], missing, axis=0)])
    return filled.reshape(-1, width, *images.shape[1:])


def _list(steps: NDArray[np.float64]) -> str:
    return ", ".join(f"{int(one):,}" for one in steps)
