"""The calls that the command line and the library share: train, resume, measure."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from litmus.algorithms import find_options, read_config
from litmus.config import MOST_EPISODES, TrainConfig
from litmus.errors import BadInput
from litmus.files import CHECKSUM, describe_os_error, one_line, read_json, write_json
from litmus.presets import preset_values
from litmus.rollouts.base import Request, Setting
from litmus.rollouts.machine import check_workers
from litmus.rollouts.make import make_collector
from litmus.runs.directory import create_run, lock_run
from litmus.runs.run import Run
from litmus.seeding import Stream
from litmus.tasks import find_task


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
    if "task" not in given:
        raise BadInput("no task given; name one with --task, such as --task Swimmer-v5")
    values = preset_values(preset, algorithm, str(given["task"]))
    known = find_options(algorithm, {**values, **given})
    values = {name: value for name, value in values.items() if name in known}
    return read_config(algorithm, {**values, **given})


def default_out(config: TrainConfig) -> Path:
    task, algorithm = (
        name.rpartition(":")[2].replace("/", "-") for name in (config.task, config.algorithm)
    )
    return Path("runs") / f"{task}-{algorithm}-seed{config.seed}"


def train(
    algorithm: str,
    *,
    out: Path | str | None = None,
    preset: str = "default",
    config: Path | str | None = None,
    quiet: bool = False,
    **options: Any,
) -> Run:
    """Train from scratch and return the run.

    `options` are those of `litmus train`, with underscores: `task="Swimmer-v5", steps=100_000`;
    `config` is a file such as a run's config.json.
    Raises BadInput for what cannot be done, and KeyboardInterrupt on Ctrl-C, after a checkpoint.
    """
    settings = make_config(algorithm, options, preset, config)
    # What can be wrong with task, policy or device is found before anything is written.
    from litmus.training.tensorboard import check_tensorboard

    check_tensorboard(settings)
    _check_setup(settings)
    with create_run(Path(out) if out is not None else default_out(settings), settings) as run:
        return _work(Run(run.path), restored=None, quiet=quiet)


def resume(
    path: Path | str,
    *,
    steps: int | None = None,
    workers: int | None = None,
    quiet: bool = False,
) -> Run:
    """Go on with a run exactly where it was; `steps` makes it longer than it was meant to be."""
    from litmus.runs.restore import restore

    with lock_run(Run(path)):
        run = Run(path)
        config = _change_config(run, steps, workers)
        _check_setup(config)
        restored = restore(run)
        run.make_folders()
        if config != run.config:
            write_json(run.config_path, config.to_dict())
        return _work(Run(path), restored, quiet)


def _change_config(run: Run, steps: int | None, workers: int | None) -> TrainConfig:
    """The configuration that a run goes on with."""
    changes: dict[str, Any] = {}
    if steps is not None:
        if steps < run.config.steps:
            raise BadInput(f"--steps can only make a run longer than its {run.config.steps:,}")
        changes["steps"] = steps
    elif run.status == "finished":
        raise BadInput(f"{run.path} is finished; --steps N makes it longer")
    if workers is not None:
        changes["workers"] = workers
    return dataclasses.replace(run.config, **changes)


def _check_setup(config: TrainConfig) -> None:
    """BadInput for a device that is not there, a task or policy that cannot be, or a size that
    nothing here can hold."""
    from litmus.training.memory import check_memory
    from litmus.training.setup import choose_device, design_policy

    device = choose_device(config.device)
    try:
        check_memory(config, design_policy(config, find_task(config)), device)
    except MemoryError as error:
        raise BadInput(f"the run does not fit into memory: {one_line(error)}") from error


def _work(run: Run, restored: Any, quiet: bool) -> Run:
    from litmus.training.display import SilentDisplay, make_display
    from litmus.training.memory import is_out_of_memory
    from litmus.training.trainer import Trainer

    config = run.config
    done = restored.state.counters.steps if restored else 0
    title = f"{config.algorithm} {config.task}"
    display = SilentDisplay() if quiet else make_display(title, config.steps, done)
    try:
        trainer = Trainer(run, display, restored)
    except BaseException as error:
        display.close()
        if is_out_of_memory(error):
            raise BadInput(f"the run does not fit into memory: {one_line(error)}") from error
        if isinstance(error, OSError):
            raise BadInput(f"cannot work in {run.path}: {describe_os_error(error)}") from error
        raise
    trainer.train()
    return Run(run.path)


@dataclass(frozen=True)
class Measurement:
    """Returns of a policy, as the environment pays them."""

    returns: list[float]
    steps: list[int]

    @property
    def mean(self) -> float:
        return float(np.mean(self.returns))

    @property
    def std(self) -> float:
        """NaN for a single episode: one says nothing about how they vary."""
        return float(np.std(self.returns, ddof=1)) if len(self.returns) > 1 else float("nan")

    @property
    def standard_error(self) -> float:
        return float(self.std / np.sqrt(len(self.returns)))


def evaluate(
    run: Run | Path | str, *, episodes: int = 10, seed: int = 0, workers: int | None = None
) -> Measurement:
    """Run the policy of a run, unperturbed, and measure its return."""
    if episodes < 1:
        raise BadInput(f"--episodes must be at least 1, not {episodes}")
    if episodes > MOST_EPISODES:
        raise BadInput(f"--episodes must be at most {MOST_EPISODES}, not {episodes}")
    if not 0 <= seed < 2**32:
        raise BadInput(f"--seed must be between 0 and {2**32 - 1}, not {seed}")
    if workers is not None and workers < 0:
        raise BadInput(f"--workers must be at least 0, not {workers}")
    check_workers(workers)
    run = run if isinstance(run, Run) else Run(run)
    policy = run.policy
    setting = Setting(find_task(run.config), policy.architecture, seed)
    try:
        collector = make_collector(setting, workers, capacity=episodes)
    except (MemoryError, OSError) as error:
        raise BadInput(f"cannot run {episodes:,} episodes at once: {one_line(error)}") from error
    try:
        finished = collector.start(
            Request(
                policy.flat_params.cpu().numpy(),
                policy.normalizer,
                0.0,
                Stream.MEASUREMENT,
                range(episodes),
            )
        ).result()
    finally:
        collector.close()
    return Measurement([e.return_ for e in finished], [e.steps for e in finished])
