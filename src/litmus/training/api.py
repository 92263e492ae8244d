"""The calls that the command line and the library share: train and resume."""

from __future__ import annotations

import dataclasses
from collections.abc import Container, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Unpack, overload

from litmus.algorithms import find_options, read_config
from litmus.algorithms.together import Together
from litmus.config import SOLVED_FOR, TrainConfig
from litmus.errors import BadInput, one_line, option
from litmus.fields import check_type, check_whole
from litmus.files import CHECKSUM, describe_os_error, read_json, write_json
from litmus.presets import preset_values
from litmus.runs.directory import create_run, lock_run
from litmus.runs.run import Run
from litmus.tasks import find_task
from litmus.training.callbacks import Callback
from litmus.training.interrupts import InterruptFlag
from litmus.training.keywords import (
    ArsKeywords,
    DdpgKeywords,
    PssvfKeywords,
    VanillaKeywords,
    show_keywords,
)


@dataclass(frozen=True)
class Beside:
    """What a run shares with others that are trained in threads of the same process."""

    interrupt: InterruptFlag | None = None
    """Set when all of them are to stop."""
    place: tuple[Together, int] | None = None
    """Where they meet, and this one's number there."""


ALONE = Beside()

CHANGE_NO_RESULT = ("workers", "collector", "ray_address")
"""Options that a run may go on with others of."""


def make_config(
    algorithm: str,
    options: dict[str, Any],
    preset: str = "default",
    config_file: Path | str | None = None,
) -> TrainConfig:
    """Defaults < preset < configuration file < options."""
    from_file: dict[str, Any] = {}
    if config_file is not None:
        from_file = read_json(Path(config_file))
        from_file.pop(CHECKSUM, None)  # of a run's config.json, which may well have been edited
        named = from_file.pop("algorithm", algorithm)
        if named != algorithm:
            raise BadInput(f"{config_file} is for {named}, not {algorithm}")
    given = {**from_file, **options}
    if isinstance(given.get("data"), str):
        given["data"] = find_absolute(given["data"])
    if "task" not in given:
        raise BadInput(f"no task given; name one, such as {option('task', 'Swimmer-v5')}")
    values = preset_values(preset, algorithm, str(given["task"]), given)
    known = find_options(algorithm, {**values, **given})
    # What the file says of an evaluator or an architecture in whose place another is chosen here.
    of_file = find_options(algorithm, {**values, **from_file})
    for name in from_file.keys() & of_file.keys() - known.keys() - options.keys():
        del given[name]
    # What a user's own class defines has its own defaults: a preset speaks of litmus' options.
    values = {name: v for name, v in values.items() if name in known and known[name].is_ours}
    made = read_config(algorithm, {**values, **given})
    usual = {name: values.get(name, known[name].default) for name in options}
    made.check_given([name for name, value in options.items() if value != usual[name]])
    return made


def find_absolute(folder: str) -> str:
    """A run may be resumed from another folder than it was begun in."""
    return str(Path(folder).expanduser().absolute())


def default_out(config: TrainConfig) -> Path:
    task, algorithm = (
        name.rpartition(":")[2].replace("/", "-") for name in (config.task, config.algorithm)
    )
    return Path("runs") / f"{task}-{algorithm}-seed{config.seed}"


@overload
def train(
    algorithm: Literal["pssvf"],
    *,
    out: Path | str | None = None,
    preset: str = "default",
    config: Path | str | None = None,
    resume_if_exists: bool = False,
    callback: Callback | None = None,
    quiet: bool = False,
    **options: Unpack[PssvfKeywords],
) -> Run: ...


@overload
def train(
    algorithm: Literal["vanilla-pssvf"],
    *,
    out: Path | str | None = None,
    preset: str = "default",
    config: Path | str | None = None,
    resume_if_exists: bool = False,
    callback: Callback | None = None,
    quiet: bool = False,
    **options: Unpack[VanillaKeywords],
) -> Run: ...


