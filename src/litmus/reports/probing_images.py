"""Probing states that are images: how they turned from noise into something, and what is
chosen there. One picture for the page, the same as files."""

from __future__ import annotations

import io
import math
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from litmus.files import write_bytes
from litmus.policies.policy import Policy
from litmus.reports.details import RunDetails
from litmus.reports.figures import thin
from litmus.reports.html import heading, image, paragraph, tag
from litmus.reports.images import find_contrast, is_image, to_picture
from litmus.reports.render import data_uri
from litmus.runs.run import Run

COLUMNS, MOST_COLUMNS = 9, 17
STEPS_BETWEEN = 12_500
"""Of the strip: a column for every so many interactions and one for the start, where that makes a
strip that can be looked at; else so many columns."""
MOST_ROWS = 10
LEAST_SIDE, GAP = 56, 4
"""Pixels of the picture: of an image, at least, and between two."""
WHITE = 255


def choose_columns(steps: NDArray[np.float64]) -> NDArray[np.int64]:
    """The snapshots nearest to evenly spaced steps, the first and the last among them."""
    count = 1 + round((steps[-1] - steps[0]) / STEPS_BETWEEN)
    wanted = np.linspace(steps[0], steps[-1], count if 4 < count <= MOST_COLUMNS else COLUMNS)
    return np.unique(np.abs(steps[None] - wanted[:, None]).argmin(axis=1))


def arrange(images: NDArray[Any]) -> NDArray[np.uint8]:
    """A table of images [rows, columns, *state] as one picture; each has its own contrast."""
    pictures = [[to_picture(one, find_contrast(one)) for one in row] for row in images]
    height, width = pictures[0][0].shape[:2]
    rest = pictures[0][0].shape[2:]
    zoom = math.ceil(LEAST_SIDE / height)
    tall, wide = zoom * height + GAP, zoom * width + GAP
    table = np.full(
        (len(pictures) * tall - GAP, len(pictures[0]) * wide - GAP, *rest), WHITE, np.uint8
    )
    for i, row in enumerate(pictures):
        for j, one in enumerate(row):
            zoomed = one.repeat(zoom, axis=0).repeat(zoom, axis=1)
            table[i * tall : i * tall + zoom * height, j * wide : j * wide + zoom * width] = zoomed
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
    drawn = image(
        data_uri(to_png(picture), "image/png"),
        "Probing states from the start to the end of the run",
        picture.shape[1],
        picture.shape[0],
        class_="strip",
    )
    caption = heading("How the probing states took shape", level) + paragraph(words)
    return tag("figure", tag("figcaption", caption) + drawn, id=f"evolution-{details.key}")


def write_probing_images(run: Run, folder: Path) -> list[Path]:
    """Files: the probing images in the end, the strip of their evolution, and in words what is
    chosen there. Nothing where states are no images."""
    evaluator, policy = run.evaluator, run.policy
    shape = tuple(policy.architecture.state_shape)
    observations = evaluator.probing_observations
    if observations is None or not is_image(shape):
        return []
    steps, snapshots = run.read_probing_snapshots()  # [S], [S, K, *state]
    final = observations.numpy()
    folder.mkdir(parents=True, exist_ok=True)
    written = {"probing-images.png": to_png(arrange(_fold(final)))}
    if len(steps):
        columns, shown = choose_columns(steps), thin(len(final), MOST_ROWS)
        strip = np.moveaxis(snapshots[columns][:, shown], 0, 1)
        written["evolution.png"] = to_png(arrange(strip))
    if policy.architecture.head.distribution == "categorical":
        lines = [f"{k}: {one}" for k, one in enumerate(name_choices(policy, final))]
        if len(steps) and len(shown) < len(final):
            lines.append(f"rows of evolution.png, from the top: {', '.join(map(str, shown))}")
        written["choices.txt"] = ("\n".join(lines) + "\n").encode()
    for name, data in written.items():
        write_bytes(folder / name, data)
    return [folder / name for name in written]


def _fold(images: NDArray[Any]) -> NDArray[Any]:
    """[K, *state] as rows of at most ten; the last one is filled up with its own last image."""
    width = min(MOST_ROWS, len(images))
    missing = -len(images) % width
    filled = np.concatenate([images, np.repeat(images[-1:], missing, axis=0)])
    return filled.reshape(-1, width, *images.shape[1:])


def to_png(picture: NDArray[np.uint8]) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(picture).save(file, "PNG")
    return file.getvalue()


def _list(steps: NDArray[np.float64]) -> str:
    return ", ".join(f"{int(one):,}" for one in steps)
