"""The sections below the headline, each a list of figures and tables with a sentence before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from litmus.analysis.groups import Group
from litmus.analysis.records import RunRecord
from litmus.reports.curves import draw_learning_curves
from litmus.reports.details import RunDetails
from litmus.reports.drawings import (
    draw_components,
    draw_importance,
    draw_movement,
    draw_predictions,
    draw_training,
    name_return,
)
from litmus.reports.episode import draw_behaviour
from litmus.reports.figures import Figure
from litmus.reports.gallery import write_gallery
from litmus.reports.html import (
    chip,
    figures,
    note,
    paragraph,
    quiet,
    show_correlation,
    show_number,
    table,
    tag,
)
from litmus.reports.images import is_image, write_frames, write_use
from litmus.reports.probing_images import write_evolution
from litmus.reports.provenance import write_configuration, write_run_table
from litmus.reports.words import say_verdict


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

    def draw(
        self,
        shown: Sequence[Figure | None],
        class_: str = "figures",
        *,
        level: int = 3,
        after: str = "",
    ) -> str:
        """A grid of figures; `after` is one more that is HTML already."""
        self.figures += [one for one in shown if one is not None]
        return figures(shown, class_, level, after)


def write_sections(
    records: Sequence[RunRecord],
    groups: Sequence[Group],
    details: Sequence[RunDetails],
    left_out: str | None = None,
) -> Sections:
    """Everything below the headline. `left_out` says why some runs have no details."""
    sections = Sections()
    several = len(details) > 1
    _add_learning(sections, records, groups, details, left_out)
    _add_gallery(sections, details, several)
    _add_knowledge(sections, details, several)
    _add_behaviour(sections, details, several)
    sections.add(
        "configuration",
        "Configuration and provenance",
        "What is needed to repeat these runs.",
        write_configuration(records, groups),
    )
    return sections


def _add_learning(
    sections: Sections,
    records: Sequence[RunRecord],
    groups: Sequence[Group],
    details: Sequence[RunDetails],
    left_out: str | None,
) -> None:
    by_task: dict[str, list[Group]] = {}
    for group in groups:
        if any(record.evaluations for record in group.records):
            by_task.setdefault(group.task, []).append(group)
    charts = [draw_learning_curves(task, members) for task, members in by_task.items()]
    body = sections.draw(charts, "figures single" if len(charts) == 1 else "figures")
    if groups and not charts:
        body += note(["no evaluation has been written yet, so there is no curve"])
    body += write_run_table(records, groups, details)
    remarks = [left_out] if left_out else []
    remarks += [remark for one in details for remark in one.remarks]
    body += quiet(list(dict.fromkeys(remarks)))
    problems = [
        f"run {record.name}: {problem}" for record in records for problem in record.problems
    ]
    problems += [f"run {one.record.name}: {problem}" for one in details for problem in one.notes]
    body += note(problems, "What could not be read or shown") if problems else ""
    introduction = "How the return of the policy changed during training."
    sections.add("learning", "Learning", introduction, body)


def _add_gallery(sections: Sections, details: Sequence[RunDetails], several: bool) -> None:
    shown = [one for one in details if one.probing is not None]
    body = ""
    for one in shown:
        body += _run_heading(one.record) if several else ""
        body += note([one.rendering_note]) if one.rendering_note else ""
        body += write_gallery(one, level=4 if several else 3)
        body += write_evolution(one, level=4 if several else 3)
    animated = any(one.rendered for one in shown)
    if animated:
        button = tag("button", "Pause animations", type="button", class_="plain", data_play="")
        body = tag("div", button, class_="controls") + body
    introduction = (
        "V judges a policy only by what it does in these states. Those that V depends on most come "
        "first. Each card shows the state and the action of the trained policy there"
    )
    introduction += (
        ". The animations start the simulator in that state: with no action, with the policy's "
        "first action only, and with the policy acting."
        if animated
        else "."
    )
    sections.add("probing-states", "Probing states", introduction, body)


def _add_knowledge(sections: Sections, details: Sequence[RunDetails], several: bool) -> None:
    body = ""
    level = 4 if several else 3
    for one in details:
        drawn: list[Figure | None] = [
            draw_predictions(one),
            draw_training(one),
            draw_importance(one),
            None if is_image(one.state_shape) else draw_components(one),
        ]
        written = _write_judgements(one) + sections.draw(
            drawn, after=write_use(one, level), level=level
        )
        written += sections.draw([draw_movement(one)], "figures single", level=level)
        if written:
            body += (_run_heading(one.record) if several else "") + written
    sections.add(
        "knowledge",
        "What the evaluator knows",
        "How well V predicts the return of policies, and what its predictions depend on.",
        body,
    )


def _write_judgements(details: RunDetails) -> str:
    """A verdict on V in words, and the numbers behind it."""
    rows = [
        [
            escape(name),
            f"{len(judgement.measured)}",
            show_correlation(judgement),
            show_number(judgement.error),
            show_number(judgement.guessing_error),
        ]
        for name, judgement in (
            ("Policies that V learned from", details.buffer),
            ("Unseen policies", details.fresh),
        )
        if judgement is not None and judgement.measured.size
    ]
    if not rows:
        return ""
    head = ["Policies", "Number", "Rank correlation", "Error of V", "Error of guessing the mean"]
    name = name_return(details.record)
    caption = f"Predicted and measured {name}"
    written = ""
    if details.fresh is not None:
        kind = "verdict better" if details.fresh.verdict == "better" else "verdict"
        written = paragraph(say_verdict(details.fresh), kind)
    written += table(head, rows, caption, numbers=range(1, 5))
    explained = (
        f"Errors: root mean square, in units of the {name}. Rank correlation: 1 where V puts all "
        "policies in the right order, 0 where its order is chance. Each policy was measured for "
        "one episode, so part of every error is the luck of that episode."
    )
    if details.fresh is not None:
        explained += " Unseen policies: new perturbations of the final θ, run for this report."
    return written + paragraph(explained, "small")


def _add_behaviour(sections: Sections, details: Sequence[RunDetails], several: bool) -> None:
    body = ""
    for one in details:
        drawn = draw_behaviour(one)
        if drawn is not None:
            body += _run_heading(one.record) if several else ""
            level = 4 if several else 3
            frames = write_frames(one, level)
            body += sections.draw([drawn], "figures single", level=level, after=frames)
    sections.add(
        "behaviour", "Behaviour", "One episode of the trained policy, without noise.", body
    )


def _run_heading(record: RunRecord) -> str:
    seed = "" if record.seed is None else f", seed {record.seed}"
    shown = f"{escape(record.name)} {chip(record.state, f'{record.task}{seed}')}"
    return tag("h3", shown)
