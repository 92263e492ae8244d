"""Figures of what V knows: its predictions, how it learned, what it depends on."""

from __future__ import annotations

import numpy as np

from litmus.analysis.judgement import Judgement
from litmus.analysis.records import RunRecord, read_curve
from litmus.analysis.statistics import Curve
from litmus.reports.details import RunDetails
from litmus.reports.figures import Bar, BarChart, Chart, Panel, Series, View
from litmus.reports.html import show_number

SHOWN_BARS = 12


def draw_predictions(details: RunDetails) -> Chart | None:
    """Predicted against measured return."""
    series = []
    if details.buffer is not None and details.buffer.measured.size:
        series.append(_cloud("policies that V learned from", details.buffer, 0))
    if details.fresh is not None and details.fresh.measured.size:
        series.append(_cloud("unseen policies", details.fresh, 1))
    if not series:
        return None
    panel = Panel("predicted by V", series, has_diagonal=True)
    return Chart(
        f"predictions-{details.key}",
        "Predicted against measured",
        "Each dot is one policy. On the dashed line V predicts what was measured. A cloud that "
        "rises to the right means that V ranks policies well, even where its numbers are off.",
        [View("policies", f"measured {name_return(details.record)} (one episode)", [panel])],
    )


def name_return(record: RunRecord) -> str:
    """What V predicts: the return, or the training return where the two differ."""
    return "training return" if record.has_training_returns else "return"


def _cloud(name: str, judgement: Judgement, color: int) -> Series:
    return Series(name, judgement.measured, judgement.predicted, kind="points", color=color)


def draw_training(details: RunDetails) -> Chart | None:
    """V's loss, and what V predicted for θ beside what was measured."""
    record = details.record
    loss = read_curve(record.rounds, "steps", "evaluator_loss")
    if not loss.x.size:
        return None
    predicted = read_curve(record.rounds, "steps", "predicted_return")
    evaluated = record.measured_training_curve
    perturbed = read_curve(record.rounds, "steps", "training_mean")
    judged, measured = ("newest θ", "average of θ") if _is_averaged(record) else ("θ", "θ")
    series = [
        Series(f"{judged}, predicted by V", predicted.x, predicted.y, color=0),
        Series(f"{measured}, measured", evaluated.x, evaluated.y, color=1),
        Series("perturbed policies, measured", perturbed.x, perturbed.y, color=7),
    ]
    series = [one for one in series if np.asarray(one.x).size]
    panels = [Panel("loss of V", [Series("loss", loss.x, loss.y, color=0)], is_logarithmic=True)]
    if series:
        panels.append(Panel(name_return(record), series))
    return Chart(
        f"training-{details.key}",
        "How V learned",
        "Top: the loss of V in each round, on a logarithmic scale. "
        + (_describe_predictions(record, predicted, evaluated) if series else ""),
        [View("steps", "environment steps", panels)],
    )


def _is_averaged(record: RunRecord) -> bool:
    """Whether what is measured is not the θ that V judges."""
    return bool(record.config.get("policy_average"))


def _describe_predictions(record: RunRecord, predicted: Curve, evaluated: Curve) -> str:
    """What the lower panel shows, and whether V promised too much at the end."""
    words = "Bottom: what V predicted for the policy θ, and what was measured. "
    if _is_averaged(record):
        words += (
            "V's predictions are for the newest θ, and measured is the average of θ over rounds: "
            "they are two policies, and what they earn may differ. "
        )
    if not evaluated.x.size and record.has_training_returns:
        return words + (
            "V predicts returns without the survival bonus, and the evaluations of θ in this run "
            "were recorded with it; so only the perturbed policies can be compared with V."
        )
    if not (predicted.x.size and evaluated.x.size):
        return words.strip()
    said, earned = _mean_of_end(predicted), _mean_of_end(evaluated)
    return words + (
        f"In the last tenth of the run V predicted {show_number(said)} on average, and "
        f"{'the average of θ' if _is_averaged(record) else 'θ'} earned {show_number(earned)}."
    )


def _mean_of_end(curve: Curve) -> float:
    """Over the last tenth of the run; at least the last point."""
    start = curve.x[0] + 0.9 * (curve.x[-1] - curve.x[0])
    return float(curve.y[curve.x >= start].mean())


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
        "Their distance from the random start, in standard deviations of the observations. The "
        "band holds the middle 80% of all probing states; the three that V depends on most are "
        "drawn alone. A flat end means that they have settled.",
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
        "Which probing states V depends on",
        "How much V changes when a policy's action in one probing state is replaced by the mean "
        f"action of all policies there; the mean over policies that V learned from.{rest} "
        f"The top tenth of the states makes up {share:.0%} of the total.",
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
    words = f" {unused} of {use.size} never vary in this task and are unused." if unused else ""
    if use.size > SHOWN_BARS:
        words += f" The {SHOWN_BARS} largest are shown."
    return BarChart(
        f"components-{details.key}",
        "Which components of the state V depends on",
        "How much V changes when a component of the probing states does, as a share of the total "
        f"(|∂V/∂s| through the policies, per standard deviation of the observation).{words}",
        "share of the total (%)",
        [
            Bar(names[d], 100 * float(share[d]), "unused: never varies" if constant[d] else "")
            for d in order[:SHOWN_BARS]
        ],
    )