@overload
def train(
    algorithm: Literal["ars"],
    *,
    out: Path | str | None = None,
    preset: str = "default",
    config: Path | str | None = None,
    resume_if_exists: bool = False,
    callback: Callback | None = None,
    quiet: bool = False,
    **options: Unpack[ArsKeywords],
) -> Run: ...


@overload
def train(
    algorithm: Literal["ddpg"],
    *,
    out: Path | str | None = None,
    preset: str = "default",
    config: Path | str | None = None,
    resume_if_exists: bool = False,
    callback: Callback | None = None,
    quiet: bool = False,
    **options: Unpack[DdpgKeywords],
) -> Run: ...


@overload
def train(
    algorithm: str,
    *,
    out: Path | str | None = None,
    preset: str = "default",
    config: Path | str | None = None,
    resume_if_exists: bool = False,
    callback: Callback | None = None,
    quiet: bool = False,
    **options: Any,
) -> Run: ...


def train(
    algorithm: str,
    *,
    out: Path | str | None = None,
    preset: str = "default",
    config: Path | str | None = None,
    resume_if_exists: bool = False,
    callback: Callback | None = None,
    quiet: bool = False,
    **options: Any,
) -> Run:
    """Train from scratch and return the run.

    `options` are those of `litmus train`, with underscores: `task="Swimmer-v5", steps=100_000`.
    `out` is the run's directory (default: runs/TASK-ALGORITHM-seedN), which must not exist; with
    `resume_if_exists`, a run that is there already is resumed, or returned if it is finished.
    `config` is a file such as a run's config.json. `callback` is called after each round with a
    `Notice`. Raises BadInput for what cannot be done, and KeyboardInterrupt on Ctrl-C, after a
    checkpoint.
    """
    settings = make_config(algorithm, options, preset, config)
    path = Path(out) if out is not None else default_out(settings)
    if resume_if_exists:
        return begin_or_go_on(path, settings, callback, quiet)
    return _begin(path, settings, callback, quiet, ALONE)


def begin_or_go_on(
    path: Path,
    settings: TrainConfig,
    callback: Callback | None = None,
    quiet: bool = False,
    beside: Beside = ALONE,
) -> Run:
    """Train the run in this directory to its end, from wherever it is."""
    if (path / "config.json").is_file():
        return _go_on(Run(path), settings, callback, quiet, beside)
    return _begin(path, settings, callback, quiet, beside)


def _begin(
    path: Path, settings: TrainConfig, callback: Callback | None, quiet: bool, beside: Beside
) -> Run:
    # What can be wrong with task, policy or device is found before anything is written.
    from litmus.training.tensorboard import check_tensorboard

    check_tensorboard(settings)
    check_setup(settings)
    interrupt = beside.interrupt or InterruptFlag(f"; go on with: litmus resume {path}")
    with interrupt.catching(), create_run(path, settings) as run:
        return _work(Run(run.path), None, callback, quiet, interrupt, beside)


show_keywords(
    train,
    {
        name: one.default
        for choice in ({"evaluator": SOLVED_FOR}, {})
        for name, one in find_options("pssvf", choice).items()
    },
)


def _go_on(
    run: Run, settings: TrainConfig, callback: Callback | None, quiet: bool, beside: Beside
) -> Run:
    """Resume a run that this very call has begun before; one that is finished is the result."""
    refuse_other_config(run, settings)
    if run.status == "finished":
        return run
    changes = {name: getattr(settings, name) for name in CHANGE_NO_RESULT}
    return _resume(run.path, None, changes, callback, quiet, beside)


def refuse_other_config(
    run: Run, settings: TrainConfig, may_differ: Container[str] = CHANGE_NO_RESULT
) -> None:
    """BadInput where a run was begun with other options than these."""
    there, here = run.config.to_dict(), settings.to_dict()
    names = [name for name in (*here, *there) if there.get(name) != here.get(name)]
    different = [name for name in dict.fromkeys(names) if name not in may_differ]
    if different:
        shown = [
            f"{option(name)} is {there.get(name)!r} there and {here.get(name)!r} here"
            for name in different[:3]
        ]
        more = f" (and {len(different) - 3} more differ)" if len(different) > 3 else ""
        raise BadInput(
            f"{run.path} holds a run with another configuration: {', '.join(shown)}{more}; "
            f"choose another {option('out')}"
        )


