"""What the components of a task's states and actions are called, with their units."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Components:
    """Names in the order of the observation, and of the action."""

    states: tuple[str, ...]
    actions: tuple[str, ...]
    left_out: tuple[str, ...] = ()
    """Observed before all others, but only where the environment is asked for them."""
    rest: str = ""
    """What follows the named ones; it is numbered."""
    rest_counts: tuple[int, ...] = (0,)
    """How many of the rest there may be: it depends on version and options."""

    def count_leading(self, count: int) -> int | None:
        """How many of the `left_out` a state of `count` components begins with.

        None where the task has no such state, whatever its version and options.
        """
        for leading in (0, len(self.left_out)):
            if count - leading - len(self.states) in self.rest_counts:
                return leading
        return None

    def name_states(self, count: int) -> list[str] | None:
        """One name per component of a state of `count`; None where the task has no such state."""
        leading = self.count_leading(count)
        if leading is None:
            return None
        named = [*self.left_out[:leading], *self.states]
        return named + [f"{self.rest} {i}" for i in range(count - len(named))]
