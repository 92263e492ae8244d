"""Tables of runs: how each went, and what it was made with; and what made several, in lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from litmus.analysis.groups import Group, find_differences, show_value
from litmus.analysis.records import RunRecord
from litmus.counts import say_count
from litmus.reports.details import RunDetails
from litmus.reports.html import (
    chip,
    paragraph,
    show_correlation,
    show_duration,
    show_number,
    table,
    tag,
)
from litmus.runs.final import DEFINITION


def write_run_table(
    records: Sequence[RunRecord], groups: Sequence[Group], details: Sequence[RunDetails]
) -> str:
    """One row per run."""
    labels = {id(record): group.label for group in groups for record in group.records}
    judged = {id(one.record): one.fresh for one in details}
    has_v = any(judgement is not None for judgement in judged.values())
    rows = []
    for record in records:
        best, rate = record.best_evaluation, record.steps_per_second
        progress = f" at {record.progress:.0%}" if record.progress is not None else ""
        state = record.state + (progress if record.state == "unfinished" else "")
        rows.append(
            [
                escape(record.name),
                chip(record.state, state),
                escape(labels.get(id(record), "–")),
                "–" if record.seed is None else str(record.seed),
                show_number(record.untrained_return),
                show_number(record.final_return),
                show_number(float(best["mean"])) if best else "–",
                f"{record.steps:,}",
                f"{record.episodes:,}",
                show_duration(record.seconds) if record.seconds else "–",
                f"{rate:,.0f}" if rate else "–",
                *([show_correlation(judged.get(id(record)))] if has_v else []),
            ]
        )
    head = ["Run", "State", "Configuration", "Seed", "Untrained", "Final return"]
    head += ["Best", "Steps", "Episodes", "Time", "Steps/s", *(["ρ unseen"] if has_v else [])]
    written = table(head, rows, "The runs of this report", numbers=range(3, len(head)))
    words = (
        f"Untrained: return of the policy before training. Final return: {DEFINITION}. Best: the "
        "highest single evaluation."
    )
    if has_v:
        words += " ρ unseen: rank correlation of V's predictions for policies it has not seen."
    return written + paragraph(words, "small")


def write_configuration(records: Sequence[RunRecord], groups: Sequence[Group]) -> str:
    """What differs between the configurations, then everything of each run."""
    configs = [group.records[0].config for group in groups]
    body = ""
    differing = find_differences(configs)
    if differing:
        rows = [
            [escape(name), *(escape(show_value(config.get(name, "–"))) for config in configs)]
            for name in differing
        ]
        head = ["Option", *(group.label for group in groups)]
        body += table(head, rows, "What differs between the configurations")
    for number, record in enumerate(records):
        if record.run is not None:
            body += _write_record(record, number)
    return body


def list_origins(origins: Sequence[Mapping[str, Any]]) -> list[str]:
    """What code, with what, on what machines, from what provenance tells; each said once."""
    commands = _unique(shlex.join(map(str, one.get("command", []))) for one in origins)
    commits = _unique(str(one.get("commit")) for one in origins)
    versions = _unique(_join(one.get("versions")) for one in origins)
    hardware = _unique(_join(one.get("hardware")) for one in origins)
    lines = [f"- command: `{one}`" for one in commands[:4] if one]
    lines += [f"- commit: {', '.join(commits)}"]
    lines += [f"- versions: {one}" for one in versions]
    lines += [f"- hardware: {one}" for one in hardware]
    return lines


def _write_record(record: RunRecord, number: int) -> str:
    origin = record.provenance
    command = origin.get("command")
    parts = []
    if isinstance(command, list):
        parts.append(tag("pre", escape(shlex.join(map(str, command))), tabindex="0"))
    facts = {
        "started": origin.get("started"),
        "commit": origin.get("commit"),
        **_flatten(origin.get("hardware")),
        **_flatten(origin.get("versions")),
        "resumed": say_count(len(origin["resumed"]), "time") if origin.get("resumed") else None,
    }
    rows = [
        [escape(name), escape(str(value))] for name, value in facts.items() if value is not None
    ]
    if rows:
        parts.append(table(["What", "Value"], rows, "Provenance"))
    options = [
        [escape(name), escape(show_value(value))] for name, value in sorted(record.config.items())
    ]
    parts.append(table(["Option", "Value"], options, "Configuration"))
    summary = tag("summary", f"{escape(record.name)} {chip(record.state)}")
    return tag("details", summary + "".join(parts), id=f"record-{number}", class_="card")


def _flatten(values: object) -> dict[str, object]:
    return dict(values) if isinstance(values, dict) else {}


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _join(values: object) -> str:
    if not isinstance(values, dict):
        return "unknown"
    return ", ".join(f"{name} {value}" for name, value in values.items() if value is not None)