def resume(
    path: Path | str,
    *,
    steps: float | None = None,
    workers: float | None = None,
    collector: Literal["local", "ray"] | None = None,
    ray_address: str | None = None,
    data: str | None = None,
    callback: Callback | None = None,
    quiet: bool = False,
) -> Run:
    """Go on with a run exactly where it was; `steps` makes it longer than it was meant to be, and
    `data` is where its images lie now."""
    changes = {
        "workers": workers,
        "collector": collector,
        "ray_address": ray_address,
        "data": None if data is None else find_absolute(data),
    }
    return _resume(Path(path), steps, changes, callback, quiet, ALONE)


def _resume(
    path: Path,
    steps: float | None,
    changes: Mapping[str, Any],
    callback: Callback | None,
    quiet: bool,
    beside: Beside,
) -> Run:
    from litmus.runs.restore import restore

    interrupt = beside.interrupt or InterruptFlag(f"; go on with: litmus resume {path}")
    with interrupt.catching(), lock_run(Run(path)):
        run = Run(path)
        config = _change_config(run, steps, changes)
        check_setup(config)
        restored = restore(run)
        run.make_folders()
        if config != run.config:
            write_json(run.config_path, config.to_dict())
        return _work(Run(path), restored, callback, quiet, interrupt, beside)


def _change_config(run: Run, steps: float | None, given: Mapping[str, Any]) -> TrainConfig:
    """The configuration that a run goes on with; what is None stays."""
    changes: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    if steps is not None:
        changes["steps"] = check_whole("steps", steps, 1)
        if steps < run.config.steps:
            raise BadInput(
                f"{option('steps')} can only make a run longer than its {run.config.steps:,}"
            )
    elif run.status == "finished":
        raise BadInput(f"{run.path} is finished; with more {option('steps')} it goes on")
    if "workers" in changes:
        changes["workers"] = check_whole("workers", changes["workers"], 0)
    if "collector" in changes:
        check_type("collector", changes["collector"], Literal["local", "ray"])
    if changes.get("collector") == "local":
        changes["ray_address"] = None
    return dataclasses.replace(run.config, **changes)


def check_setup(config: TrainConfig) -> float:
    """The bytes that a run takes; BadInput for a device that is not there, a task or policy that
    cannot be, or a size that nothing here can hold."""
    from litmus.training.memory import check_memory
    from litmus.training.setup import choose_device, design_policy

    device = choose_device(config.wanted_device)
    if config.collector == "ray":
        from litmus.rollouts.cluster import check_address

        check_address(config.ray_address)
    elif config.ray_address is not None:
        raise BadInput(f"{option('ray_address')} is for {option('collector', 'ray')}")
    try:
        return check_memory(config, design_policy(config, find_task(config)), device)
    except MemoryError as error:
        raise BadInput(f"the run does not fit into memory: {one_line(error)}") from error


def _work(
    run: Run,
    restored: Any,
    callback: Callback | None,
    quiet: bool,
    interrupt: InterruptFlag,
    beside: Beside,
) -> Run:
    from litmus.training.display import Display, NotesDisplay, SilentDisplay, make_display
    from litmus.training.memory import is_out_of_memory
    from litmus.training.trainer import Trainer

    config = run.config
    done = restored.state.counters.steps if restored else 0
    title = f"{config.algorithm} {config.task}"
    display: Display
    if beside.place is not None:
        display = NotesDisplay(run.path.name)
    else:
        display = SilentDisplay() if quiet else make_display(title, config.steps, done)
    interrupt.tell = display.note
    try:
        trainer = Trainer(run, display, restored, callback, interrupt, beside.place)
    except BaseException as error:
        display.close()
        if is_out_of_memory(error):
            raise BadInput(f"the run does not fit into memory: {one_line(error)}") from error
        if isinstance(error, OSError):
            raise BadInput(f"cannot work in {run.path}: {describe_os_error(error)}") from error
        raise
    trainer.train()
    return Run(run.path)
