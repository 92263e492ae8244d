"""A function of the user's own that is told what happens in a run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from litmus.runs.metrics import Event
from litmus.runs.run import Run


@dataclass(frozen=True)
class Notice:
    """One thing that happened: a round, an evaluation, or that the run is finished."""

    event: Mapping[str, Any]
    """The line of metrics.jsonl."""
    run: Run
    """As it is on disk; policy and evaluator are those of its newest checkpoint."""


Callback: TypeAlias = Callable[[Notice], object]


class CallbackRaised(Exception):
    """Carries what a callback raised past handlers that are not meant for it."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class Teller:
    """Keeps what happened until the run is in a state that can be resumed, then tells it."""

    callback: Callback | None
    path: Path
    untold: list[Event] = field(default_factory=list)

    def add(self, event: Event) -> None:
        if self.callback is not None:
            self.untold.append(event)

    def tell(self) -> None:
        while self.callback is not None and self.untold:
            notice = Notice(self.untold.pop(0), Run(self.path))
            try:
                self.callback(notice)
            except BaseException as error:
                raise CallbackRaised(error) from error
