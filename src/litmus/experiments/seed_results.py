"""What each seed of an algorithm left in a task: what a file of results keeps of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from litmus.analysis.comparison import Cell
from litmus.analysis.groups import Group, select_method
from litmus.analysis.records import RunRecord
from litmus.analysis.statistics import Curve, average_curves
from litmus.reports.comparison_table import Figures, PaperFigure
from litmus.reports.image_runs import describe_band, read_loss
from litmus.reports.reaching import find_steps_to
from litmus.runs.final import compute_last_return, find_handed_over
from litmus.tasks.known_images import IMAGE_SETS

ORIGIN = ("command", "commit", "versions", "hardware")
"""What a file keeps of the provenance of a run."""


@dataclass(frozen=True)
class SeedResult:
    seed: int
    return_: float
    """The final one."""
    steps: int
    """That it made."""
    untrained: float | None = None
    last: float | None = None
    """What its last policies earned, where another was handed over."""
    curve: Curve | None = None
    losses: Curve | None = None
    """Of the perturbed policies, on sets of images."""
    origin: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class CellResults:
    """One algorithm on one task."""

    task: str
    algorithm: str
    seeds: tuple[SeedResult, ...]
    """In the order of their numbers."""
    options: Mapping[str, Any] | None = None
    """What all seeds were made with; None where nothing of that is known."""
    paper: PaperFigure | None = None
    reached: Mapping[int, int | None] = field(default_factory=dict)
    """By seed, steps to the paper's mean: of seeds whose curve is not known any more."""

    @cached_property
    def cell(self) -> Cell:
        untrained = [one.untrained for one in self.seeds if one.untrained is not None]
        last = [one.return_ if one.last is None else one.last for one in self.seeds]
        return Cell(
            self.task,
            self.algorithm,
            min(one.steps for one in self.seeds),
            tuple(one.seed for one in self.seeds),
            tuple(one.return_ for one in self.seeds),
            tuple(untrained) if len(untrained) == len(self.seeds) else (),
            tuple(last) if any(one.last is not None for one in self.seeds) else (),
        )

    @property
    def steps_to_paper(self) -> dict[int, int | None]:
        """By seed; None for those that never reached its mean."""
        if self.paper is None:
            return {}
        curves = {one.seed: one.curve for one in self.seeds if one.curve is not None}
        found = {seed: find_steps_to(curve, self.paper[0]) for seed, curve in curves.items()}
        known = {**self.reached, **found}
        return {one.seed: known[one.seed] for one in self.seeds if one.seed in known}

    @property
    def origins(self) -> list[dict[str, Any]]:
        """Those that differ, each with the seeds that it made."""
        found: dict[str, dict[str, Any]] = {}
        for one in self.seeds:
            if one.origin:
                key = json.dumps(one.origin, sort_keys=True)
                found.setdefault(key, {**one.origin, "seeds": []})["seeds"].append(one.seed)
        return list(found.values())

    def to_json(self) -> dict[str, Any]:
        """Its statistics, and everything that is known of each seed."""
        curves = {str(one.seed): one.curve for one in self.seeds if one.curve is not None}
        reached = {str(seed): steps for seed, steps in self.steps_to_paper.items()}
        more = {
            **self._average_images(),
            "paper": None if self.paper is None else list(self.paper),
            "curves": {seed: describe_curve(curve) for seed, curve in curves.items()},
            "steps_to_paper": reached,
            "seed_steps": [one.steps for one in self.seeds],
            "options": self.options,
            "origins": self.origins,
        }
        return {**self.cell.to_json(), **{name: value for name, value in more.items() if value}}

    def _average_images(self) -> dict[str, Any]:
        """Curves over all seeds, where each has its own."""
        curves = [one.curve for one in self.seeds if one.curve is not None]
        losses = [one.losses for one in self.seeds if one.losses is not None]
        if min(len(curves), len(losses)) < len(self.seeds):
            return {}
        return {
            "accuracy_curve": describe_band(average_curves(curves), len(curves)),
            "loss_curve": describe_band(average_curves(losses), len(losses)),
            "losses": {
                str(one.seed): {"steps": curve.x.tolist(), "losses": curve.y.tolist()}
                for one, curve in zip(self.seeds, losses, strict=True)
            },
        }


def describe_curve(curve: Curve) -> dict[str, list[float]]:
    return {"steps": [int(x) for x in curve.x], "returns": curve.y.tolist()}


def read_cell(group: Group, paper: Figures) -> CellResults:
    """What the runs of a group left; those that were evaluated."""
    figure = paper.find(Cell(group.task, group.label, 1, (), ()))
    seeds, options = sort_seeds(map(read_seed, group.records)), describe_options(group.records[0])
    return CellResults(group.task, group.label, seeds, options, figure)


def read_seed(record: RunRecord) -> SeedResult:
    assert record.final_return is not None
    is_chosen = find_handed_over(record.events) is not None
    losses = None
    if record.task in IMAGE_SETS and record.run is not None:
        losses = read_loss(record.run)
    return SeedResult(
        int(record.seed or 0),
        record.final_return,
        record.steps,
        record.untrained_return,
        compute_last_return(record.events) if is_chosen else None,
        record.evaluation_curve("steps"),
        losses,
        {name: record.provenance[name] for name in ORIGIN if name in record.provenance},
    )


def describe_options(record: RunRecord) -> dict[str, Any]:
    """What a run shares with those that differ by their seed, or by where they were made."""
    config = record.config if record.run is None else record.run.config.to_dict()
    return select_options(config)


def select_options(config: Mapping[str, Any]) -> dict[str, Any]:
    options = select_method(config)
    data = options.pop("data", None)
    known = IMAGE_SETS.get(options.get("task", ""))
    if data is not None and known is not None and not known.mirrors:  # anybody's own images
        options["data"] = Path(data).name
    plain: dict[str, Any] = json.loads(json.dumps(options))
    return plain


def sort_seeds(seeds: Iterable[SeedResult]) -> tuple[SeedResult, ...]:
    return tuple(sorted(seeds, key=lambda one: one.seed))
