"""Which figures a report has: from records and details to figure descriptions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from litmus.analysis.behaviour import Behaviour
from litmus.analysis.groups import Group
from litmus.analysis.judgement import Judgement
from litmus.analysis.records import RunRecord, read_curve
from litmus.reports.details import RunDetails
from litmus.reports.figures import Bar, BarChart, Chart, Panel, Series, View

SHOWN_COMPONENTS = 8
SHOWN_BARS = 12
FIRST_STEPS = 250
"""Of a long episode, what can be read step by step."""


def draw_learning_curves(task: str, groups: Sequence[Group]) -> Chart:
    """Return against steps and against time; mean and interval over runs, single runs behind."""
    views = [
        View("steps", "environment steps", [_learning_panel(groups, "steps")]),
        View("time", "training time (s)", [_learning_panel(groups, "wall_s")]),
    ]
    several = any(len(group.records) > 1 for group in groups)
    sentence = (
        "Return of the unperturbed policy, the mean of each evaluation's episodes as the "
        "environment pays them."
    )
    sentence += (
        " Bold: mean over runs; band: 95% bootstrap interval of that mean; thin: single runs."
        if several
        else " The band spans the middle half of each evaluation's episodes."
    )
    return Chart(
        f"learning-{task.replace(':', '-').replace('/', '-')}",
        f"{task}: return while learning",
        sentence,
        views,
    )


def _learning_panel(groups: Sequence[Group], over: str) -> Panel:
    series: list[Series] = []
    for color, group in enumerate(groups):
        if len(group.records) == 1:
            series += _single_run(group.label, group.records[0], over, color)
            continue
        for record in group.records:
            curve = read_curve(record.evaluations, over, "mean")
            series.append(Series(record.name, curve.x, curve.y, color=color, is_quiet=True))
        band = group.average("steps" if over == "steps" else "wall_s")
        if band is not None:
            series.append(Series(group.label, band.x, band.mean, band.low, band.high, color=color))
    return Panel("return", series)


def _single_run(label: str, record: RunRecord, over: str, color: int) -> list[Series]:
    rows = [
        (float(event[over]), float(event["mean"]), *_middle_half(event.get("returns")))
        for event in record.evaluations
        if isinstance(event.get(over), int | float)
    ]
    if not rows:
        return []
    x, y, low, high = np.array(sorted(rows)).T
    return [Series(label, x, y, low, high, color=color)]


def _middle_half(returns: object) -> tuple[float, float]:
    values = np.array(returns if isinstance(returns, list) else [], dtype=np.float64)
    if not values.size:
        return np.nan, np.nan
    low, high = np.nanquantile(values, [0.25, 0.75])
    return float(low), float(high)


def draw_predictions(details: RunDetails) -> Chart | None:
    """Predicted against measured training return."""
    series = []
    if details.buffer is not None and details.buffer.measured.size:
        series.append(_cloud("policies in the buffer", details.buffer, 0))
    if details.fresh is not None and details.fresh.measured.size:
        series.append(_cloud("fresh perturbations, never seen", details.fresh, 1))
    if not series:
        return None
    panel = Panel("predicted by V", series, has_diagonal=True)
    return Chart(
        f"predictions-{details.key}",
        "Predicted against measured",
        "One dot a policy. On the dashed line V is right; a rising cloud off the line means that "
        "V ranks well even where its numbers are off.",
        [View("policies", "measured training return (one episode)", [panel])],
    )


def _cloud(name: str, judgement: Judgement, color: int) -> Series:
    return Series(name, judgement.measured, judgement.predicted, kind="points", color=color)


def draw_training(details: RunDetails) -> Chart | None:
    """V's loss, and what V said of θ beside what its perturbations were paid."""
    rounds = details.record.rounds
    loss = read_curve(rounds, "steps", "evaluator_loss")
    predicted = read_curve(rounds, "steps", "predicted_return")
    measured = read_curve(rounds, "steps", "training_mean")
    if not loss.x.size:
        return None
    panels = [
        Panel("V's squared error", [Series("loss", loss.x, loss.y, color=0)], is_logarithmic=True),
        Panel(
            "training return",
            [
                Series("V's prediction for θ", predicted.x, predicted.y, color=0),
                Series("mean of the round's episodes", measured.x, measured.y, color=1),
            ],
        ),
    ]
    return Chart(
        f"training-{details.key}",
        "How V learned",
        "Above, the error of each round's updates (log scale). Below, what V says of θ beside what "
        "θ's perturbations earned: where V runs ahead, the policy climbs on a promise.",
        [View("steps", "environment steps", panels)],
    )


