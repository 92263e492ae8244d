"""A file with the table of a grid and every seed's curve, such as results/learning_curves.json."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from litmus.analysis.comparison import OVERALL, Comparison
from litmus.analysis.statistics import Curve
from litmus.errors import BadInput, one_line, option
from litmus.experiments.seed_results import CellResults, SeedResult, sort_seeds
from litmus.files import read_json, to_text, write_bytes
from litmus.reports.comparison_table import PaperFigure
from litmus.reports.overall import describe_overall

Value = TypeVar("Value")


def write_table(path: Path, cells: Sequence[CellResults], markdown: str) -> None:
    """The JSON, and the Markdown beside it."""
    table: dict[str, Any] = {}
    for cell in cells:
        table.setdefault(cell.task, {})[cell.algorithm] = cell.to_json()
    overall = describe_overall(Comparison(tuple(cell.cell for cell in cells)))
    if overall:
        table[OVERALL] = overall
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_bytes(path, to_text(table, indent=None).encode())
        write_bytes(path.with_suffix(".md"), markdown.encode())
    except OSError as error:
        raise BadInput(f"cannot write {path}: {error.strerror}") from error


def read_table(path: Path) -> list[CellResults]:
    """What `write_table` wrote; BadInput where the file holds something else."""
    table = read_json(path, f"; name another {option('results')}")
    try:
        return [
            _read_cell(task, algorithm, told)
            for task, row in table.items()
            if task != OVERALL
            for algorithm, told in row.items()
        ]
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        reason = f"no {error}" if isinstance(error, KeyError) else one_line(error)
        raise BadInput(
            f"{path} does not hold tasks, algorithms and seeds as this experiment writes them "
            f"({reason}); name another {option('results')}"
        ) from error


def _read_cell(task: str, algorithm: str, told: Mapping[str, Any]) -> CellResults:
    numbers = [_read_whole(one) for one in told["seeds"]]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ValueError(f"no seeds, or one twice: {task}, {algorithm}")
    count = len(numbers)
    steps = told.get("seed_steps") or [told["steps"]] * count
    curves = _read_by_seed(told.get("curves"), lambda one: _read_curve(one, "returns"))
    losses = _read_by_seed(told.get("losses"), lambda one: _read_curve(one, "losses"))
    origins = _read_origins(told.get("origins") or ())
    seeds = [
        SeedResult(
            seed,
            _read_number(return_),
            _read_whole(made),
            None if untrained is None else _read_number(untrained),
            None if last is None else _read_number(last),
            curves.get(seed),
            losses.get(seed),
            origins.get(seed, {}),
        )
        for seed, return_, made, untrained, last in zip(
            numbers,
            told["returns"],
            steps,
            told.get("untrained") or [None] * count,
            told.get("last") or [None] * count,
            strict=True,
        )
    ]
    options = told.get("options")
    reached = _read_by_seed(
        told.get("steps_to_paper"), lambda one: None if one is None else _read_whole(one)
    )
    return CellResults(
        task,
        algorithm,
        sort_seeds(seeds),
        None if options is None else dict(options),
        _read_figure(told.get("paper")),
        reached,
    )


def _read_by_seed(told: Any, read: Callable[[Any], Value]) -> dict[int, Value]:
    return {int(seed): read(value) for seed, value in (told or {}).items()}


def _read_curve(told: Mapping[str, Any], values: str) -> Curve:
    points = [
        (_read_number(x), _read_number(y)) for x, y in zip(told["steps"], told[values], strict=True)
    ]
    array = np.array(points, dtype=np.float64).reshape(-1, 2)
    return Curve(array[:, 0], array[:, 1])


def _read_origins(told: Sequence[Mapping[str, Any]]) -> dict[int, dict[str, Any]]:
    """By the seeds that they made."""
    found = {}
    for one in told:
        origin = {name: value for name, value in one.items() if name != "seeds"}
        found.update({_read_whole(seed): origin for seed in one["seeds"]})
    return found


def _read_figure(told: Any) -> PaperFigure | None:
    if told is None:
        return None
    mean, std = told
    return _read_number(mean), None if std is None else _read_number(std)


def _read_whole(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"not a whole number: {value!r}")
    return value


def _read_number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"not a number: {value!r}")
    return float(value)
