"""One episode as a figure: what the policy observed and did, how near the probing states were."""

from __future__ import annotations

import numpy as np

from litmus.analysis.behaviour import Behaviour
from litmus.reports.details import RunDetails
from litmus.reports.figures import Chart, Panel, Series, View
from litmus.reports.images import is_image

SHOWN_COMPONENTS = 8
FIRST_STEPS = 250
"""Of a long episode, what can be read step by step."""
OBSERVES = "What the policy observes and does"


def draw_behaviour(details: RunDetails) -> Chart | None:
    """States, actions and distances to the probing states over one episode."""
    behaviour = details.behaviour
    if behaviour is None or details.policy is None:
        return None
    length = len(behaviour.rewards)
    spans = [("whole episode", length)]
    if length > 1.5 * FIRST_STEPS:
        spans.insert(0, (f"first {FIRST_STEPS} steps", FIRST_STEPS))
    return Chart(
        f"behaviour-{details.key}",
        f"One episode: {length:,} steps, return {behaviour.return_:.1f}",
        _describe(details),
        [
            View(name, "step of the episode", _behaviour_panels(details, behaviour, end))
            for name, end in spans
        ],
        is_tall=True,
    )


def _describe(details: RunDetails) -> str:
    seen = "What the policy does" if is_image(details.state_shape) else OBSERVES
    if details.probing is None:
        return f"{seen}, step by step."
    return (
        f"{seen}, and its distance to the probing states that V depends on most (Euclidean, in "
        "standard deviations of the observations). Where a distance is small, compare the action "
        "above it with the probing action in that state."
    )


def _behaviour_panels(details: RunDetails, behaviour: Behaviour, end: int) -> list[Panel]:
    assert details.policy is not None
    is_categorical = details.policy.architecture.head.distribution == "categorical"
    steps = np.arange(len(behaviour.rewards))[:end]
    actions = Panel(
        "probability" if is_categorical else "action",
        [
            Series(name, steps, behaviour.actions[:end, a], color=a)
            for a, name in enumerate(details.action_names[:SHOWN_COMPONENTS])
        ],
    )
    panels = [] if is_image(details.state_shape) else [_state_panel(details, behaviour, end)]
    panels.append(actions)
    if details.probing is not None:
        used = None if details.constant is None else ~details.constant
        distances = behaviour.distances(details.probing.states, used)[:end]
        shown = details.probing.ranking[: details.shown_states]
        lines = [
            Series(f"state {k}", steps, distances[:, k], color=place)
            for place, k in enumerate(shown)
        ]
        if len(details.probing.importance) > len(shown):
            lines.append(Series("nearest of all", steps, distances.min(axis=1), color=7))
        panels.append(Panel("distance to probing state", lines))
    return panels


def _state_panel(details: RunDetails, behaviour: Behaviour, end: int) -> Panel:
    steps = np.arange(len(behaviour.rewards))[:end]
    return Panel(
        "state (normalised)",
        [
            Series(details.state_names[d], steps, behaviour.normalized[:end, d], color=place)
            for place, d in enumerate(_choose_components(details))
        ],
    )


def _choose_components(details: RunDetails) -> list[int]:
    """All, or where there are many, those that V uses most (else: that vary most)."""
    assert details.behaviour is not None
    size = details.behaviour.states.shape[1]
    if size <= SHOWN_COMPONENTS:
        return list(range(size))
    weight = details.behaviour.normalized.std(axis=0)
    if details.probing is not None:
        weight = np.where(weight > 0, details.probing.component_use, 0.0)
    return sorted(int(d) for d in np.argsort(-weight)[:SHOWN_COMPONENTS])
