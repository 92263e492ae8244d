"""Where runs of one process meet, each in a thread of its own: what all of them have brought is
worked on at once.

A run that has ended, or was stopped, leaves, and the others go on without it. Which thread does the
work, and in which order they come, changes nothing.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Sequence
from typing import Protocol, Self

from torch import Tensor

from litmus.errors import RunFailed


class Member(Protocol):
    """What a run sends to the meeting: always of the same kind as the others'."""

    number: int
    """Of the run among those that meet."""

    def work_for(self, members: Sequence[Self], given: Sequence[Tensor]) -> Sequence[Tensor]:
        """What each of the members gets for what it brought. Nobody else is at work meanwhile."""


class Together:
    def __init__(self, runs: int) -> None:
        self._runs = runs
        """Those that have not left."""
        self._given: dict[int, tuple[Member, Tensor]] = {}
        self._results: dict[int, Tensor] = {}
        self.failure: BaseException | None = None
        """Of what was done together."""
        self._changed = threading.Condition()

    def meet(self, member: Member, given: Tensor) -> Tensor:
        """Wait until every run has come or left."""
        with self._changed:
            self._given[member.number] = (member, given)
            self._work_if_complete()
            self._changed.wait_for(lambda: member.number in self._results or self.failure)
            if member.number in self._results:
                return self._results.pop(member.number)
            raise RunFailed("what runs do together failed") from self.failure

    def leave(self) -> None:
        """Called once by each run, whether or not it ever came; what fails then is `failure`."""
        with self._changed:
            self._runs -= 1
            with contextlib.suppress(BaseException):
                self._work_if_complete()

    def _work_if_complete(self) -> None:
        if not self._given or len(self._given) < self._runs or self.failure:
            return
        numbers = sorted(self._given)
        members, given = zip(*(self._given[number] for number in numbers), strict=True)
        self._given = {}
        try:
            results = members[0].work_for(members, given)
            self._results.update(zip(numbers, results, strict=True))
        except BaseException as error:
            self.failure = error
            raise
        finally:
            self._changed.notify_all()
