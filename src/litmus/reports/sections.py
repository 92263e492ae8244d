"""The sections below the headline, each a list of figures and tables with a sentence before it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from litmus.analysis.groups import Group, find_differences, show_value
from litmus.analysis.judgement import Judgement
from litmus.analysis.records import RunRecord
from litmus.reports.details import RunDetails
from litmus.reports.drawings import (
    draw_behaviour,
    draw_components,
    draw_importance,
    draw_learning_curves,
    draw_movement,
    draw_predictions,
    draw_training,
)
from litmus.reports.figures import Figure
from litmus.reports.gallery import is_image, write_gallery
from litmus.reports.html import (
    chip,
    count,
    figures,
    note,
    paragraph,
    show_duration,
    show_number,
    table,
    tag,
)


@dataclass
class Sections:
    """Sections in order, and every figure that they show."""

    written: list[tuple[str, str, str]] = field(default_factory=list)
    """(anchor, title, HTML)."""
    figures: list[Figure] = field(default_factory=list)

    def add(self, anchor: str, title: str, introduction: str, body: str) -> None:
        if body:
            heading = tag("h2", escape(title), id=f"{anchor}-title")
            content = heading + paragraph(introduction) + body
            section = tag("section", content, id=anchor, aria_labelledby=f"{anchor}-title")
            self.written.append((anchor, title, section))

    def draw(self, shown: Sequence[Figure | None], class_: str = "figures", level: int = 3) -> str:
        self.figures += [one for one in shown if one is not None]
        return figures(shown, class_, level)


def write_sections(
    records: Sequence[RunRecord],
    groups: Sequence[Group],
    details: Sequence[RunDetails],
    left_out: str | None = None,
) -> Sections:
    """Everything below the headline. `left_out` says why some runs have no details."""
    sections = Sections()
    _add_learning(sections, records, groups, details)
    several = len(details) > 1
    _add_gallery(sections, details, several, left_out)
    _add_knowledge(sections, details, several)
    _add_behaviour(sections, details, several)
    _add_configuration(sections, records, groups)
    return sections


def _add_learning(
    sections: Sections,
    records: Sequence[RunRecord],
    groups: Sequence[Group],
    details: Sequence[RunDetails],
) -> None:
    by_task: dict[str, list[Group]] = {}
    for group in groups:
        if any(record.evaluations for record in group.records):
            by_task.setdefault(group.task, []).append(group)
    charts = [draw_learning_curves(task, members) for task, members in by_task.items()]
    body = sections.draw(charts, "figures single" if len(charts) == 1 else "figures")
    if groups and not charts:
        body += note(["no evaluation has been written yet, so there is no curve"])
    body += _write_run_table(records, groups, details)
    problems = [
        f"run {record.name}: {problem}" for record in records for problem in record.problems
    ]
    body += note(problems, "What could not be read") if problems else ""
    sections.add(
        "learning",
        "Learning",
        "How the return of the policy grew, and what it took.",
        body,
    )


def _write_run_table(
    records: Sequence[RunRecord], groups: Sequence[Group], details: Sequence[RunDetails]
) -> str:
    labels = {id(record): group.label for group in groups for record in group.records}
    fresh = {id(one.record): one.fresh for one in details}
    rows = []
    for record in records:
        best = record.best_evaluation
        rate = record.steps_per_second
        progress = f" at {record.progress:.0%}" if record.progress is not None else ""
        state = record.state + (progress if record.state == "unfinished" else "")
        correlation = _show_correlation(fresh.get(id(record)))
        rows.append(
            [
                escape(record.name),
                chip(record.state, state),
                escape(labels.get(id(record), "–")),
                "–" if record.seed is None else str(record.seed),
                show_number(record.final_return),
                show_number(float(best["mean"])) if best else "–",
                f"{record.steps:,}",
                f"{record.episodes:,}",
                show_duration(record.seconds) if record.seconds else "–",
                f"{rate:,.0f}" if rate else "–",
                correlation,
            ]
        )
    head = [
        "Run",
        "State",
        "Configuration",
        "Seed",
        "Final return",
        "Best",
        "Steps",
        "Episodes",
        "Time",
        "Steps/s",
        "ρ unseen",
    ]
    written = table(head, rows, "The runs of this report", numbers=range(3, 11))
    definition = paragraph(
        "Final return: mean over the last 20 evaluations, in a short run over the last tenth of "
        "them. ρ: rank correlation of V's predictions with the measured returns of policies that "
        "V has never seen.",
        "small",
    )
    return written + definition


def _add_gallery(
    sections: Sections,
    details: Sequence[RunDetails],
    several: bool,
    left_out: str | None,
) -> None:
    body = ""
    animated = False
    for one in details:
        if one.probing is None:
            if one.evaluator is not None:
                what = "reads weights and has no probing states"
                body += note([f"the evaluator of {one.record.name} {what}"])
            continue
        body += _run_heading(one.record) if several else ""
        body += note([one.rendering_note]) if one.rendering_note else ""
        body += write_gallery(one, level=4 if several else 3)
        animated = animated or bool(one.rendered)
    if animated:
        button = tag("button", "Pause animations", type="button", class_="plain", data_play="")
        body = tag("div", button, class_="controls") + body
    if left_out and body:
        body = note([left_out]) + body
    shown = max((len(one.rendered) for one in details), default=0)
    introduction = (
        "V judges a policy by what it does in these learned states alone. The ones that matter "
        "most come first: what the run's policy answers there"
    )
    introduction += (
        ", and what follows when the simulator starts in that state with no action, with the "
        "policy's first action only, and with the policy acting."
        if shown
        else "."
    )
    sections.add("probing-states", "Probing states", introduction, body)


def _add_knowledge(sections: Sections, details: Sequence[RunDetails], several: bool) -> None:
    body = ""
    level = 4 if several else 3
    for one in details:
        shape = one.policy.architecture.state_shape if one.policy is not None else ()
        drawn: list[Figure | None] = [
            draw_predictions(one),
            draw_training(one),
            draw_importance(one),
            None if is_image(shape) else draw_components(one),
        ]
        written = _write_judgements(one) + sections.draw(drawn, level=level)
        written += sections.draw([draw_movement(one)], "figures single", level)
        problems = note(one.notes)
        if written or problems:
            body += (_run_heading(one.record) if several else "") + problems + written
    sections.add(
        "knowledge",
        "What the evaluator knows",
        "V(θ) predicts the training return of a policy. Here its word is held against what the "
        "environment paid, and taken apart to see what it listens to.",
        body,
    )


def _write_judgements(details: RunDetails) -> str:
    rows = [
        [
            escape(name),
            f"{len(judgement.measured)}",
            _show_correlation(judgement),
            show_number(judgement.error),
            show_number(judgement.guessing_error),
        ]
        for name, judgement in (
            ("In the buffer", details.buffer),
            ("Fresh perturbations, never seen", details.fresh),
        )
        if judgement is not None and judgement.measured.size
    ]
    if not rows:
        return ""
    head = ["Policies", "Number", "Rank correlation ρ", "Error of V", "Error of guessing the mean"]
    caption = "How well V predicts (errors: root mean square, in units of the training return)"
    return table(head, rows, caption, numbers=range(1, 5))


def _show_correlation(judgement: Judgement | None) -> str:
    if judgement is None or judgement.rank_correlation is None:
        return "–"
    return f"{judgement.rank_correlation:.2f}"


def _add_behaviour(sections: Sections, details: Sequence[RunDetails], several: bool) -> None:
    body = ""
    for one in details:
        drawn = draw_behaviour(one)
        if drawn is not None:
            body += _run_heading(one.record) if several else ""
            body += sections.draw([drawn], "figures single", 4 if several else 3)
    sections.add(
        "behaviour",
        "Behaviour",
        "One episode of the policy, unperturbed: its state, its actions, and how near it comes to "
        "the probing states.",
        body,
    )


def _add_configuration(
    sections: Sections, records: Sequence[RunRecord], groups: Sequence[Group]
) -> None:
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
    sections.add(
        "configuration",
        "Configuration and provenance",
        "What is needed to make these numbers again.",
        body,
    )


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
        "resumed": count(len(origin["resumed"]), "time") if origin.get("resumed") else None,
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


def _run_heading(record: RunRecord) -> str:
    seed = "" if record.seed is None else f", seed {record.seed}"
    shown = f"{escape(record.name)} {chip(record.state, f'{record.task}{seed}')}"
    return tag("h3", shown)
