"""What an experiment shows of its runs on sets of images, beside what it shows of any: the loss of
the perturbed policies, and the probing images of each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.groups import Group
from litmus.analysis.records import read_curve
from litmus.analysis.statistics import FEWEST_FOR_INTERVAL, Band, Curve, average_curves
from litmus.errors import BadInput
from litmus.reports.curves import draw_losses
from litmus.reports.figures import Chart
from litmus.reports.html import figures, paragraph, tag
from litmus.reports.plots import file_name
from litmus.reports.probing_images import ProbingImages, read_probing_images
from litmus.runs.run import Run
from litmus.tasks.known_images import IMAGE_SETS

WINDOWS = 100
"""Points of a curve of losses: each is the mean over the rounds of a part of the run."""
MOST_PICTURED = 24
"""Runs whose images are on the page."""


@dataclass(frozen=True)
class Pictured:
    """A run with its probing images."""

    group: Group
    seed: int | None
    images: ProbingImages

    @property
    def key(self) -> str:
        return file_name(f"{self.group.task}-{self.group.label}-seed{self.seed}")


@dataclass(frozen=True)
class ImageRuns:
    groups: Sequence[Group]
    losses: Mapping[str, Mapping[str, Mapping[str, Curve]]]
    """By task, by configuration, by run."""
    pictured: Sequence[Pictured]
    problems: Sequence[str]
    """Why images of a run cannot be shown."""

    @staticmethod
    def read(groups: Sequence[Group]) -> ImageRuns:
        """Of those groups that are on sets of images."""
        ours = [group for group in groups if group.task in IMAGE_SETS]
        losses: dict[str, dict[str, dict[str, Curve]]] = {}
        pictured, problems = [], []
        for group in ours:
            of_group = losses.setdefault(group.task, {}).setdefault(group.label, {})
            for record in group.records:
                assert record.run is not None
                of_group[record.name] = read_loss(record.run)
                try:
                    images = read_probing_images(record.run) if record.run.has_evaluator else None
                except BadInput as error:
                    problems.append(f"{record.name}: {error}")
                    continue
                pictured += [Pictured(group, record.seed, images)] if images is not None else []
        return ImageRuns(ours, losses, pictured, problems)

    @property
    def words(self) -> list[tuple[str, str]]:
        """What 'accuracy' means on the page."""
        options = [
            record.config.get("env_kwargs") or {} for g in self.groups for record in g.records
        ]
        held_out = " and ".join(sorted({one.get("held_out", "validation") for one in options}))
        meaning = (
            "The return on a set of images: the share that the policy answers rightly, in per "
            f"cent. Evaluations are on {held_out} images."
        )
        return [("Accuracy", meaning)] if self.groups else []

    def draw(self) -> list[Chart]:
        """One chart per task."""
        return [draw_losses(task, losses) for task, losses in self.losses.items()]

    def describe(self, group: Group) -> dict[str, Any]:
        """The curves of a group in numbers, averaged over its runs."""
        losses = self.losses.get(group.task, {}).get(group.label)
        if losses is None:
            return {}
        count = len(group.records)
        loss = average_curves(list(losses.values()))
        return {
            "accuracy_curve": describe_band(group.average("steps"), count),
            "loss_curve": describe_band(loss, count),
        }

    def write_files(self, folder: Path) -> list[Path]:
        return [path for one in self.pictured for path in one.images.write(folder / one.key)]

    def write_html(self) -> str:
        """The images of each run, under the name of its configuration."""
        body, shown = "", self.pictured[:MOST_PICTURED]
        for group in self.groups:
            written = [
                one.images.write_html(one.key, f"Seed {one.seed}", level=4)
                for one in shown
                if one.group is group
            ]
            if written:
                body += tag("h3", escape(f"{group.task}, {group.label}"))
                body += figures((), after="".join(written))
        if len(self.pictured) > len(shown):
            body += paragraph(f"Of {len(self.pictured)} runs, {len(shown)} are shown.", "small")
        return body


INTRODUCTION = (
    "V judges a policy only by what it answers to these images, which begin as noise and are "
    "learned along with V. Strips: one row per image, from the start of the run to its end. Below "
    "each strip are the images in the end, in their order, with the class that the run's policy "
    "answers and how sure it is. Every picture has its own contrast and is drawn smoothly between "
    "its pixels; the folder pictures has them as files."
)


def read_loss(run: Run) -> Curve:
    """The mean cross-entropy of the perturbed policies over the interactions."""
    rounds = [event for event in run.metrics if event["event"] == "round"]
    returns = read_curve(rounds, "steps", "training_mean")
    if returns.x.size <= WINDOWS:
        return Curve(returns.x, -returns.y)
    steps, losses = (
        np.array([part.mean() for part in np.array_split(values, WINDOWS)])
        for values in (returns.x, -returns.y)
    )
    return Curve(steps, losses)


def describe_band(band: Band | None, runs: int) -> dict[str, list[Any]] | None:
    """Steps, means, and the bounds of their intervals, or of the range of few runs."""
    if band is None:
        return None
    kind = "ci95" if runs >= FEWEST_FOR_INTERVAL else "range"
    bounds = [band.low.tolist(), band.high.tolist()]
    return {"steps": band.x.tolist(), "mean": band.mean.tolist(), kind: bounds}
