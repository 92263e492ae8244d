"""Small bars beside names: the components of a probing state, and the probing action there."""

from __future__ import annotations

from html import escape

import numpy as np

from litmus.policies.actions import LOG_STD_RANGE, ActionHead
from litmus.reports.details import RunDetails
from litmus.reports.html import paragraph, show_number, tag
from litmus.tasks.base import ContinuousActions

MOST_METERS = 18
METER_RANGE = 3.0  # standard deviations that a meter spans to each side


def write_actions(details: RunDetails, k: int) -> str:
    """The probing action, and which way V rises."""
    assert details.probing is not None
    assert details.policy is not None
    head = details.policy.architecture.head
    rows = []
    for a, name in enumerate(details.action_names[:MOST_METERS]):
        value = float(details.probing.actions[k, a])
        gradient = float(details.probing.action_gradient[k, a])
        low, high = find_range(head, a)
        arrow = "↑" if gradient > 0 else "↓" if gradient < 0 else "·"
        title = f"∂V/∂action {gradient:+.3g}"
        rows.append(write_meter(name, value, low, high, f"{value:.2f} {arrow}", title))
    meters = tag("ul", "".join(rows), class_="meter actions")
    return tag("div", tag("strong", "Probing action") + meters)


def write_state(details: RunDetails, k: int) -> str:
    """The state as labelled bars, in standard deviations from the mean observation."""
    assert details.probing is not None
    names = details.state_names
    state, raw = details.probing.states[k], details.probing.raw_states[k]
    order = np.arange(state.size)
    if state.size > MOST_METERS:
        order = np.sort(np.argsort(-details.probing.component_use)[:MOST_METERS])
    rows = [
        write_meter(
            names[d],
            float(state[d]),
            -METER_RANGE,
            METER_RANGE,
            show_number(float(raw[d])),
            f"{state[d]:+.2f} σ",
        )
        for d in order
    ]
    meters = tag("ul", "".join(rows), class_="meter")
    return tag("div", tag("strong", "Probing state") + meters)


def explain_meters(details: RunDetails, with_state: bool) -> str:
    """What bars, numbers and arrows mean: once for all cards of a run."""
    assert details.policy is not None
    head, size = details.policy.architecture.head, int(np.prod(details.state_shape))
    words = ["Probing action:"]
    if head.distribution == "categorical":
        words.append("bars are the probability of each choice, and")
    words.append("an arrow says whether V rises when the value goes up (↑) or down (↓).")
    if with_state:
        words.append(
            "Probing state: numbers are as observed, and bars show the distance from the mean "
            f"observation, up to {METER_RANGE:.0f} standard deviations to each side."
        )
        if size > MOST_METERS:
            words.append(f"Of {size} components, the {MOST_METERS} that V depends on most.")
    return paragraph(" ".join(words), "small")


def write_meter(name: str, value: float, low: float, high: float, shown: str, title: str) -> str:
    """One bar on a track from `low` to `high`. It starts at zero, or at the end nearest to it:
    a probability starts at the left, a signed value in the middle."""
    origin = _place(0.0, low, high)
    end = _place(value, low, high) if np.isfinite(value) else origin
    left, width = min(origin, end), abs(end - origin)
    fill = tag("span", class_="fill", style=f"left:{left:.1f}%;width:{width:.1f}%")
    zero = tag("span", class_="zero", style=f"left:{origin:.1f}%") if 0 < origin < 100 else ""
    return tag(
        "li",
        tag("span", escape(name), class_="name")
        + tag("span", fill + zero, class_="track", aria_hidden="true")
        + tag("span", escape(shown), class_="value", title=title),
    )


def _place(value: float, low: float, high: float) -> float:
    """Per cent of the way from `low` to `high`."""
    return 100 * (float(np.clip(value, low, high)) - low) / (high - low)


def find_range(head: ActionHead, place: int) -> tuple[float, float]:
    """What an action parameter lies between; of one without bounds, what is usual."""
    actions = head.actions
    if not isinstance(actions, ContinuousActions):
        return 0.0, 1.0
    if place >= actions.size:  # log σ of a gaussian policy
        return LOG_STD_RANGE
    low, high = actions.low[place], actions.high[place]
    return (low, high) if np.isfinite(low) and np.isfinite(high) and high > low else (-1.0, 1.0)
