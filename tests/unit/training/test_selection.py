"""Which policy is handed over, and when learning goes back: on policies whose returns are known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from litmus.config import PssvfConfig
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Request
from litmus.runs.state import Counters
from litmus.seeding import Stream
from litmus.tasks.base import Cut, Episode
from litmus.training.selection import FALLS, ITERATIONS_BETWEEN, Selection, is_clearly_less

NOISE = (-1.0, 0.5, 1.0, -0.5)
"""What luck adds to the return of episode n."""


WHOLE = 5
"""Steps of an episode."""


class KnownReturns:
    """A collector: the return of a policy is its only parameter, and some luck; each step earns as
    much as any other."""

    def __init__(self) -> None:
        self.seen: list[Request] = []

    def start(self, request: Request) -> KnownReturns:
        self.seen.append(request)
        return self

    def result(self) -> list[Episode]:
        request = self.seen[-1]
        level = float(request.flat_params[0])
        steps = request.most_steps or WHOLE
        returns = [(level + NOISE[i % 4]) * steps / WHOLE for i in request.indices]
        return [Episode(one, one, steps) for one in returns]

    def close(self) -> None: ...


class Wanderer:
    """An algorithm that is where it is put."""

    is_beginning = False

    def __init__(self) -> None:
        self.level = 0.0
        self.cut: Cut | None = None
        self.backs: list[float] = []

    @property
    def flat_params(self) -> NDArray[np.float32]:
        return np.array([self.level], np.float32)

    @property
    def normalizer(self) -> Normalizer:
        return Normalizer.identity((1,))

    @property
    def center(self) -> Mapping[str, Any]:
        return {"level": self.level}

    def go_back(self, center: Mapping[str, Any]) -> None:
        self.level = center["level"]
        self.backs.append(self.level)


def make(share: float = 0.5, steps: int = 100_000) -> tuple[Selection, Wanderer, KnownReturns]:
    config = PssvfConfig(
        algorithm="pssvf",
        task="known",
        steps=steps,
        selection_share=share,
        selection_episodes=4,
        evaluator_options={},
        architecture_options={},
    )
    collector, algorithm = KnownReturns(), Wanderer()
    selection = Selection(config, collector, algorithm)  # type: ignore[arg-type]
    selection.begin()
    selection.measure_if_due(Counters(steps=5, episodes=1, iterations=1))
    return selection, algorithm, collector


def measure(selection: Selection, steps: int, iterations: int) -> Any:
    """Ask whether it is time, in a run whose episodes take five steps."""
    return selection.measure_if_due(
        Counters(steps=steps, episodes=steps // 5, iterations=iterations)
    )


def visit(selection: Selection, algorithm: Wanderer, levels: list[float]) -> list[Any]:
    """Put θ at each level in turn and measure it."""
    measured = []
    for number, level in enumerate(levels, start=1):
        algorithm.level = level
        measured.append(measure(selection, 10_000 * number, number * ITERATIONS_BETWEEN))
    return measured


def test_the_best_policy_is_handed_over_and_not_the_last_one() -> None:
    selection, algorithm, _ = make()
    visit(selection, algorithm, [3.0, 9.0, 7.0])
    choice = selection.choose(steps=50_000)
    assert choice is not None
    assert choice.handed_over.flat_params == [9.0]
    assert choice.handed_over.steps == 20_000
    assert choice.last.flat_params == [7.0]
    assert choice.is_improvement


@pytest.mark.parametrize(("last", "handed_over"), [(9.0, "last"), (3.1, "best"), (1.0, "best")])
def test_a_last_policy_that_was_never_measured_is_handed_over_if_it_is_clearly_better(
    last: float, handed_over: str
) -> None:
    selection, algorithm, _ = make()
    visit(selection, algorithm, [3.0])
    algorithm.level = last
    choice = selection.choose(steps=50_000)
    assert choice is not None
    assert choice.handed_over is getattr(choice, handed_over)


def test_where_a_part_of_an_episode_is_enough_no_more_is_run_until_the_end() -> None:
    selection, algorithm, collector = make()
    algorithm.cut = Cut(1, WHOLE)
    algorithm.level = 3.0
    before = len(collector.seen)
    measured = measure(selection, 10_000, ITERATIONS_BETWEEN)
    assert {request.most_steps for request in collector.seen[before:]} == {1}
    assert measured.cut == algorithm.cut
    assert measured.returns.mean() == pytest.approx(3.0)  # as if episodes had gone on
    assert measured.steps == measured.episodes
    assert selection.state is not None
    assert selection.state.cost == 4 * WHOLE
    before = len(collector.seen)
    selection.choose(steps=50_000)
    assert {request.most_steps for request in collector.seen[before:]} == {None}


def test_what_was_measured_in_other_parts_of_episodes_is_measured_anew() -> None:
    selection, algorithm, collector = make()
    visit(selection, algorithm, [3.0])
    algorithm.cut, algorithm.level = Cut(1, WHOLE), 2.0
    before = len(collector.seen)
    assert not measure(selection, 20_000, 2 * ITERATIONS_BETWEEN).is_best
    asked = collector.seen[before : before + 3]
    assert [float(one.flat_params[0]) for one in asked] == [0.0, 3.0, 2.0]
    assert {one.most_steps for one in asked} == {1}
    state = selection.state
    assert state is not None
    assert (state.best.steps, state.best.returns.mean()) == (10_000, pytest.approx(3.0))


def test_a_run_that_only_got_worse_hands_over_where_it_began_and_says_so() -> None:
    selection, algorithm, _ = make()
    visit(selection, algorithm, [-3.0, -9.0])
    choice = selection.choose(steps=50_000)
    assert choice is not None
    assert choice.handed_over.flat_params == [0.0]
    assert choice.handed_over.steps == 0
    assert not choice.is_improvement


def test_what_seems_best_is_measured_once_more() -> None:
    selection, algorithm, collector = make()
    visit(selection, algorithm, [3.0])
    assert len(collector.seen) == 3  # untrained, θ, θ again
    assert selection.state is not None
    assert selection.state.best.returns.size == 8


def test_the_end_is_decided_by_episodes_that_nothing_was_chosen_by() -> None:
    selection, algorithm, collector = make()
    visit(selection, algorithm, [3.0, 9.0])
    before = {index for request in collector.seen for index in request.indices}
    asked = len(collector.seen)
    selection.choose(steps=50_000)
    after = [request.indices for request in collector.seen[asked:]]
    assert not before & set(after[0])
    assert after[0] == after[1] == after[2]  # the same starts for all
    assert {request.stream for request in collector.seen} == {Stream.SELECTION}


def test_learning_goes_back_when_it_lost_most_of_its_gain_several_times() -> None:
    selection, algorithm, _ = make()
    measured = visit(selection, algorithm, [20.0, *[4.0] * FALLS])
    assert [one.went_back for one in measured] == [False] * FALLS + [True]
    assert algorithm.backs == [20.0]
    assert algorithm.level == 20.0


def test_learning_goes_back_from_below_the_untrained_policy_to_a_gain_that_may_be_luck() -> None:
    selection, algorithm, _ = make()
    visit(selection, algorithm, [0.5, *[-20.0] * FALLS])
    assert algorithm.backs == [0.5]


@pytest.mark.parametrize(
    "levels",
    [
        [20.0, *[15.0] * 5],  # worse, but most of the gain is there
        [20.0, 4.0, 4.0, 15.0, 4.0, 4.0],  # never lost for long
        [-20.0] * 6,  # nothing was gained yet: the way may lead downhill
    ],
)
def test_learning_does_not_go_back_from_less_than_that(levels: list[float]) -> None:
    selection, algorithm, _ = make()
    visit(selection, algorithm, levels)
    assert algorithm.backs == []


def test_nothing_is_measured_while_a_policy_to_begin_with_is_looked_for() -> None:
    """But the untrained one: what is handed over in the end is compared with it."""
    selection, algorithm, _ = make()
    assert selection.state is not None
    assert selection.state.episodes == 4
    algorithm.is_beginning = True
    assert measure(selection, 20_000, 100) is None
    algorithm.is_beginning = False
    assert measure(selection, 20_000, 100) is not None


def test_measuring_keeps_to_its_share_of_the_steps() -> None:
    selection, _, _ = make(share=0.1)
    for number in range(1, 200):
        measure(selection, 100 * number, number * ITERATIONS_BETWEEN)
        assert selection.state is not None
        assert selection.state.spent <= 0.1 * 100 * number + 3 * selection.state.cost


def test_nothing_is_measured_again_before_learning_has_had_a_few_rounds() -> None:
    selection, algorithm, _ = make()
    algorithm.level = 1.0
    assert measure(selection, 10_000, ITERATIONS_BETWEEN - 1) is None
    assert measure(selection, 10_000, ITERATIONS_BETWEEN) is not None
    assert measure(selection, 10_000, ITERATIONS_BETWEEN + 1) is None


@pytest.mark.parametrize(("steps", "is_measured"), [(239, False), (240, True)])
def test_a_run_that_measuring_would_take_more_than_a_third_of_does_without(
    steps: int, is_measured: bool
) -> None:
    """Four times four episodes of five steps: untrained, and three policies in the end."""
    selection, _, collector = make(steps=steps)
    assert bool(collector.seen) == (selection.state is not None) == is_measured
    assert (selection.choose(steps) is not None) == is_measured


def test_nothing_is_measured_before_an_episode_has_ended() -> None:
    selection, _, collector = make()
    selection.begin()
    collector.seen.clear()
    assert selection.measure_if_due(Counters(steps=50, episodes=0, iterations=1)) is None
    assert selection.choose(50) is None
    assert collector.seen == []


def test_without_a_share_nothing_is_measured() -> None:
    selection, _, collector = make(share=0.0)
    assert measure(selection, 10_000, iterations=100) is None
    assert selection.choose(10_000) is None
    assert selection.reserve == 0
    assert collector.seen == []


def test_no_return_at_all_is_worse_than_any() -> None:
    nothing, some = np.empty(0), np.array([-1e9, -1e9])
    assert is_clearly_less(nothing, some)
    assert not is_clearly_less(some, nothing)
    assert not is_clearly_less(nothing, nothing)
