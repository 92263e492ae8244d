"""Small pieces of HTML: everything that is not markup is escaped here."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape

from litmus.analysis.judgement import Judgement
from litmus.reports.figures import BarChart, Chart, Figure


def tag(name: str, content: str = "", **attributes: object) -> str:
    """An element around content that is HTML already; attribute values are escaped."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{written}>{content}</{name}>"


def quiet(lines: Sequence[str]) -> str:
    """Facts that are no warnings, in small letters."""
    return paragraph(" ".join(_sentence(line) for line in lines), "small") if lines else ""


def paragraph(text: str, class_: str | None = None) -> str:
    return tag("p", escape(text), class_=class_)


def note(lines: Sequence[str], title: str | None = None) -> str:
    """A quiet warning; nothing where there is nothing to say."""
    if not lines:
        return ""
    if len(lines) == 1 and title is None:
        return tag("div", escape(_sentence(lines[0])), class_="note", role="note")
    items = "".join(tag("li", escape(_sentence(line))) for line in lines)
    heading = escape(title) if title else ""
    return tag("div", heading + tag("ul", items), class_="note", role="note")


def chip(state: str, text: str | None = None) -> str:
    return tag("span", escape(text or state), class_=f"chip {state}")


def figure(shown: Figure | None, level: int = 3) -> str:
    """A figure with its title, what to see in it, and its numbers for who cannot see it."""
    if shown is None:
        return ""
    caption = tag("figcaption", heading(shown.title, level) + paragraph(shown.sentence))
    body = _bars(shown) if isinstance(shown, BarChart) else _chart(shown)
    return tag("figure", caption + body, id=shown.id)


def heading(text: str, level: int) -> str:
    """A small heading; how deep it lies depends on what stands above it, not how it looks."""
    return tag(f"h{level}", escape(text), class_="title")


def figures(
    shown: Iterable[Figure | None], class_: str = "figures", level: int = 3, after: str = ""
) -> str:
    written = "".join(figure(one, level) for one in shown) + after
    return tag("div", written, class_=class_) if written else ""


def _chart(chart: Chart) -> str:
    names = [s.name for s in chart.views[0].panels[0].series if not s.is_quiet]
    label = (
        f"Chart: {chart.title}. Horizontal: {chart.views[0].x_label}; vertical: "
        f"{', '.join(panel.y_label for panel in chart.views[0].panels)}. "
        f"Series: {', '.join(names)}. Arrow keys read values."
    )
    plot = tag(
        "div",
        paragraph("This figure is drawn by a script."),
        class_="chart",
        data_chart=chart.id,
        data_tall="" if chart.is_tall else None,
        tabindex="0",
        role="group",
        aria_label=label,
        id=f"{chart.id}-plot",
    )
    numbers = tag("summary", "Numbers")
    return plot + tag("details", numbers, class_="numbers", id=f"{chart.id}-numbers")


def _bars(chart: BarChart) -> str:
    largest = max((abs(bar.value) for bar in chart.bars), default=0.0) or 1.0
    rows = []
    for bar in chart.bars:
        width = 100 * abs(bar.value) / largest
        fill = tag("span", class_="fill", style=f"width:{width:.1f}%")
        value = escape(bar.note) if bar.note else show_number(bar.value)
        rows.append(
            tag(
                "li",
                tag("span", escape(bar.label), class_="quiet" if bar.note else None)
                + tag("span", fill, class_="track", aria_hidden="true")
                + tag("span", value, class_="value"),
            )
        )
    return tag("ul", "".join(rows), class_="bars") + paragraph(chart.value_label, "unit")


def table(
    head: Sequence[str], rows: Iterable[Sequence[str]], caption: str, numbers: Iterable[int] = ()
) -> str:
    """Cells are HTML; the first of a row is its heading. Wide tables scroll by themselves."""
    right = set(numbers)

    def cell(kind: str, place: int, content: str, **attributes: object) -> str:
        return tag(kind, content, class_="number" if place in right else None, **attributes)

    top = "".join(cell("th", i, escape(text), scope="col") for i, text in enumerate(head))
    body = "".join(
        tag(
            "tr",
            cell("th", 0, row[0], scope="row")
            + "".join(cell("td", i, text) for i, text in enumerate(row[1:], start=1)),
        )
        for row in rows
    )
    written = tag(
        "table",
        tag("caption", escape(caption)) + tag("thead", tag("tr", top)) + tag("tbody", body),
    )
    return tag("div", written, class_="scroll", tabindex="0", role="region", aria_label=caption)


def image(source: str, text: str, width: int, height: int, **attributes: object) -> str:
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in {
            "src": source,
            "alt": text,
            "width": width,
            "height": height,
            **attributes,
        }.items()
    )
    return f"<img{written}>"


def show_number(value: float | None) -> str:
    """As many digits as mean something."""
    if value is None or value != value:
        return "–"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    if size >= 100:
        return f"{value:.0f}"
    if size >= 10:
        return f"{value:.1f}"
    if size >= 0.01 or size == 0:
        return f"{value:.2f}"
    return f"{value:.1e}"


def show_correlation(judgement: Judgement | None) -> str:
    if judgement is None or judgement.rank_correlation is None:
        return "–"
    return f"{judgement.rank_correlation:.2f}"


def show_duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


def _sentence(text: str) -> str:
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "…", "?", "!")) else ".")
