"""The final return of a run: one definition, for everything that prints or shows it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from litmus.counts import say_count, show_return
from litmus.runs.metrics import Event

FINAL_EVALUATIONS = 20
"""The paper's: a run's final return is the mean over its last 20 evaluations."""
FINAL_SHARE = 0.1
"""A run with fewer than 200 evaluations has no 20 near its end: there it is the last tenth."""

DEFINITION = (
    "the mean return of the policy that a run handed over, in episodes that it was not chosen by; "
    f"for a run that hands over its last policy, the mean over its last {FINAL_EVALUATIONS} "
    "evaluations, or over the last tenth of them "
    f"in a run with fewer than {round(FINAL_EVALUATIONS / FINAL_SHARE)}"
)


def select_evaluations(events: Sequence[Event]) -> list[Event]:
    """The evaluations that have a mean, in the order of their steps."""
    found = [event for event in events if event["event"] == "evaluation" and _has_mean(event)]
    return sorted(found, key=lambda event: float(event["steps"]))


def select_final_evaluations(events: Sequence[Event]) -> list[Event]:
    """The evaluations that the final return is the mean of; none where there are none yet."""
    if (handed_over := find_handed_over(events)) is not None:
        return [handed_over]
    return select_last_evaluations(events)


def select_last_evaluations(events: Sequence[Event]) -> list[Event]:
    """The last ones, whichever policy was handed over."""
    evaluations = select_evaluations(events)
    share = math.ceil(FINAL_SHARE * len(evaluations))
    return evaluations[-min(FINAL_EVALUATIONS, max(1, share)) :]


def find_handed_over(events: Sequence[Event]) -> Event | None:
    """How the policy did that was handed over as the best one measured, if the run chose one."""
    found = (one for one in reversed(events) if one["event"] == "handed_over" and _has_mean(one))
    return next(found, None)


def compute_final_return(events: Sequence[Event]) -> float | None:
    return _average(select_final_evaluations(events))


def compute_last_return(events: Sequence[Event]) -> float | None:
    """The mean over the last evaluations: of a run that hands over its best policy, what its last
    ones earned."""
    return _average(select_last_evaluations(events))


def find_untrained_return(events: Sequence[Event]) -> float | None:
    """What the policy earned before any training; None where nobody measured that."""
    first = next((event for event in select_evaluations(events) if event["steps"] == 0), None)
    return None if first is None else float(first["mean"])


def describe_final_return(events: Sequence[Event]) -> str:
    """The final return and what it is, in words; nothing where there is no evaluation."""
    final, count = compute_final_return(events), len(select_final_evaluations(events))
    if final is None:
        return ""
    if (handed_over := find_handed_over(events)) is not None:
        over = describe_handed_over(handed_over)
    else:
        over = "the last evaluation" if count == 1 else f"mean of the last {count} evaluations"
    untrained = find_untrained_return(events)
    before = "" if untrained is None else f"; untrained policy {show_return(untrained)}"
    return f"final return {show_return(final)} ({over}{before})"


def describe_handed_over(event: Event) -> str:
    which = "the last policy" if event.get("is_last") else f"the policy of step {event['steps']:,}"
    episodes = say_count(len(event.get("returns", [])), "fresh episode")
    return f"{which}, measured best; mean of {episodes}"


def _average(events: Sequence[Event]) -> float | None:
    means = [float(event["mean"]) for event in events]
    return sum(means) / len(means) if means else None


def _has_mean(event: Event) -> bool:
    mean, steps = event.get("mean"), event.get("steps")
    return all(isinstance(n, int | float) and math.isfinite(n) for n in (mean, steps))
