"""The top of the page: what was trained, how well it went, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord
from litmus.counts import say_count
from litmus.reports.details import RunDetails
from litmus.reports.html import show_duration, show_number, tag
from litmus.reports.words import SHORT_VERDICTS, say_not_improved, say_spread, say_untrained
from litmus.runs.final import describe_handed_over

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
    tasks = list(dict.fromkeys(_shorten_name(group.task) for group in groups))
    algorithms = list(dict.fromkeys(group.algorithm for group in groups))
    where = tasks[0] if len(tasks) == 1 else f"{len(tasks)} tasks"
    if len(groups) == len(tasks) and len(tasks) <= 3 and len(algorithms) == 1:
        return f"{_algorithm(algorithms[0])} on {_join(tasks)}"
    if len(groups) <= 3 and len(algorithms) == len(groups):
        return f"{_join([_algorithm(name) for name in algorithms])} on {where}"
    return f"{len(groups)} configurations on {where}"


def _write_single_title(group: Group) -> str:
    subject = f"{_algorithm(group.algorithm)} on {_shorten_name(group.task)}"
    final, untrained = group.final_return, group.untrained_return
    if final is None:
        return f"{subject} has not been evaluated yet"
    value = show_number(final.value)
    if any(record.state != "finished" for record in group.records):
        return f"{subject} is at a return of {value}"
    if untrained is not None and final.value <= untrained:
        return f"{subject} ended at a return of {value}, no better than untrained"
    return f"{subject} reached a return of {value}"


def write_lead(records: Sequence[RunRecord], groups: Sequence[Group]) -> str:
    """What the final return is beside, how far it spreads, then how the runs stand."""
    if len(groups) == 1:
        lines = _write_single_lead(groups[0])
    else:
        lines = [_write_short_lead(group) for group in groups[:MOST_NAMED]]
        if len(groups) > MOST_NAMED:
            lines.append(f"{len(groups) - MOST_NAMED} more configurations are in the table below.")
        if any(len(group.finals) == 1 for group in groups):
            lines.append("Where there is one run only, another seed may end elsewhere.")
    standing = _write_standing(records)
    return "".join(tag("p", line, class_="lead") for line in [*lines, standing] if line)


def _write_single_lead(group: Group) -> list[str]:
    if group.final_return is None:
        return []
    return [f"{say_untrained(group)} {say_not_improved(group)}".strip(), say_spread(group)]


def _write_short_lead(group: Group) -> str:
    final = group.final_return
    name = f"<strong>{escape(group.label)}</strong>"
    if final is None:
        return f"{name}: no evaluation yet."
    runs = len(group.finals)
    low, high = show_number(final.low), show_number(final.high)
    if not final.is_range:
        source = f"interquartile mean of {runs} runs, 95% interval {low} to {high}"
    elif runs > 1:
        source = f"mean of {runs} runs, from {low} to {high}"
    else:
        evaluations = _find_evaluated(group).final_evaluations
        last = f"last {len(evaluations)} evaluations"
        if evaluations[0]["event"] == "handed_over":
            last = escape(describe_handed_over(evaluations[0]))
        elif len(evaluations) == 1:
            last = "last evaluation, episodes"
        source = f"one run; {last} from {low} to {high}"
    value = f"<strong>{show_number(final.value)}</strong>"
    words = [f"{name}: return {value} ({source}).", say_untrained(group), say_not_improved(group)]
    return " ".join(filter(None, words))


def _find_evaluated(group: Group) -> RunRecord:
    return next(record for record in group.records if record.final_return is not None)


def _write_standing(records: Sequence[RunRecord]) -> str:
    unfinished = [r for r in records if r.state == "unfinished"]
    unreadable = [r for r in records if r.state == "unreadable"]
    parts = []
    if unfinished:
        shown = ", ".join(
            f"{r.name} at {r.progress:.0%}" if r.progress is not None else r.name
            for r in unfinished[:4]
        )
        parts.append(f"{say_count(len(unfinished), 'run')} not finished ({shown})")
    if unreadable:
        parts.append(f"{say_count(len(unreadable), 'run')} could not be read")
    return escape("; ".join(parts) + ".") if parts else ""


def write_tiles(
    records: Sequence[RunRecord], groups: Sequence[Group], details: Sequence[RunDetails]
) -> str:
    """The few numbers that people ask for first: (what, value, words below it)."""
    readable = [record for record in records if record.rounds]
    if not readable:
        return ""
    tiles: list[tuple[str, str, str]] = []
    if len(groups) == 1 and groups[0].untrained_return is not None:
        untrained = show_number(groups[0].untrained_return)
        tiles.append(("Untrained policy", untrained, "return before training"))
    steps, episodes = sum(r.steps for r in readable), sum(r.episodes for r in readable)
    of_runs = (
        f"over {say_count(len(readable), 'run')}" if len(readable) > 1 else "in the environment"
    )
    tiles.append(("Steps", _shorten(steps), of_runs))
    dropped = sum(r.dropped for r in readable)
    tiles.append(("Episodes", _shorten(episodes), f"{dropped} dropped" if dropped else "measured"))
    seconds = sum(r.seconds for r in readable)
    tiles.append(("Training time", show_duration(seconds), "wall clock"))
    if seconds:
        tiles.append(("Throughput", f"{steps / seconds:,.0f}", "steps per second"))
    for one in details if len(records) == 1 else ():
        if one.fresh is not None and one.fresh.rank_correlation is not None:
            below = f"rank correlation {one.fresh.rank_correlation:.2f}"
            tiles.append(("V on unseen policies", SHORT_VERDICTS[one.fresh.verdict], below))
    written = "".join(
        tag("div", tag("dt", escape(a)) + tag("dd", _write_value(b) + tag("small", escape(c))))
        for a, b, c in tiles
    )
    return tag("dl", written, class_="tiles")


def _write_value(value: str) -> str:
    """Words in smaller letters than numbers."""
    is_words = not any(character.isdigit() for character in value)
    return tag("span", escape(value), class_="words" if is_words else None)


def _shorten(number: int) -> str:
    if number >= 10_000_000:
        return f"{number / 1e6:.1f}M"
    return f"{number:,}"


def _algorithm(name: str) -> str:
    return ALGORITHM_NAMES.get(name, _shorten_name(name))


def _shorten_name(name: str) -> str:
    """A user's own 'package:Class' without the package; tables have it whole."""
    return name.rpartition(":")[2]


def _join(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
