"""Runs of the same configuration together, named by what differs between them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from litmus.analysis.records import RunRecord, read_returns
from litmus.analysis.statistics import (
    Band,
    Estimate,
    average_curves,
    interquartile_mean,
    summarize,
    summarize_range,
)

NOT_THE_METHOD = (
    *("workers", "collector", "ray_address", "device"),
    *("checkpoint_seconds", "tensorboard"),
)
"""Options of a run that another run of the same seed may differ by."""
NOT_THE_CONFIGURATION = frozenset({"seed", *NOT_THE_METHOD})
"""Options by which two runs of one configuration may differ: none of them is about the method."""

LABEL_PARTS = 3


@dataclass(frozen=True)
class Group:
    """Runs that differ by their seed only."""

    label: str
    task: str
    algorithm: str
    records: tuple[RunRecord, ...]

    @property
    def finals(self) -> list[float]:
        return [r.final_return for r in self.records if r.final_return is not None]

    @property
    def final_return(self) -> Estimate | None:
        """Over runs; of one run, its final return with the range that it is the mean of."""
        if len(self.finals) > 1:
            return summarize(self.finals)
        for record in self.records:
            if record.final_return is not None:
                return summarize_single(record)
        return None

    @property
    def untrained_return(self) -> float | None:
        """Mean over runs, where all that have a final return were measured before training too."""
        known = [r.untrained_return for r in self.records if r.final_return is not None]
        found = [value for value in known if value is not None]
        return float(np.mean(found)) if found and len(found) == len(known) else None

    def average(self, over: Literal["steps", "wall_s"]) -> Band | None:
        return average_curves([record.evaluation_curve(over) for record in self.records])

    @property
    def middle_record(self) -> RunRecord:
        """The run nearest to the group's interquartile mean: the one to show where one must do."""
        finished = [r for r in self.records if r.final_return is not None]
        if not finished:
            return self.records[0]
        middle = float(interquartile_mean(self.finals))
        return min(finished, key=lambda r: abs((r.final_return or 0.0) - middle))


def summarize_single(record: RunRecord) -> Estimate:
    """The final return of one run: the range is that of its evaluations, or of the one's episodes.

    It says how steady this run is at its end, and nothing of other seeds.
    """
    evaluations = record.final_evaluations
    if len(evaluations) > 1:
        return summarize_range([float(event["mean"]) for event in evaluations])
    mean = float(evaluations[0]["mean"])
    return replace(summarize_range(read_returns(evaluations[0]) or [mean]), value=mean)


def group_records(records: Sequence[RunRecord]) -> list[Group]:
    """Groups in the order of their first run; unreadable runs belong to none."""
    members: dict[str, list[RunRecord]] = {}
    for record in records:
        if record.run is not None and record.config:
            key = json.dumps(select_method(record.config), sort_keys=True, default=str)
            members.setdefault(key, []).append(record)
    labels = _label_groups([group[0].config for group in members.values()])
    return [
        Group(label, group[0].task, group[0].algorithm, tuple(group))
        for label, group in zip(labels, members.values(), strict=True)
    ]


def find_differences(configs: Sequence[dict[str, Any]]) -> list[str]:
    """Options of the method that are not the same in all configurations."""
    names = sorted({name for config in configs for name in select_method(config)})
    return [name for name in names if len({json.dumps(config.get(name)) for config in configs}) > 1]


def _label_groups(configs: Sequence[dict[str, Any]]) -> list[str]:
    """Task and algorithm, then what else differs: as much as a legend can hold."""
    differing = find_differences(configs)
    shared = [name for name in differing if all(name in config for config in configs)]
    leading = [name for name in ("task", "algorithm") if name in differing]
    others = [name for name in shared if name not in ("task", "algorithm")]
    labels = [_label(config, leading or ["task", "algorithm"], []) for config in configs]
    if len(set(labels)) == len(labels):
        return labels  # a task or an algorithm brings its own values; the table has them
    if others:
        labels = [_label(config, leading, others[:LABEL_PARTS]) for config in configs]
    return _tell_apart(labels, configs)


def _tell_apart(labels: Sequence[str], configs: Sequence[dict[str, Any]]) -> list[str]:
    """What is still called alike also says by what else it differs."""
    told = list(labels)
    for label in labels:
        places = [place for place, one in enumerate(told) if one == label]
        alike = [configs[place] for place in places]
        differing = find_differences(alike)[:LABEL_PARTS]
        if len(places) > 1 and differing:
            more = _tell_apart([_label(config, [], differing) for config in alike], alike)
            for place, words in zip(places, more, strict=True):
                told[place] = f"{label}, {words}"
    return told


def _label(config: dict[str, Any], plain: Sequence[str], named: Sequence[str]) -> str:
    parts = [str(config.get(name, "?")) for name in plain]
    parts += [f"{name.replace('_', ' ')} {show_value(config.get(name))}" for name in named]
    return ", ".join(parts)


def show_value(value: object) -> str:
    """A configuration value, for people."""
    if isinstance(value, list):
        return "×".join(map(str, value)) or "none"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return str(value)


def select_method(config: Mapping[str, Any]) -> dict[str, Any]:
    """What of a configuration is about the method."""
    return {key: value for key, value in config.items() if key not in NOT_THE_CONFIGURATION}
