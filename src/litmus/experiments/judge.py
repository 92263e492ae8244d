"""How well policies are judged: zoos of PSSVF and ARS runs, several lineages each, on three tasks.

The runs are a grid like any other. From all runs of a task an evaluator is fitted, whose card says
what it knows of lineages never seen. Another one learns from the runs of all but the last quarter
of the seeds. It improves ten mediocre policies of those, each verified, and searches the best of
fifty of them with at most a fifth of the episodes that measuring each ten times would take.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from litmus.analysis.statistics import spread_evenly
from litmus.errors import BadInput
from litmus.evaluators.kernel import KernelEvaluator
from litmus.experiments.grid import Grid, Variant
from litmus.experiments.jobs import Job, TrainJob, name_folder
from litmus.experiments.plan import Choices, Plan
from litmus.experiments.results_file import add_result, read_results
from litmus.experiments.sb3_agents import AgentsJob, judge_agents, make_agents_jobs
from litmus.files import to_text, write_bytes
from litmus.judging.data import thin
from litmus.judging.episodes import EpisodeRunner
from litmus.judging.fit import fit
from litmus.judging.improve import improve
from litmus.judging.rank import rank
from litmus.judging.visits import build_policy
from litmus.reports.progress import ReportProgress
from litmus.runs.directory import as_bad_input
from litmus.runs.measured import MeasuredPolicy, TaskChoice, read_run
from litmus.runs.provenance import describe_process

TASKS = ("Swimmer-v5", "Hopper-v5", "CartPole-v1")
SEEDS = tuple(range(100, 108))
MEDIOCRE = (0.28, 0.56)
"""Of the best return there is: for Swimmer, 100 to 200."""
IMPROVED, VERIFYING = 10, 10
RANKED, EPISODES, BUDGET = 50, 10, 100
REMEASURED = 4
"""More episodes of each policy that the evaluators are judged by."""


@dataclass(frozen=True)
class JudgeGrid(Grid):
    def plan(self, name: str, choices: Choices) -> Plan:
        plan = super().plan(name, choices)
        tasks = dict.fromkeys(job.task for job in plan.jobs if isinstance(job, TrainJob))
        jobs = (*plan.jobs, *make_agents_jobs(tasks))
        write = partial(write_up, jobs)
        return replace(plan, jobs=jobs, write_up=write, read_results=read_results)


def write_up(
    jobs: Sequence[Job], folder: Path, results: Path | None, progress: ReportProgress
) -> list[Path]:
    """Minutes for each task: an evaluator is fitted to its runs."""
    found: dict[str, list[Path]] = {}
    for job in jobs:
        if isinstance(job, TrainJob) and job.look(folder / job.folder).state == "finished":
            found.setdefault(job.task, []).append(folder / job.folder)
    if not found:
        raise BadInput(f"no run in {folder} is finished yet")
    table: dict[str, Any] = {}
    written = []
    for place, (task, runs) in enumerate(found.items()):
        progress.tell(f"judging policies of {task}", place, len(found))
        out = folder / f"{name_folder(task)}.safetensors"
        judge = fit(runs, quiet=True, remeasure=REMEASURED)
        judge.save(out)
        agents = judge_agents(judge, task, folder / AgentsJob(task).folder)
        table[task] = {**describe_task(judge, runs), "stable_baselines3": agents}
        written.append(out)
        if results is not None:
            add_result(results, "judge", task, table[task])
    with as_bad_input(folder):
        write_bytes(folder / "table.json", to_text(table).encode())
    return [*written, folder / "table.json", *([results] if results is not None else [])]


def describe_task(judge: KernelEvaluator, runs: Sequence[Path]) -> dict[str, Any]:
    known, unseen = divide_runs(runs)
    blind = fit(known, quiet=True)
    policies = thin([read_run(path) for path in unseen], 10**6)
    return {
        "runs": [name_run(path) for path in runs],
        "card": {name: value for name, value in judge.card.items() if name != "provenance"},
        "not_learned_from": [name_run(path) for path in unseen],
        "improve": improve_mediocre(blind, policies),
        "rank": search_best(blind, policies),
        "provenance": describe_process(),
    }


def divide_runs(runs: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Runs to learn from, and those of the last quarter of the seeds."""
    names = sorted({path.name for path in runs})
    last = names[-max(1, len(names) // 4) :] if len(names) > 1 else []
    known, unseen = ([p for p in runs if (p.name in last) == is_last] for is_last in (False, True))
    return known, unseen or known


def improve_mediocre(
    judge: KernelEvaluator, policies: Sequence[MeasuredPolicy]
) -> list[dict[str, Any]]:
    most = max(one.mean_return for one in policies)
    low, high = (share * most for share in MEDIOCRE)
    inside = [one for one in policies if low < one.mean_return < high]
    found = []
    for one in thin_out(inside, IMPROVED):
        done = improve(judge, build_policy(one), verify=VERIFYING)
        found.append(
            {
                "policy": f"{name_run(Path(one.lineage))}, {one.name}",
                "predicted": [float(value) for value in done.estimate.mean],
                "before": float(np.mean(done.before)),
                "after": float(np.mean(done.after)),
                "gain": done.verified_gain,
            }
        )
    return found


def search_best(judge: KernelEvaluator, policies: Sequence[MeasuredPolicy]) -> dict[str, Any]:
    built = [build_policy(one) for one in thin_out(policies, RANKED)]
    with EpisodeRunner(TaskChoice.from_json(judge.card["task"]), seed=1) as runner:
        truth = [
            float(np.mean([one.return_ for one in runner.run(policy, range(EPISODES))]))
            for policy in built
        ]
    found = rank(judge, built, budget=BUDGET)
    true_order = [int(place) for place in np.argsort(-np.array(truth), kind="stable")]
    return {
        "policies": len(built),
        "episodes": found.episodes,
        "true_rank_of_the_one_found": 1 + true_order.index(found.order[0]),
        "its_return": truth[found.order[0]],
        "best_return": max(truth),
        "probability": found.probability,
    }


def name_run(path: Path) -> str:
    """'pssvf/seed-100': what differs between the runs of a task."""
    return f"{path.parent.name}/{path.name}"


def thin_out(policies: Sequence[MeasuredPolicy], most: int) -> list[MeasuredPolicy]:
    return [policies[place] for place in spread_evenly(len(policies), most)]


JUDGE = JudgeGrid(
    title="Policies of other runs, judged",
    tasks=TASKS,
    variants=(
        Variant("pssvf", "pssvf"),
        Variant("ars", "ars", options={"hidden": (64, 64)}),
        Variant("ars-linear", "ars", options={"hidden": ()}),
    ),
    seeds=SEEDS,
    steps=lambda task: 200_000 if task.startswith("CartPole") else 1_000_000,
    options={"evaluate_every": 50_000, "evaluate_episodes": 5},
)
