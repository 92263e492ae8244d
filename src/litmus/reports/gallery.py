"""The gallery: each probing state that matters, what the policy answers there, what follows."""

from __future__ import annotations

import io
from html import escape

import numpy as np

from litmus.policies.actions import ActionHead
from litmus.reports.details import RunDetails
from litmus.reports.html import heading, image, paragraph, show_number, table, tag
from litmus.reports.render import ROLL_TITLES, RenderedState, data_uri
from litmus.tasks.base import ContinuousActions

MOST_METERS = 18
METER_RANGE = 3.0  # standard deviations that a meter spans to each side


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
    return tag("div", "".join(cards), class_="states") + everything


def _write_card(details: RunDetails, rank: int, k: int, level: int) -> str:
    probing = details.probing
    assert probing is not None
    rendered = details.rendered[rank] if rank < len(details.rendered) else None
    title = heading(f"State {k}", level) + paragraph(
        f"rank {rank + 1} of {len(probing.importance)}; without its answer V changes by "
        f"{show_number(float(probing.importance[k]))} on average"
    )
    pictures = _write_pictures(rendered, k) if rendered else _write_image(details, k)
    answers = tag("div", _write_actions(details, k) + _write_state(details, k), class_="answers")
    left = tag("div", pictures) if pictures else ""
    class_ = "card state-card" if pictures else "card state-card plain"
    return tag("article", tag("header", title) + left + answers, class_=class_)


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
            "The simulator was set to it all the same"
            if rendered.can_be_set
            else "The animations start from the nearest visited state instead"
        )
        text = f"Not a state that occurs: {rendered.problem}. {start}."
        aside = tag("p", escape(text), class_="note")
        if rendered.nearest is not None:
            words = f"The visited state nearest to probing state {k}"
            still = image(data_uri(rendered.nearest), words, 280, 210)
            aside += tag("div", still + "nearest state that the policy visits", class_="nearest")
        written += tag("div", aside, class_="unreal")
    return written + tag("div", "".join(strips), class_="strips")


def _write_image(details: RunDetails, k: int) -> str:
    """A probing state that is an image, as an image."""
    assert details.probing is not None
    assert details.policy is not None
    shape = details.policy.architecture.state_shape
    if not is_image(shape):
        return ""
    pixels = to_picture(details.probing.raw_states[k].reshape(shape))
    height, width = pixels.shape[:2]
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG")
    source = data_uri(file.getvalue(), "image/png")
    return image(source, f"Probing state {k} as an image", width, height, class_="pixels")


def is_image(shape: tuple[int, ...]) -> bool:
    """Height × width, with one or three channels first or last, or none."""
    if len(shape) == 3:
        return shape[-1] in (1, 3) or shape[0] in (1, 3)
    return len(shape) == 2


def to_picture(pixels: np.ndarray) -> np.ndarray:
    """Stretch values to 0..255; colours last."""
    if pixels.ndim == 3:
        if pixels.shape[-1] not in (1, 3):
            pixels = np.moveaxis(pixels, 0, -1)
        if pixels.shape[-1] == 1:
            pixels = pixels[..., 0]
    low, high = float(pixels.min()), float(pixels.max())
    return np.round(255 * (pixels - low) / ((high - low) or 1.0)).astype(np.uint8)


def _write_actions(details: RunDetails, k: int) -> str:
    """The probing action, and which way V would have it go."""
    assert details.probing is not None
    assert details.policy is not None
    head = details.policy.architecture.head
    rows = []
    for a, name in enumerate(details.action_names[:MOST_METERS]):
        value = float(details.probing.actions[k, a])
        gradient = float(details.probing.action_gradient[k, a])
        low, high = _action_range(head, a)
        arrow = "↑" if gradient > 0 else "↓" if gradient < 0 else "·"
        rows.append(
            _meter(
                name,
                2 * (value - low) / (high - low) - 1,
                f"{value:.2f} {arrow}",
                f"∂V/∂action {gradient:+.3g}",
            )
        )
    hint = paragraph("Arrows: the direction in which V rises (∂V/∂action).", "small")
    meters = tag("ul", "".join(rows), class_="meter actions")
    return tag("div", tag("strong", "Probing action") + meters + hint)


def _write_state(details: RunDetails, k: int) -> str:
    """The state as labelled bars, in standard deviations from the mean observation."""
    assert details.probing is not None
    assert details.policy is not None
    if is_image(details.policy.architecture.state_shape):
        return ""
    names = details.state_names
    state, raw = details.probing.states[k], details.probing.raw_states[k]
    order = np.arange(state.size)
    if state.size > MOST_METERS:
        order = np.sort(np.argsort(-details.probing.component_use)[:MOST_METERS])
    rows = [
        _meter(names[d], state[d] / METER_RANGE, show_number(float(raw[d])), f"{state[d]:+.2f} σ")
        for d in order
    ]
    shown = "" if len(order) == state.size else f" The {len(order)} that V uses most are shown."
    hint = paragraph(
        f"Bars: ±{METER_RANGE:.0f} standard deviations around the mean observation; numbers: as "
        f"observed.{shown}",
        "small",
    )
    meters = tag("ul", "".join(rows), class_="meter")
    return tag("div", tag("strong", "Probing state") + meters + hint)


def _meter(name: str, share: float, value: str, title: str) -> str:
    """One bar from the middle; `share` is -1 at the left end and 1 at the right."""
    share = float(np.clip(share, -1.0, 1.0)) if np.isfinite(share) else 0.0
    left, width = 50 + 50 * min(0.0, share), 50 * abs(share)
    fill = tag("span", class_="fill", style=f"left:{left:.1f}%;width:{width:.1f}%")
    return tag(
        "li",
        tag("span", escape(name), class_="name")
        + tag("span", fill, class_="track", aria_hidden="true")
        + tag("span", escape(value), class_="value", title=title),
    )


def _action_range(head: ActionHead, place: int) -> tuple[float, float]:
    actions = head.actions
    if not isinstance(actions, ContinuousActions):
        return 0.0, 1.0
    if place >= actions.size:  # log σ of a gaussian policy
        return -5.0, 0.0
    low, high = actions.low[place], actions.high[place]
    return (low, high) if np.isfinite(low) and np.isfinite(high) and high > low else (-1.0, 1.0)


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
    head = ["State", "Rank", "Importance", "Probing action", "∂V/∂action", "State, as observed"]
    return table(head, rows, "All probing states, the most important first", numbers=(1, 2))


def _vector(values: np.ndarray) -> str:
    shown = ", ".join(f"{value:.3g}" for value in values[:MOST_METERS])
    more = ", …" if len(values) > MOST_METERS else ""
    return tag("span", f"{shown}{more}", class_="mono")
