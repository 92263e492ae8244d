"""The gallery: the probing states that V depends on most, the action there, what follows."""

from __future__ import annotations

from html import escape

import numpy as np

from litmus.reports.details import RunDetails
from litmus.reports.html import heading, image, paragraph, show_number, table, tag
from litmus.reports.images import is_image, write_image
from litmus.reports.meters import MOST_METERS, explain_meters, write_actions, write_state
from litmus.reports.render import ROLL_TITLES, RenderedState, data_uri


def write_gallery(details: RunDetails, level: int) -> str:
    """Cards for the states that matter most, and all of them in a table."""
    probing = details.probing
    assert probing is not None
    cards = [
        _write_card(details, rank, int(k), level)
        for rank, k in enumerate(probing.ranking[: details.shown_states])
    ]
    everything = tag(
        "details",
        tag("summary", f"All {len(probing.importance)} probing states as a table")
        + _write_table(details),
        id=f"all-states-{details.key}",
    )
    of_images = is_image(details.state_shape)
    hint = explain_meters(details, with_state=not of_images)
    class_ = "states images" if of_images else "states"
    return hint + tag("div", "".join(cards), class_=class_) + everything


def _write_card(details: RunDetails, rank: int, k: int, level: int) -> str:
    probing = details.probing
    assert probing is not None
    rendered = details.rendered[rank] if rank < len(details.rendered) else None
    title = heading(f"State {k}", level) + paragraph(
        f"rank {rank + 1} of {len(probing.importance)}; replacing the action here by the mean of "
        f"all policies changes V by {show_number(float(probing.importance[k]))}"
    )
    pictures = _write_pictures(rendered, k) if rendered else write_image(details, k)
    state = "" if is_image(details.state_shape) else write_state(details, k)
    asked = tag("div", write_actions(details, k) + state, class_="asked")
    left = tag("div", pictures) if pictures else ""
    class_ = "card state-card" if pictures else "card state-card plain"
    return tag("article", tag("header", title) + left + asked, class_=class_)


def _write_pictures(rendered: RenderedState, k: int) -> str:
    """Three animations; a still of the nearest visited state where the state itself cannot be."""
    rolls, strips = [], []
    for kind, roll in rendered.rolls.items():
        title = ROLL_TITLES[kind]
        rolls.append(
            tag(
                "div",
                image(
                    data_uri(roll.still),
                    f"Animation from probing state {k}: {title}",
                    280,
                    210,
                    data_animation=data_uri(roll.animation),
                )
                + escape(title),
            )
        )
        text = f"Six stills in the order of time from probing state {k}: {title}"
        strips.append(
            tag("div", image(data_uri(roll.strip), text, 840, 105) + escape(f"in stills: {title}"))
        )
    written = tag("div", "".join(rolls), class_="rolls")
    if rendered.problem is not None:
        start = (
            "The animations start from it nevertheless"
            if rendered.can_be_set
            else "The animations start from the nearest state that the policy visits"
        )
        text = f"This state does not occur in an episode: {rendered.problem}. {start}."
        aside = tag("p", escape(text), class_="note")
        if rendered.nearest is not None:
            words = f"The visited state nearest to probing state {k}"
            still = image(data_uri(rendered.nearest), words, 280, 210)
            aside += tag("div", still + "nearest state that the policy visits", class_="nearest")
        written += tag("div", aside, class_="unreal")
    return written + tag("div", "".join(strips), class_="strips")


def _write_table(details: RunDetails) -> str:
    probing = details.probing
    assert probing is not None
    rows = [
        [
            f"{k}",
            f"{rank + 1}",
            show_number(float(probing.importance[k])),
            _vector(probing.actions[k]),
            _vector(probing.action_gradient[k]),
            _vector(probing.raw_states[k]),
        ]
        for rank, k in enumerate(probing.ranking)
    ]
    head = ["State", "Rank", "Change of V", "Probing action", "∂V/∂action", "State, as observed"]
    return table(
        head, rows, "All probing states; those that V depends on most come first", numbers=(1, 2)
    )


def _vector(values: np.ndarray) -> str:
    shown = ", ".join(f"{value:.3g}" for value in values[:MOST_METERS])
    more = ", …" if len(values) > MOST_METERS else ""
    return tag("span", f"{shown}{more}", class_="mono")