def draw_movement(details: RunDetails) -> Chart | None:
    """How far the probing states went from where they started."""
    if details.snapshots is None or details.snapshot_steps is None or len(details.snapshots) < 2:
        return None
    moved = np.linalg.norm(details.snapshots - details.snapshots[0], axis=2)  # [S, K]
    low, high = np.quantile(moved, [0.1, 0.9], axis=1)
    steps = details.snapshot_steps
    series = [Series("mean of all", steps, moved.mean(axis=1), low, high, color=0)]
    if details.probing is not None and moved.shape[1] == len(details.probing.importance):
        series += [
            Series(f"state {k}", steps, moved[:, k], color=place + 1)
            for place, k in enumerate(details.probing.ranking[:3])
        ]
    return Chart(
        f"movement-{details.key}",
        "How the probing states moved",
        "Distance from the random start, in standard deviations of the observations. Band: 10% to "
        "90% of the states; the three that matter most are drawn alone. A flat end means that "
        "they have settled.",
        [View("steps", "environment steps", [Panel("distance from start", series)])],
    )


def draw_importance(details: RunDetails) -> BarChart | None:
    if details.probing is None:
        return None
    probing = details.probing
    count = len(probing.importance)
    ranking = probing.ranking[:SHOWN_BARS]
    total = float(probing.importance.sum()) or 1.0
    share = float(probing.importance[probing.ranking[: max(1, count // 10)]].sum()) / total
    rest = "" if count <= SHOWN_BARS else f" The {SHOWN_BARS} largest of {count} are shown."
    return BarChart(
        f"importance-{details.key}",
        "Which probing states matter",
        "How much V changes, on average over policies of the buffer, when the answer in one state "
        f"is replaced by the mean answer there.{rest} "
        f"The top tenth carries {share:.0%} of the sum.",
        "mean change of V (return)",
        [Bar(f"state {k}", float(probing.importance[k])) for k in ranking],
    )


def draw_components(details: RunDetails) -> BarChart | None:
    if details.probing is None or details.policy is None:
        return None
    use = details.probing.component_use.copy()
    names = details.state_names
    constant = details.constant if details.constant is not None else np.zeros(use.size, bool)
    use[constant] = 0.0  # V may lean on it, but no state that occurs can differ there
    share = use / (use.sum() or 1.0)
    order = np.argsort(-share, kind="stable") if use.size > SHOWN_BARS else np.arange(use.size)
    unused = int(constant.sum())
    words = f" {unused} of {use.size} never vary and are unused." if unused else ""
    if use.size > SHOWN_BARS:
        words += f" The {SHOWN_BARS} largest are shown."
    return BarChart(
        f"components-{details.key}",
        "Which components of the state they use",
        "Share of V's sensitivity (|∂V/∂s| through the policies, per standard deviation of the "
        f"observation) that each component carries.{words}",
        "share of V's sensitivity (%)",
        [
            Bar(names[d], 100 * float(share[d]), "unused: never varies" if constant[d] else "")
            for d in order[:SHOWN_BARS]
        ],
    )


def draw_behaviour(details: RunDetails) -> Chart | None:
    """F3: states, actions and distances to the probing states over one episode."""
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
        "What the policy sees, what it does, and how far it is from the probing states that matter "
        "most (L2, in standard deviations of the observations). Where a distance dips, compare the "
        "action above with the probing action in that state.",
        [
            View(name, "step of the episode", _behaviour_panels(details, behaviour, end))
            for name, end in spans
        ],
        is_tall=True,
    )


def _behaviour_panels(details: RunDetails, behaviour: Behaviour, end: int) -> list[Panel]:
    steps = np.arange(len(behaviour.rewards))[:end]
    panels = [
        Panel(
            "state (normalised)",
            [
                Series(details.state_names[d], steps, behaviour.normalized[:end, d], color=place)
                for place, d in enumerate(_choose_components(details))
            ],
        ),
        Panel(
            "action",
            [
                Series(name, steps, behaviour.actions[:end, a], color=a)
                for a, name in enumerate(details.action_names[:SHOWN_COMPONENTS])
            ],
        ),
    ]
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
