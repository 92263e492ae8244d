"""An experiment that is a grid of runs: tasks × algorithms × seeds.

What a table calls an algorithm is a `Variant`: an algorithm of litmus with a preset and options.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

from litmus.algorithms import ALGORITHMS
from litmus.config import TrainConfig
from litmus.counts import say_names
from litmus.errors import BadInput, suggest
from litmus.experiments.baselines import BASELINES, make_baseline_jobs
from litmus.experiments.jobs import Job, TrainJob, name_folder
from litmus.experiments.plan import OF_ONE_RUN, Choices, Plan
from litmus.experiments.random_policy import UNTRAINED
from litmus.experiments.table_file import read_table
from litmus.experiments.write_up import Subject, write_up_grid
from litmus.fields import Values
from litmus.presets import PRESETS
from litmus.reports.comparison_table import Figures, PaperFigure, shorten_task
from litmus.tasks.image_sets import describe_place, look_for
from litmus.tasks.known_images import IMAGE_SETS
from litmus.tasks.names import base_name

ONE_CORE: Values = {"workers": 0, "device": "cpu"}
"""The cheapest way to do many runs: one on each core, alone in its process."""

MOST_RUNS = 100_000


@dataclass(frozen=True)
class Variant:
    """A column of the table."""

    name: str
    algorithm: str
    preset: str = "default"
    options: Mapping[str, Any] = field(default_factory=dict)


def no_steps(task: str) -> int | None:
    """As many as the preset says."""
    return None


@dataclass(frozen=True, kw_only=True)
class Grid:
    title: str
    tasks: tuple[str, ...]
    variants: tuple[Variant, ...]
    """Those that it knows by name, and compares when nobody chooses others."""
    seeds: tuple[int, ...]
    steps: Callable[[str], int | None] = no_steps
    """For a task; None where the preset says it."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Of every run."""
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Options with several values each: every variant is run with every combination."""
    beside: tuple[str, ...] = ()
    """What else is measured in every task: names of `baselines.py`."""
    paper: Mapping[str, Mapping[str, PaperFigure]] = field(default_factory=dict)
    """What the paper reports: by a task's name without its version, then by variant."""

    def plan(self, name: str, choices: Choices) -> Plan:
        """Every configuration is built and every task tried out: what is wrong is told here. (Sets
        of images that a dry run would have to download are not.)"""
        from litmus.training.api import check_setup

        choices.refuse(name, "probing_states", "data", *OF_ONE_RUN)
        tasks = list(dict.fromkeys(choices.tasks or self.tasks))
        variants, baselines = self._choose(choices)
        seeds = choices.seeds or self.seeds
        if len(tasks) * len(variants) * len(seeds) > MOST_RUNS:
            raise BadInput(f"{name} would be more than {MOST_RUNS:,} runs")
        configs = {
            (task, variant.name): self._configure(task, variant, choices)
            for task in tasks
            for variant in variants
        }
        tried = [c for c in configs.values() if choices.may_download or _is_here(c)]
        largest = max(map(check_setup, tried), default=0.0)
        places = dict.fromkeys(
            describe_place(c.task, c.data) for c in configs.values() if c.task in IMAGE_SETS
        )
        # Seed by seed: whenever it is stopped, all algorithms are about as far.
        jobs: list[Job] = [
            _make_job(task, variant, replace(configs[task, variant.name], seed=seed))
            for seed in seeds
            for task in tasks
            for variant in variants
        ]
        for name_beside, task in product(baselines, tasks):
            jobs += make_baseline_jobs(name_beside, configs[task, variants[0].name], seeds)
        figures = self._find_figures(tasks, choices.steps)
        entitle = partial(self.entitle, name, choices.preset)
        subject = Subject(entitle, figures, self.tasks, self.own_algorithms)
        write_up = partial(write_up_grid, subject, tuple(jobs))
        title = entitle(tasks, [*(variant.name for variant in variants), *baselines])
        return Plan(name, title, tuple(jobs), write_up, largest, tuple(places), read_table)

    @property
    def own_algorithms(self) -> list[str]:
        """What it compares when nobody chooses."""
        return [one.name for base in self.variants for one in combine(base, self.grid)]

    def entitle(
        self, name: str, preset: str | None, tasks: Sequence[str], algorithms: Sequence[str]
    ) -> str:
        """Its own title for all that it compares; else what there is, in words."""
        compared = set(algorithms) - {*BASELINES, UNTRAINED}
        if preset is None and (set(tasks), compared) == (set(self.tasks), set(self.own_algorithms)):
            return self.title
        shown = [one for one in algorithms if one != UNTRAINED]
        on = say_names([shorten_task(task) for task in tasks], "task")
        words = f"{name}: {say_names(shown, 'algorithm')} on {on}"
        return words if preset is None else f"{words}, with the preset {preset}"

    def _find_figures(self, tasks: Sequence[str], steps: int | None) -> Figures:
        """What the paper reports, of tasks that are trained for as long."""
        given = math.inf if steps is None else steps
        is_long = {base_name(task): given >= (self.steps(task) or 0) for task in tasks}
        return Figures({name: row for name, row in self.paper.items() if is_long.get(name)})

    def _choose(self, choices: Choices) -> tuple[list[Variant], list[str]]:
        """The columns: algorithms, and what stands beside them."""
        names = [variant.name for variant in self.variants]
        chosen = list(dict.fromkeys(choices.algorithms or names))
        beside = chosen if choices.algorithms else self.beside
        bases = [self.find(one, choices.preset) for one in chosen if one not in BASELINES]
        if not bases:
            alone = " and ".join(chosen or beside)
            raise BadInput(f"{alone} alone: no experiment; choose an algorithm of litmus as well")
        if len(bases) * math.prod(map(len, self.grid.values())) > MOST_RUNS:
            raise BadInput(f"the grid has more than {MOST_RUNS:,} combinations")
        variants = [one for base in bases for one in combine(base, self.grid)]
        _refuse_equal_names([one.name for one in variants])
        return variants, [one for one in BASELINES if one in beside]

    def find(self, name: str, preset: str | None) -> Variant:
        """One of its own, or any ALGORITHM or ALGORITHM-PRESET."""
        own = {variant.name: variant for variant in self.variants}
        named = {
            f"{algorithm}-{one}": (algorithm, one) for algorithm in ALGORITHMS for one in PRESETS
        }
        if name in own:
            found = own[name]
            is_named = name == f"{found.algorithm}-{found.preset}"
            return found if preset is None or is_named else replace(found, preset=preset)
        if name in ALGORITHMS or ":" in name:
            return Variant(name, name, preset or "default")
        if name in named:
            return Variant(name, *named[name])
        known = [*own, *ALGORITHMS, *named, *BASELINES]
        raise BadInput(f"unknown algorithm '{name}'{suggest(name, known)}")

    def _configure(self, task: str, variant: Variant, choices: Choices) -> TrainConfig:
        from litmus.training.api import make_config

        steps = choices.steps if choices.steps is not None else self.steps(task)
        chosen = {
            "steps": steps,
            "evaluate_every": choices.evaluate_every,
            "device": choices.device,
        }
        given = {**ONE_CORE, **self.options, **variant.options, "task": task}
        given |= {name: value for name, value in chosen.items() if value is not None}
        return make_config(variant.algorithm, given, variant.preset)


