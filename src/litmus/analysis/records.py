"""A run as a report sees it: whatever of the directory can be read, and what cannot, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from litmus.analysis.statistics import Curve
from litmus.errors import BadInput
from litmus.files import read_json, read_own_json
from litmus.runs.directory import check_provenance
from litmus.runs.final import (
    compute_final_return,
    find_untrained_return,
    select_evaluations,
    select_final_evaluations,
)
from litmus.runs.metrics import Event, check_metrics
from litmus.runs.run import Run

State = Literal["finished", "unfinished", "unreadable"]

LAST_ROUNDS = 10


@dataclass(frozen=True)
class RunRecord:
    """One run directory, read once."""

    path: Path
    name: str
    run: Run | None
    """None where the directory is not a run at all."""
    config: dict[str, Any] = field(default_factory=dict)
    provenance: dict[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def state(self) -> State:
        if self.run is None:
            return "unreadable"
        is_finished = bool(self.events) and self.events[-1]["event"] == "finished"
        return "finished" if is_finished else "unfinished"

    @property
    def task(self) -> str:
        return str(self.config.get("task", "unknown task"))

    @property
    def algorithm(self) -> str:
        return str(self.config.get("algorithm", "unknown algorithm"))

    @property
    def seed(self) -> int | None:
        return self.config.get("seed")

    @cached_property
    def rounds(self) -> list[Event]:
        return _select(self.events, "round")

    @cached_property
    def evaluations(self) -> list[Event]:
        return select_evaluations(self.events)

    @property
    def steps(self) -> int:
        """That it made so far, those of choosing a policy to hand over included."""
        return int(self._find_most("steps"))

    @property
    def episodes(self) -> int:
        return int(self._find_most("episodes_done"))

    @property
    def steps_per_episode(self) -> float | None:
        """Of the last whole rounds: a policy that has learned to stay alive runs longer."""
        if not self._last_whole:
            return self.steps / self.episodes if self.episodes else None
        steps, episodes = (
            sum(int(now[name]) - int(before[name]) for before, now in self._last_whole)
            for name in ("steps", "episodes_done")
        )
        return steps / episodes if episodes > 0 else None

    @cached_property
    def _last_whole(self) -> list[tuple[Event, Event]]:
        """The last rounds whose episodes were not cut short, each with the one before it."""
        pairs = [
            (before, now)
            for before, now in pairwise(self.rounds)
            if now["round"] == before["round"] + 1 and not now.get("most_steps")
        ]
        return pairs[1 - LAST_ROUNDS :]

    @property
    def dropped(self) -> int:
        return max((int(event.get("dropped") or 0) for event in self.rounds), default=0)

    @property
    def seconds(self) -> float:
        return float(self._find_most("wall_s"))

    @property
    def steps_per_second(self) -> float | None:
        return self.steps / self.seconds if self.seconds > 0 else None

    @property
    def progress(self) -> float | None:
        """Share of the planned steps that are done."""
        planned = self.config.get("steps")
        return min(1.0, self.steps / planned) if planned else None

    def _find_most(self, count: str) -> float:
        """Of its rounds and of how it ended; an earlier end of one that went on does not count."""
        return max((event.get(count, 0) for event in (*self.rounds, *self.events[-1:])), default=0)

    @cached_property
    def final_evaluations(self) -> list[Event]:
        """The evaluations that the final return is taken from."""
        return select_final_evaluations(self.events)

    @property
    def final_return(self) -> float | None:
        return compute_final_return(self.events)

    @property
    def untrained_return(self) -> float | None:
        """What the policy earned before any training, where that was measured."""
        return find_untrained_return(self.events)

    @property
    def has_improved(self) -> bool | None:
        """Whether the final return is above the untrained policy's; None where one is missing,
        or where nothing but the untrained policy has been evaluated yet."""
        if self.final_return is None or self.untrained_return is None:
            return None
        if self.final_evaluations[0]["steps"] == 0:
            return None
        return self.final_return > self.untrained_return

    @property
    def best_evaluation(self) -> Event | None:
        return max(self.evaluations, key=lambda event: float(event["mean"]), default=None)

    @cached_property
    def has_training_returns(self) -> bool:
        """Whether V learns from something else than the returns, as far as the rounds show: without
        the survival bonus, or a loss."""
        pairs = [(event.get("mean"), event.get("training_mean")) for event in self.rounds]
        return any(
            not math.isclose(paid, trained, rel_tol=1e-6, abs_tol=1e-6)
            for paid, trained in pairs
            if isinstance(paid, int | float) and isinstance(trained, int | float)
        )

    @property
    def measured_training_curve(self) -> Curve:
        """What evaluations of θ measured, in the units that V predicts; empty where that is not
        known: older runs did not keep it where the survival bonus is removed."""
        curve = read_curve(self.evaluations, "steps", "training_mean")
        if curve.x.size or self.has_training_returns:
            return curve
        return read_curve(self.evaluations, "steps", "mean")

    def without_rounds(self) -> RunRecord:
        """The same run, less all but its last rounds: what many of can be held at once."""
        last = [*self.rounds[-LAST_ROUNDS:], *(one for pair in self._last_whole for one in pair)]
        dropped = {id(event) for event in self.rounds} - {id(event) for event in last}
        return replace(self, events=tuple(e for e in self.events if id(e) not in dropped))

    def evaluation_curve(self, over: Literal["steps", "wall_s"]) -> Curve:
        return read_curve(self.evaluations, over, "mean")


def read_record(path: Path | str) -> RunRecord:
    """Read a run directory; whatever is missing or damaged becomes a problem, never an error."""
    path = Path(path)
    name = path.resolve().name
    problems: list[str] = []
    try:
        run = Run(path)
    except (BadInput, OSError) as error:
        return RunRecord(path, name, None, problems=(str(error),))
    config = _read_config(run, problems)
    provenance: dict[str, Any] = {}
    try:
        provenance = check_provenance(path / "provenance.json")
    except BadInput as error:
        problems.append(str(error))
    events = _read_events(run, problems)
    return RunRecord(path, name, run, config, provenance, tuple(events), tuple(problems))


def read_records(paths: Sequence[Path | str]) -> list[RunRecord]:
    """Read several runs and give them names that differ."""
    records = [read_record(path) for path in paths]
    names = [record.name for record in records]
    if len(set(names)) == len(names):
        return records
    return [
        replace(record, name="/".join(record.path.resolve().parts[-2:]))
        if names.count(record.name) > 1
        else record
        for record in records
    ]


def read_showable(paths: Sequence[Path | str]) -> list[RunRecord]:
    """Read several runs; BadInput where not one of them can be shown."""
    records = read_records(paths)
    if any(record.state != "unreadable" for record in records):
        return records
    if len(records) == 1:
        raise BadInput(records[0].problems[0])
    shown = ", ".join(str(record.path) for record in records[:4])
    more = ", …" if len(records) > 4 else ""
    raise BadInput(f"none of these is a run directory: {shown}{more}")


def read_returns(event: Event) -> list[float]:
    """The returns of an evaluation's episodes that are finite."""
    returns = event.get("returns")
    values = returns if isinstance(returns, list) else []
    return [float(value) for value in values if _is_number(value)]


