"""What an experiment will do: its jobs, and how what they leave is written up."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from litmus.errors import BadInput, option
from litmus.experiments.jobs import Job
from litmus.reports.progress import ReportProgress

WriteUp: TypeAlias = Callable[[Path, Path | None, ReportProgress], list[Path]]
"""Makes tables, figures and a page of what the jobs left in the experiment's folder, and the
results as one file where one is named; says what it wrote. It trains nothing."""

MOST_SEEDS = 10_000
LAST_SEED = 2**32 - 1


OF_ONE_RUN = ("run", "architecture", "states", "indices")
"""Choices of experiments on one run."""


@dataclass(frozen=True)
class Choices:
    """What the user asks of an experiment; what is None is the experiment's to say."""

    tasks: tuple[str, ...] | None = None
    algorithms: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None
    steps: int | None = None
    evaluate_every: int | None = None
    device: str | None = None
    preset: str | None = None
    probing_states: int | None = None
    data: str | None = None
    run: str | None = None
    """That an experiment on one run is about."""
    architecture: str | None = None
    states: int | None = None
    indices: tuple[int, ...] | None = None
    may_download: bool = True
    """Sets of images that are not on this machine; a dry run may not."""

    def refuse(self, experiment: str, *names: str) -> None:
        """BadInput for a choice that an experiment does not leave to the user."""
        for name in names:
            if getattr(self, name) is not None:
                raise BadInput(f"{experiment} does not take {option(name)}")


@dataclass(frozen=True)
class Plan:
    name: str
    """Of the experiment."""
    title: str
    jobs: tuple[Job, ...]
    write_up: WriteUp
    bytes_per_job: float = 0.0
    """Memory that the largest job takes."""
    places: tuple[str, ...] = ()
    """Where sets of images lie or would come from, in words."""
    read_results: Callable[[Path], object] | None = None
    """BadInput for a file of results to which it could not add; None where it writes over it."""


class Experiment(Protocol):
    def plan(self, name: str, choices: Choices) -> Plan:
        """BadInput for what cannot be done, before anything is."""


def read_seeds(value: Any) -> tuple[int, ...]:
    """'5' are the first five from 0 on, '100-109' those ten; or a list of them."""
    if isinstance(value, list | tuple | range):
        found = tuple(dict.fromkeys(_check_seed(seed) for seed in value))
    elif _is_whole(value):
        found = _count_seeds(0, value - 1)
    else:
        words = re.fullmatch(r"([0-9_]{1,20})(?:-([0-9_]{1,20}))?", str(value).strip())
        if words is None:
            raise BadInput(
                f"{option('seeds')} takes a number of seeds or a range such as 100-109, "
                f"not '{value}'"
            )
        first, last = (int(word.replace("_", "") or 0) for word in (words[1], words[2] or "0"))
        found = _count_seeds(first, last) if words[2] else _count_seeds(0, first - 1)
    if not found:
        raise BadInput(f"{option('seeds')} holds no seed: '{value}'")
    return found


def _count_seeds(first: int, last: int) -> tuple[int, ...]:
    if last - first >= MOST_SEEDS:
        raise BadInput(f"{option('seeds')} must be at most {MOST_SEEDS:,}, not {last - first + 1}")
    return tuple(range(_check_seed(first), _check_seed(last) + 1)) if last >= first else ()


def _check_seed(seed: Any) -> int:
    if not _is_whole(seed) or not 0 <= seed <= LAST_SEED:
        raise BadInput(f"{option('seeds')} takes whole numbers from 0 to {LAST_SEED}, not '{seed}'")
    return int(seed)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
