from __future__ import annotations

import numpy as np
import pytest

from litmus.analysis.judgement import Judgement

MEASURED = np.random.default_rng(0).normal(100, 10, size=48)
NOISE = np.random.default_rng(1).normal(size=48)


def test_a_judge_that_is_right_has_no_error() -> None:
    values = np.array([1.0, 5.0, 2.0])
    right = Judgement(values, values)
    assert right.error == 0.0
    assert right.rank_correlation == pytest.approx(1.0)
    shifted = Judgement(values + 10, values)
    assert shifted.error == pytest.approx(10.0)
    assert shifted.rank_correlation == pytest.approx(1.0)
    assert Judgement(np.empty(0), np.empty(0)).error is None


def test_a_judge_that_is_nearly_right_is_better_than_guessing() -> None:
    assert Judgement(MEASURED + NOISE, MEASURED).verdict == "better"


def test_a_judge_whose_numbers_are_off_may_still_rank() -> None:
    assert Judgement(MEASURED + 50, MEASURED).verdict == "ranks only"


def test_a_judge_that_is_noise_or_always_says_the_same_is_no_better() -> None:
    assert Judgement(100 + NOISE, MEASURED).verdict == "no better"
    assert Judgement(np.full(48, MEASURED.mean()), MEASURED).verdict == "no better"
    assert Judgement(200 - MEASURED, MEASURED).verdict == "no better"  # ranks the wrong way round


def test_a_small_correlation_that_chance_may_give_does_not_count() -> None:
    """Random predictions have a rank correlation above the bound once in forty times."""
    generator = np.random.default_rng(2)
    lucky = sum(
        Judgement(generator.normal(size=16), generator.normal(size=16)).verdict != "no better"
        for _ in range(400)
    )
    assert lucky < 20


def test_equal_or_few_measurements_say_nothing_of_the_judge() -> None:
    assert Judgement(NOISE, np.full(48, 500.0)).verdict == "nothing to tell apart"
    assert Judgement(MEASURED[:7], MEASURED[:7]).verdict == "too few"
    assert Judgement(np.empty(0), np.empty(0)).verdict == "too few"
