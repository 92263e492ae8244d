"""What a task of one's own says of an episode is taken as plain numbers, or refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from litmus.rollouts.episode import check_episode
from litmus.tasks.base import Episode, Moments

MOMENTS = Moments(3, np.zeros(2), np.ones(2))


def test_numbers_of_other_kinds_become_plain_ones() -> None:
    given: Any = (np.float32(1.5), np.float64(2.5), np.int64(3))
    found = check_episode(Episode(*given, MOMENTS), (2,))
    numbers = (found.return_, found.training_return, found.steps)
    assert (numbers, tuple(map(type, numbers))) == ((1.5, 2.5, 3), (float, float, int))
    assert found.moments is MOMENTS
    plain = Episode(1.5, 2.5, 3, MOMENTS)
    assert check_episode(plain, (2,)) is plain


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (None, "returned NoneType, not an Episode"),
        (Episode(1.0, 1.0, 0), "a step at least, not 0"),
        (Episode(1.0, 1.0, -5), "a step at least, not -5"),
        (Episode(1.0, 1.0, 3, MOMENTS), "must be of 5 numbers each"),
        (Episode("much", 1.0, 3), "could not convert"),  # type: ignore[arg-type]
        (Episode(1.0, 1.0, 2.5), "float"),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_episode_is_refused(given: Any, words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        check_episode(given, (5,))
