"""An experiment of one's own, from a TOML or JSON file.

title = "Noise and recency on Swimmer"
tasks = ["Swimmer-v5"]
algorithms = ["pssvf", "wide"]
seeds = "0-4"
steps = 200_000

[options]                       # of every run
evaluate_every = 5_000

[grid]                          # every combination of these
noise = [0.02, 0.05]
recency = [0.0, 1.1]

[variants.wide]                 # an algorithm with options, under a name of its own
algorithm = "pssvf"
hidden = [512, 512]
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from litmus.errors import BadInput, suggest
from litmus.experiments.baselines import BASELINES
from litmus.experiments.grid import Grid, Variant
from litmus.experiments.plan import read_seeds
from litmus.experiments.random_policy import UNTRAINED
from litmus.fields import MOST_STEPS, Values, check_whole
from litmus.files import read_json, read_plain

KEYS = ("title", "tasks", "algorithms", "seeds", "steps", "preset", "options", "grid", "variants")
CHOSEN_ELSEWHERE = ("task", "seed", "steps", "algorithm", "out")
"""Options that are no one's to set beside the keys above."""


def is_plan_file(name: Path | str) -> bool:
    return isinstance(name, Path) or str(name).endswith((".toml", ".json"))


def read_plan_file(path: Path) -> Grid:
    values = _read(path)
    for key in values:
        if key not in KEYS:
            raise BadInput(f"{path}: unknown key '{key}'{suggest(key, KEYS)}")
    if "tasks" not in values:
        raise BadInput(f'{path} names no tasks, such as tasks = ["Swimmer-v5"]')
    own = _read_variants(path, values)
    names = _read_names(path, "algorithms", values.get("algorithms", list(own) or ["pssvf"]))
    steps = values.get("steps")
    if steps is not None:
        steps = check_whole("steps", steps, 1, MOST_STEPS)
    return Grid(
        title=_read_text(path, "title", values.get("title", path.stem)),
        tasks=_read_names(path, "tasks", values["tasks"]),
        variants=_choose_variants(own, names, values.get("preset", "default")),
        seeds=read_seeds(values.get("seeds", 5)),
        steps=lambda task: steps,
        options=_read_options(path, "options", values.get("options", {})),
        grid=_read_grid(path, values.get("grid", {})),
        beside=tuple(name for name in names if name in BASELINES),
    )


def _read(path: Path) -> Values:
    if path.suffix == ".json":
        return read_json(path)
    try:
        return tomllib.loads(read_plain(path).decode())
    except FileNotFoundError as error:
        raise BadInput(f"there is no file {path}") from error
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path} is not TOML: {error}") from error


def _read_variants(path: Path, values: Values) -> dict[str, Variant]:
    """Those that the file defines itself."""
    preset = _read_text(path, "preset", values.get("preset", "default"))
    own: dict[str, Variant] = {}
    for name, described in _read_table(path, "variants", values.get("variants", {})).items():
        if name in (*BASELINES, UNTRAINED):
            raise BadInput(f"{path}: a variant cannot be called '{name}', which is another thing")
        options = dict(_read_table(path, f"variants.{name}", described))
        algorithm = _read_text(
            path, f"variants.{name}.algorithm", options.pop("algorithm", "pssvf")
        )
        own_preset = _read_text(path, f"variants.{name}.preset", options.pop("preset", preset))
        options = _read_options(path, f"variants.{name}", options)
        own[name] = Variant(name, algorithm, own_preset, options)
    return own


def _choose_variants(
    own: Mapping[str, Variant], names: Sequence[str], preset: str
) -> tuple[Variant, ...]:
    known = Grid(title="", tasks=(), variants=tuple(own.values()), seeds=())
    return tuple(
        known.find(name, None if name in own else preset) for name in names if name not in BASELINES
    )


def _read_grid(path: Path, found: Any) -> dict[str, list[Any]]:
    grid = _read_options(path, "grid", found)
    for name, several in grid.items():
        if not isinstance(several, list) or not several:
            raise BadInput(f"{path}: grid.{name} takes a list of values, not '{several}'")
    return grid


def _read_options(path: Path, key: str, found: Any) -> Values:
    options = dict(_read_table(path, key, found))
    for name in options:
        if name in CHOSEN_ELSEWHERE:
            raise BadInput(f"{path}: '{name}' cannot be set in {key}")
    return options


def _read_table(path: Path, key: str, found: Any) -> Mapping[str, Any]:
    if not isinstance(found, dict):
        raise BadInput(f"{path}: {key} takes names with values, not '{found}'")
    return found


def _read_names(path: Path, key: str, found: Any) -> tuple[str, ...]:
    names = [found] if isinstance(found, str) else found
    if not isinstance(names, list) or not names or not all(isinstance(o, str) for o in names):
        raise BadInput(f"{path}: {key} takes a list of names, not '{found}'")
    return tuple(names)


def _read_text(path: Path, key: str, found: Any) -> str:
    if not isinstance(found, str):
        raise BadInput(f"{path}: {key} takes text, not '{found}'")
    return found
