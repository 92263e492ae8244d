"""The test of two policies keeps its error rate, whatever it is told, and needs few episodes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from litmus.analysis.sequential import PairedTest

Draw = Callable[[np.random.Generator, int], np.ndarray]

DRAWS: dict[str, Draw] = {
    "normal": lambda generator, size: generator.normal(size=size),
    "heavy tails": lambda generator, size: generator.standard_t(1.5, size=size),
    "two values": lambda generator, size: generator.choice([-1.0, 1.0], size=size),
    "mostly ties": lambda generator, size: generator.choice([-5.0, 0.0, 0.0, 5.0], size=size),
    "two falls": lambda generator, size: (
        generator.choice([100.0, 900.0], size=size) - generator.choice([100.0, 900.0], size=size)
    ),
    "differently noisy": lambda generator, size: (
        generator.normal(300, 1, size=size) - generator.normal(300, 50, size=size)
    ),
}

TESTS, PAIRS, ERROR_RATE = 600, 60, 0.1


def decide(differences: np.ndarray, opinion: float = 0.5, error_rate: float = ERROR_RATE) -> str:
    test = PairedTest(error_rate, opinion)
    for difference in differences:
        if test.add(float(difference)) != "undecided":
            break
    return test.verdict


@pytest.mark.parametrize("opinion", [0.5, 0.99])
@pytest.mark.parametrize("name", DRAWS)
def test_equal_policies_are_told_apart_no_more_often_than_allowed(
    name: str, opinion: float
) -> None:
    """Looking after every pair, and with an evaluator that is sure of something wrong."""
    generator = np.random.default_rng(0)
    verdicts = [decide(DRAWS[name](generator, PAIRS), opinion) for _ in range(TESTS)]
    wrong = np.mean([verdict != "undecided" for verdict in verdicts])
    assert wrong <= ERROR_RATE + 3 * np.sqrt(ERROR_RATE * (1 - ERROR_RATE) / TESTS)


def test_a_worse_policy_is_called_better_no_more_often_than_allowed() -> None:
    generator = np.random.default_rng(1)
    verdicts = [decide(generator.normal(-0.6, 1, size=PAIRS), 0.9) for _ in range(TESTS)]
    assert np.mean([verdict == "first" for verdict in verdicts]) <= ERROR_RATE
    assert np.mean([verdict == "second" for verdict in verdicts]) > 0.5


@pytest.mark.parametrize(("side", "sign"), [("first", 1.0), ("second", -1.0)])
def test_a_clear_difference_takes_few_pairs_whatever_its_unit(side: str, sign: float) -> None:
    for unit in (1e-6, 1.0, 1e9):
        test = PairedTest(0.05)
        pairs = 0
        while test.add(sign * unit * (1 + 0.1 * (pairs % 3))) == "undecided":
            pairs += 1
        assert test.verdict == side
        assert pairs < 10


def test_a_right_opinion_decides_sooner_and_a_wrong_one_later() -> None:
    def count(opinion: float) -> int:
        test = PairedTest(0.05, opinion)
        while test.add(1.0) == "undecided":
            pass
        return len(test.differences)

    assert count(0.99) <= count(0.5) <= count(0.01)


def test_fewer_pairs_than_it_takes_decide_nothing() -> None:
    least = PairedTest(0.05, 0.5).count_least()
    test = PairedTest(0.05, 0.5)
    said = [test.add(1.0) for _ in range(least)]
    assert said == ["undecided"] * (least - 1) + ["first"]


def test_the_first_is_not_called_better_where_rare_losses_outweigh_what_it_wins() -> None:
    test = PairedTest()
    for number in range(200):
        assert test.add(-12.0 if number % 10 == 3 else 1.0) != "first"


def test_policies_that_do_the_same_are_never_told_apart() -> None:
    assert decide(np.zeros(100)) == "undecided"
