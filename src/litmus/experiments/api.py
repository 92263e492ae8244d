"""`litmus.experiment`: plan, do what is missing, write up."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from litmus.analysis.comparison import OVERALL
from litmus.errors import BadInput, RunFailed, option
from litmus.experiments import EXPERIMENTS
from litmus.experiments.conduct import Sweep, name_failures
from litmus.experiments.display import make_sweep_display
from litmus.experiments.executors import Executor, LocalExecutor
from litmus.experiments.folder import claim_folder, forget_old_figures, refuse_other_experiment
from litmus.experiments.plan import Choices, Experiment, Plan, read_seeds
from litmus.experiments.plan_file import is_plan_file, read_plan_file
from litmus.experiments.side_by_side import count_runs, put_side_by_side
from litmus.fields import check_whole
from litmus.files import parse_json, read_plain, refuse_other_than_file, refuse_read_only
from litmus.reports.extra import require_packages
from litmus.reports.progress import make_progress
from litmus.rollouts.cluster import check_address
from litmus.rollouts.machine import count_cores, find_memory
from litmus.runs.directory import as_bad_input
from litmus.training.interrupts import InterruptFlag

MOST_JOBS = 4096
PROCESS_BYTES = 300 * 2**20
"""Of a process that trains, beside what its run takes."""

ExecutorName = Literal["local", "ray"]


@dataclass(frozen=True)
class Results:
    """What an experiment left behind."""

    folder: Path
    written: tuple[Path, ...]

    @property
    def table(self) -> dict[str, Any]:
        """{task: {algorithm: {"mean": …, "std": …, "iqm": …, "ci95": […], "seeds": […], …}}}."""
        return {name: row for name, row in self._read_table().items() if name != OVERALL}

    @property
    def overall(self) -> dict[str, Any]:
        """What that comes to over all tasks; empty where there is nothing to compare."""
        found: dict[str, Any] = self._read_table().get(OVERALL, {})
        return found

    def _read_table(self) -> dict[str, Any]:
        found: dict[str, Any] = parse_json(read_plain(self.folder / "table.json"))
        return found


def experiment(
    name: Path | str,
    *,
    tasks: Sequence[str] | None = None,
    algorithms: Sequence[str] | None = None,
    seeds: int | str | Sequence[int] | None = None,
    steps: float | None = None,
    evaluate_every: float | None = None,
    device: str | None = None,
    preset: str | None = None,
    probing_states: float | None = None,
    data: str | None = None,
    run: Path | str | None = None,
    architecture: str | None = None,
    states: float | None = None,
    indices: Sequence[int] | None = None,
    executor: ExecutorName = "local",
    ray_address: str | None = None,
    jobs: float | None = None,
    out: Path | str | None = None,
    results: Path | str | None = None,
    redraw: bool = False,
    quiet: bool = False,
) -> Results:
    """Do an experiment of `litmus list experiments`, or one that a plan file describes.

    Whatever is finished is kept, whatever was interrupted goes on; then table, figures and page are
    written to `out` (default: experiments/NAME). With `redraw` nothing is trained. `seeds` is a
    number of them or a range such as '100-109'. `run`, `architecture`, `states` and `indices` are
    for the experiments on one run (zero-shot, clone). `results` is a file for the table with every
    curve. Raises RunFailed at the end where runs failed; all others are done and written up.
    """
    choices = make_choices(
        *(tasks, algorithms, seeds, steps, evaluate_every, device, preset),
        *(probing_states, data, run, architecture, states, indices),
        may_download=not redraw,
    )
    folder = Path(out) if out is not None else choose_folder(name)
    chosen = choose_executor(executor, ray_address, jobs)
    if results is not None:
        check_results(Path(results), folder)
    require_packages("PIL", "matplotlib")
    plan = make_plan(name, choices)
    if results is not None:
        check_filling(plan, Path(results))
    failures: dict[str, str] = {}
    count = 0
    check_jobs(plan, folder)
    if not redraw and not is_done(plan, folder):
        if executor == "ray":
            check_address(ray_address)
        with claim_folder(folder, plan) as lock, chosen(folder, plan, lock) as place:
            failures, count = _conduct(plan, folder, place, quiet)
    written = _write_up(plan, folder, None if results is None else Path(results), quiet, failures)
    if failures:
        named = name_failures(failures, count, folder)
        raise RunFailed(f"{named}; the others: {folder / 'table.md'}" if written else named)
    return Results(folder, tuple(written))


def check_jobs(plan: Plan, folder: Path) -> None:
    """BadInput where the folder holds another experiment, or runs of another plan."""
    with as_bad_input(folder):
        refuse_other_experiment(folder, plan)
    for job in plan.jobs:
        job.check(folder / job.folder)


def check_results(path: Path, folder: Path) -> None:
    """BadInput for what cannot be written, before the work of many hours."""
    if path.resolve().parent == folder.resolve():
        raise BadInput(
            f"{option('results')} cannot be in {folder}, which has files of its own: that file is "
            "for what several such folders have"
        )
    if path.suffix != ".json":
        raise BadInput(f"{option('results')} takes a file that ends in .json, not '{path}'")
    for one in (path, path.with_suffix(".md")):
        with as_bad_input(one):
            refuse_other_than_file(one)
            refuse_read_only(one)


def check_filling(plan: Plan, path: Path) -> None:
    """BadInput where the file is there, and the experiment could not add to it."""
    if plan.read_results is not None and path.exists():
        plan.read_results(path)


def make_choices(
    tasks: Sequence[str] | None = None,
    algorithms: Sequence[str] | None = None,
    seeds: int | str | Sequence[int] | None = None,
    steps: float | None = None,
    evaluate_every: float | None = None,
    device: str | None = None,
    preset: str | None = None,
    probing_states: float | None = None,
    data: str | None = None,
    run: Path | str | None = None,
    architecture: str | None = None,
    states: float | None = None,
    indices: Sequence[int] | None = None,
    may_download: bool = True,
) -> Choices:
    return Choices(
        _read_names("tasks", tasks),
        _read_names("algorithms", algorithms),
        None if seeds is None else read_seeds(seeds),
        None if steps is None else check_whole("steps", steps, 1),
        None if evaluate_every is None else check_whole("evaluate_every", evaluate_every, 1),
        device,
        preset,
        None if probing_states is None else check_whole("probing_states", probing_states, 1),
        data,
        None if run is None else str(run),
        architecture,
        None if states is None else check_whole("states", states, 1),
        None if indices is None else tuple(check_whole("indices", one, 0) for one in indices),
        may_download,
    )


def _read_names(name: str, given: Sequence[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    if not names or not all(isinstance(one, str) for one in names):
        raise BadInput(f"{option(name)} takes names, not '{given}'")
    return names


def make_plan(name: Path | str, choices: Choices) -> Plan:
    """BadInput for whatever is wrong, before anything trains."""
    if is_plan_file(name):
        path = Path(name)
        return read_plan_file(path).plan(path.stem, choices)
    found: Experiment = EXPERIMENTS.find(str(name)).load()
    if not hasattr(found, "plan"):
        raise BadInput(f"experiment '{name}' has no method `plan`")
    return found.plan(str(name), choices)


def choose_folder(name: Path | str) -> Path:
    """Where an experiment lies when nobody says."""
    own = Path(name).stem if is_plan_file(name) else str(name).rpartition(":")[2]
    return Path("experiments") / own


MakeExecutor: TypeAlias = Callable[[Path, Plan, int], AbstractContextManager[Executor]]


def choose_executor(
    name: ExecutorName, ray_address: str | None, jobs: float | None
) -> MakeExecutor:
    """What makes the executor for a folder; BadInput where there is no such thing."""
    places = None if jobs is None else check_whole("jobs", jobs, 1, MOST_JOBS)
    if name not in ("local", "ray"):
        raise BadInput(f"{option('executor')} cannot be '{name}'; choose from local, ray")
    if name == "local" and ray_address is not None:
        raise BadInput(f"{option('ray_address')} is for {option('executor', 'ray')}")

    def make(folder: Path, plan: Plan, lock: int) -> AbstractContextManager[Executor]:
        if name == "ray":
            from litmus.experiments.ray_executor import ray_executor

            return ray_executor(folder, places, ray_address)
        return nullcontext(LocalExecutor(folder, places or count_places(plan, folder), lock))

    return make


def is_done(plan: Plan, folder: Path) -> bool:
    return all(job.look(folder / job.folder).state == "finished" for job in plan.jobs)


def count_places(plan: Plan, folder: Path) -> int:
    """One job per core, as far as memory reaches."""
    most_runs = max(map(count_runs, put_side_by_side(plan.jobs, folder)), default=1)
    needed = most_runs * plan.bytes_per_job + PROCESS_BYTES
    return max(1, min(count_cores(), int(find_memory() / needed)))


def _conduct(
    plan: Plan, folder: Path, executor: Executor, quiet: bool
) -> tuple[dict[str, str], int]:
    """Do what is missing; why jobs failed, by their names, and of how many."""
    interrupt = InterruptFlag()
    with interrupt.catching():
        display = make_sweep_display(plan.name, quiet)
        interrupt.tell = display.note
        try:
            is_local = isinstance(executor, LocalExecutor)
            jobs = put_side_by_side(plan.jobs, folder) if is_local else plan.jobs
            sweep = Sweep(folder, jobs, executor, display, interrupt)
            sweep.conduct()
        finally:
            display.close()
    return sweep.failures, len(jobs)


def _write_up(
    plan: Plan, folder: Path, results: Path | None, quiet: bool, failures: dict[str, str]
) -> list[Path]:
    progress = make_progress(quiet)
    try:
        written = plan.write_up(folder, results, progress)
        forget_old_figures(folder, written)
        return written
    except BadInput:
        if failures:  # nothing was finished: why is what counts
            return []
        raise
    finally:
        progress.close()