def read_curve(events: Sequence[Event], over: str, value: str) -> Curve:
    """The points of a metric that are there and finite."""
    return Curve.of(
        [
            (float(event[over]), float(event[value]))
            for event in events
            if _is_number(event.get(over)) and _is_number(event.get(value))
        ]
    )


def _read_config(run: Run, problems: list[str]) -> dict[str, Any]:
    """The configuration; of one that cannot be used, what it is about."""
    try:
        _ = run.config
        return read_own_json(run.config_path)
    except BadInput as error:
        problems.append(f"its configuration cannot be used: {error}")
    try:
        found = read_json(run.config_path)
    except BadInput:
        return {}
    return {name: found[name] for name in ("algorithm", "task") if isinstance(found.get(name), str)}


def _read_events(run: Run, problems: list[str]) -> list[Event]:
    if not run.metrics_path.is_file():
        problems.append(f"{run.metrics_path.name} is missing: nothing is known of how it went")
        return []
    least = run.count_kept("metrics_bytes")  # first: what is being written only grows
    problems += run.warnings
    try:
        found = check_metrics(run.metrics_path)
    except BadInput as error:
        problems.append(str(error))
        return []
    # A resumed run that was made longer has a closing event in the middle; only order counts.
    events = [event for event in found.events if "steps" in event]
    for problem in found.describe_problems(0 if found.is_finished else least):
        problems.append(f"{run.metrics_path.name}: {problem}")
    if not events:
        problems.append(f"{run.metrics_path.name} holds no round yet")
    return events


def _select(events: Sequence[Event], kind: str) -> list[Event]:
    return sorted((e for e in events if e["event"] == kind), key=lambda event: event["steps"])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value)