def _is_here(config: TrainConfig) -> bool:
    """Whether nothing would have to be downloaded for it."""
    return config.task not in IMAGE_SETS or look_for(config.task, config.data) is not None


def combine(base: Variant, grid: Mapping[str, Sequence[Any]]) -> list[Variant]:
    """The variant with every combination of the values in `grid`. Names stay the same when others
    are added: they are where runs lie."""
    if not grid:
        return [base]
    variants = []
    for values in product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        words = [base.name, *(f"{name}={show_short(one)}" for name, one in chosen.items())]
        options = {**base.options, **chosen}
        variants.append(replace(base, name=",".join(words), options=options))
    return variants


def show_short(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "x".join(map(show_short, value)) or "none"
    is_short = isinstance(value, float) and float(f"{value:g}") == value
    return f"{value:g}" if is_short else str(value)


def _refuse_equal_names(names: Sequence[str]) -> None:
    for name, count in Counter([*names, *BASELINES, UNTRAINED]).items():
        if count > 1:
            raise BadInput(f"two algorithms of the experiment would be called '{name}'")


def _make_job(task: str, variant: Variant, config: TrainConfig) -> TrainJob:
    parts = (name_folder(task), name_folder(variant.name), f"seed-{config.seed}")
    return TrainJob(task, variant.name, "/".join(("runs", *parts)), config.to_dict())
