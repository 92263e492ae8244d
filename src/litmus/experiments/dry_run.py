"""What an experiment would do, in lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from litmus.counts import say_count
from litmus.experiments.jobs import Job
from litmus.experiments.lines import wrap
from litmus.experiments.plan import Plan


def describe_plan(plan: Plan, folder: Path, columns: int | None = None) -> list[str]:
    """One line per group of jobs, what there is left to do, and where images are. On a terminal of
    so many columns a name that is too long has lines of its own."""
    groups: dict[str, list[Job]] = {}
    for job in plan.jobs:
        groups.setdefault(job.group, []).append(job)
    standings = {job.folder: job.look(folder / job.folder) for job in plan.jobs}
    width = max(map(len, groups), default=0)
    title = f"{plan.title}: {say_count(len(plan.jobs), 'job')} in {folder}"
    lines = [title] if columns is None else wrap(title, columns)
    rows = []
    for name, jobs in groups.items():
        states = Counter(standings[job.folder].state for job in jobs)
        begun = [
            f"{states[state]} {state}" for state in ("finished", "unfinished") if states[state]
        ]
        steps = f"{jobs[0].steps:,} steps" if jobs[0].steps else ""
        words = f"{len(jobs):>4} x {steps:<18}  {', '.join(begun)}"
        rows.append((name, words.rstrip()))
    is_wide = columns is not None and any(width + len(words) + 4 > columns for _, words in rows)
    for name, words in rows:
        if columns is not None and is_wide:
            lines += [*wrap(name, columns, "  "), f"    {words}"]
        else:
            lines.append(f"  {name:<{width}}  {words}")
    left = [job for job in plan.jobs if standings[job.folder].state != "finished"]
    steps_left = sum(job.steps - standings[job.folder].done for job in left)
    lines.append(
        f"to do: {say_count(len(left), 'job')}" + (f", {steps_left:,} steps" if steps_left else "")
    )
    return [*lines, *plan.places]
