"""One self-contained HTML page: styles, script, data and pictures inside, nothing asked outside."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from html import escape
from importlib.resources import files

from litmus.reports.figures import Chart, Figure
from litmus.reports.html import tag

LOGO = (
    '<svg width="26" height="14" viewBox="0 0 26 14" aria-hidden="true">'
    '<rect width="26" height="14" rx="3" fill="var(--c1)"/>'
    '<path d="M11 0h12a3 3 0 0 1 3 3v8a3 3 0 0 1-3 3H15z" fill="var(--c0)"/></svg>'
)

# The page may draw what it brings along and nothing else; a live one may also ask its own server.
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


@dataclass(frozen=True)
class Content:
    """What a page shows."""

    title: str
    lead: str
    tiles: str
    sections: Sequence[tuple[str, str, str]]
    figures: Sequence[Figure]
    words: str = ""
    """What the words on the page mean."""


def write_page(content: Content, version: str | None = None) -> str:
    """The whole document; with a `version` it is a live page that refreshes itself."""
    charts = {
        figure.id: figure.to_json() for figure in content.figures if isinstance(figure, Chart)
    }
    is_live = version is not None
    policy = POLICY + ("; connect-src 'self'" if is_live else "")
    head = (
        '<meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        '<link rel="icon" href="data:,">'
        f"{tag('title', escape(content.title) + ' · litmus')}"
        f"<style>{_read('page.css')}</style>"
    )
    scripts = f"<script>{_read('charts.js')}</script>"
    if is_live:
        scripts += f"<script>{_read('live.js')}</script>"
    body = (
        '<a class="skip" href="#learning">Skip to the figures</a>'
        + tag("main", _write_main(content, is_live))
        + f'<script type="application/json" id="litmus-data">{_embed(charts)}</script>'
        + scripts
    )
    version_attribute = f' data-version="{escape(version)}"' if version is not None else ""
    return (
        f'<!doctype html>\n<html lang="en"><head>{head}</head>'
        f"<body{version_attribute}>{body}</body></html>\n"
    )


def _write_main(content: Content, is_live: bool) -> str:
    when = datetime.now(UTC).strftime("%d %B %Y, %H:%M UTC").lstrip("0")
    live = ' <span class="live" role="status">live</span>' if is_live else ""
    brand = tag("div", f"{LOGO}<span>litmus report, {when}</span>{live}", class_="brand")
    top = (
        brand
        + tag("h1", escape(content.title.replace("-", "\u2011")))
        + content.lead
        + content.tiles
        + content.words
    )
    links = "".join(
        tag("li", tag("a", escape(title), href=f"#{anchor}"))
        for anchor, title, _ in content.sections
    )
    contents = tag("nav", tag("ul", links, class_="wrap"), class_="contents", aria_label="Contents")
    sections = "".join(written for _, _, written in content.sections)
    footer = tag(
        "footer",
        "Made by litmus. Everything on this page is inside this file: it opens from disk and needs "
        "no network.",
    )
    return (
        tag("header", top, class_="wrap top")
        + contents
        + tag("div", sections + footer, class_="wrap")
    )


def _embed(data: object) -> str:
    """JSON that cannot end the script element it stands in."""
    text = json.dumps(data, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")


def _read(name: str) -> str:
    return files("litmus.reports").joinpath("assets", name).read_text(encoding="utf-8")
