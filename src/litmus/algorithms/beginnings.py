"""Where learning begins: with the best policy that is found near several untrained ones, or with
one of these.

for each untrained policy:  a round of perturbations of it, as any other
the few that earned most, and the untrained policy whose perturbations did:
                            some whole episodes of each, as they are
learning begins with the one that earned most then

Nothing is learned meanwhile, but V remembers them all. Where a round takes much of the run, there
is but one untrained policy, and learning begins with it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

PERTURBED, FINAL_EPISODES = 4, 4
"""Perturbed policies that are measured again, and by how many episodes each."""
FINALISTS = PERTURBED + 1
"""These, and an untrained one."""
MOST_SHARE, MOST_OF_TWO, MOST_IN_ALL = 0.1, 0.2, 1 / 3
"""Of the run's steps that untrained policies may take together, that the first two may, and that
all of this may, as long as episodes are no longer than before."""


@dataclass
class Beginnings:
    found: NDArray[np.float32]  # [FINALISTS, P], the best first; while looking, untrained last
    earned: NDArray[np.float64]  # [FINALISTS], -inf where nothing is found
    is_looking: bool
    """Whether another untrained policy is perturbed next."""
    looked_near: int = 0
    """Untrained policies so far."""
    episodes: int = 0
    """Of these."""
    finalists: int = 0
    """Once nothing more is looked for, those that are measured again."""
    met: int = 0
    """Finalists that were."""

    @classmethod
    def expect(cls, wanted: int, num_params: int) -> Beginnings:
        """`wanted` untrained policies, if the run is long enough."""
        count = FINALISTS if wanted > 1 else 0
        found = np.zeros((count, num_params), np.float32)
        return cls(found, np.full(count, -np.inf), is_looking=wanted > 1)

    @property
    def are_over(self) -> bool:
        return not self.is_looking and self.met == self.finalists

    @property
    def has_choice(self) -> bool:
        """Whether there is anything to choose from; a policy that earned something is not all 0."""
        return self.looked_near > 1 and bool(self.found.any())

    @property
    def theta(self) -> NDArray[np.float32]:  # [P]
        """The next finalist, or the best of them once all have met."""
        best = int(self.earned[: self.finalists or None].argmax())  # who did not meet was lucky
        chosen: NDArray[np.float32] = self.found[best if self.are_over else self.met]
        return chosen

    def weigh(self, seen: int, steps: int) -> float:
        """As what share of its observations a round of so many steps counts for the normaliser,
        which has seen so many observations until now."""
        if self.are_over or not seen:
            return 1.0
        if self.is_looking:  # where poor policies lead is nothing to normalise by
            return 0.0
        # Nor is where a single finalist stays for long: none counts more than the others did.
        return min(1.0, seen / (1 + self.met) / max(1, steps))

    def take_in(
        self,
        center: NDArray[np.float32],
        policies: NDArray[np.float32],
        returns: Sequence[float],
        wanted: int,
        done: float,
    ) -> None:
        """The policies [B, P] of the round that was asked for, perturbed from `center` [P], and
        what each earned; `done`: the share of the run that is over by now."""
        mean = np.mean(returns) if len(returns) else -np.inf
        if not self.is_looking:
            self.earned[self.met] = mean
            self.met += 1
            return
        earned = np.concatenate([self.earned[:PERTURBED], returns])
        best = np.argsort(-earned, kind="stable")[:PERTURBED]
        self.found[:PERTURBED] = np.concatenate([self.found[:PERTURBED], policies])[best]
        self.earned[:PERTURBED] = earned[best]
        if mean > self.earned[PERTURBED]:
            self.found[PERTURBED], self.earned[PERTURBED] = center, mean
        self.looked_near += 1
        self.episodes += len(returns)
        after_another = done * (self.looked_near + 1) / self.looked_near
        most = MOST_SHARE if self.looked_near > 1 else MOST_OF_TWO
        self.is_looking = self.looked_near < wanted and after_another <= most
        if not self.is_looking and self.looked_near > 1:
            order = np.argsort(-self.earned, kind="stable")
            self.found, self.earned = self.found[order], self.earned[order]
            found = int(np.count_nonzero(self.earned > -np.inf))
            cost = FINAL_EPISODES * done / max(1, self.episodes)
            affordable = int((MOST_IN_ALL - done) / cost)
            self.finalists = min(found, affordable) if affordable > 1 else 0
