"""The top of the page: what was trained, how well it went, how sure we are."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord
from litmus.analysis.statistics import Estimate
from litmus.reports.details import RunDetails
from litmus.reports.html import count, show_duration, show_number, tag

MOST_NAMED = 6

ALGORITHM_NAMES = {
    "pssvf": "PSSVF",
    "vanilla-pssvf": "vanilla PSSVF",
}


def write_title(records: Sequence[RunRecord], groups: Sequence[Group]) -> str:
    """One plain sentence."""
    if not groups:
        return "No run that can be shown"
    if len(groups) == 1:
        return _write_single_title(groups[0])
    tasks = list(dict.fromkeys(group.task for group in groups))
    algorithms = list(dict.fromkeys(group.algorithm for group in groups))
    where = tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks"
    if len(groups) == len(tasks) and len(tasks) <= 3 and len(algorithms) == 1:
        return f"{_algorithm(algorithms[0])} on {_join(tasks)}"
    if len(groups) <= 3 and len(algorithms) == len(groups):
        return f"{_join([_algorithm(name) for name in algorithms])} on {where}"
    return f"{len(groups)} configurations on {where}"


def _write_single_title(group: Group) -> str:
    subject = f"{_algorithm(group.algorithm)} on {group.task}"
    final = group.final_return
    if final is None:
        return f"{subject} has not been evaluated yet"
    if all(record.state == "finished" for record in group.records):
        return f"{subject} reached a return of {show_number(final.value)}"
    return f"{subject} is at a return of {show_number(final.value)}"


def write_lead(records: Sequence[RunRecord], groups: Sequence[Group]) -> str:
    """How sure we are, then how it stands."""
    if len(groups) == 1:
        lines = [_write_confidence(groups[0])]
    else:
        lines = [_write_short_confidence(group) for group in groups[:MOST_NAMED]]
        if len(groups) > MOST_NAMED:
            lines.append(f"{len(groups) - MOST_NAMED} more configurations are in the table below.")
        if any(len(group.finals) == 1 for group in groups):
            lines.append(
                "The interval of one run says how sure its own return is, not what another "
                "seed would reach."
            )
    standing = _write_standing(records)
    return "".join(tag("p", line, class_="lead") for line in [*lines, standing] if line)


def _write_confidence(group: Group) -> str:
    final = group.final_return
    if final is None:
        return ""
    runs = len(group.finals)
    if runs > 1:
        return (
            f"{_interval(final)}: the interquartile mean of {count(runs, 'run')}, stratified "
            "bootstrap over runs" + ("; two runs say little." if runs == 2 else ".")
        )
    evaluations = next(r for r in group.records if r.final_return is not None).final_evaluations
    last = "last evaluation" if len(evaluations) == 1 else f"last {len(evaluations)} evaluations"
    return (
        f"{_interval(final)}, from the {last} ({count(_count_episodes(group), 'episode')}). "
        "One run: it says how sure this run's return is, not what another seed would reach."
    )


def _write_short_confidence(group: Group) -> str:
    final = group.final_return
    name = f"<strong>{escape(group.label)}</strong>"
    if final is None:
        return f"{name}: no evaluation yet."
    runs = len(group.finals)
    source = (
        f"interquartile mean of {count(runs, 'run')}"
        if runs > 1
        else f"one run, {count(_count_episodes(group), 'episode')}"
    )
    value = f"<strong>{show_number(final.value)}</strong>"
    return f"{name}: return {value}, {_interval(final)} ({source})."


def _interval(estimate: Estimate) -> str:
    low, high = show_number(estimate.low), show_number(estimate.high)
    return f"95% interval <strong>{low} to {high}</strong>"


def _count_episodes(group: Group) -> int:
    record = next(r for r in group.records if r.final_return is not None)
    return sum(len(event.get("returns") or ()) for event in record.final_evaluations)


def _write_standing(records: Sequence[RunRecord]) -> str:
    unfinished = [r for r in records if r.state == "unfinished"]
    unreadable = [r for r in records if r.state == "unreadable"]
    parts = []
    if unfinished:
        shown = ", ".join(
            f"{r.name} at {r.progress:.0%}" if r.progress is not None else r.name
            for r in unfinished[:4]
        )
        parts.append(f"{count(len(unfinished), 'run')} not finished ({shown})")
    if unreadable:
        parts.append(f"{count(len(unreadable), 'run')} could not be read")
    return escape("; ".join(parts) + ".") if parts else ""


def write_tiles(records: Sequence[RunRecord], details: Sequence[RunDetails]) -> str:
    """The few numbers that people ask for first."""
    readable = [record for record in records if record.rounds]
    if not readable:
        return ""
    tiles: list[tuple[str, str, str]] = []
    best = max(
        ((float(r.best_evaluation["mean"]), r) for r in readable if r.best_evaluation),
        key=lambda pair: pair[0],
        default=None,
    )
    if best is not None and len({r.task for r in readable}) == 1:
        at = best[1].best_evaluation or {}
        tiles.append(("Best evaluation", show_number(best[0]), f"at {at['steps']:,} steps"))
    steps, episodes = sum(r.steps for r in readable), sum(r.episodes for r in readable)
    of_runs = f"over {count(len(readable), 'run')}" if len(readable) > 1 else "environment steps"
    tiles.append(("Steps", _shorten(steps), of_runs))
    dropped = sum(r.dropped for r in readable)
    tiles.append(("Episodes", _shorten(episodes), f"{dropped} dropped" if dropped else "measured"))
    seconds = sum(r.seconds for r in readable)
    tiles.append(("Training time", show_duration(seconds), "wall clock"))
    if seconds:
        tiles.append(("Throughput", f"{steps / seconds:,.0f}/s", "steps a second, learning too"))
    for one in details[:1] if len(details) == 1 else ():
        if one.fresh is not None and one.fresh.rank_correlation is not None:
            tiles.append(
                (
                    "V on unseen policies",
                    f"ρ = {one.fresh.rank_correlation:.2f}",
                    f"rank correlation over {len(one.fresh.measured)}",
                )
            )
    written = "".join(
        tag("div", tag("dt", escape(a)) + tag("dd", escape(b) + tag("small", escape(c))))
        for a, b, c in tiles
    )
    return tag("dl", written, class_="tiles")


def _shorten(number: int) -> str:
    if number >= 10_000_000:
        return f"{number / 1e6:.1f}M"
    return f"{number:,}"


def _algorithm(name: str) -> str:
    return ALGORITHM_NAMES.get(name, name)


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
