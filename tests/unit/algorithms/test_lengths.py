"""How long episodes must be: on episodes whose rewards are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray

from litmus.algorithms.lengths import COMPARED, Lengths
from litmus.tasks.base import MARKS, Episode

Rewards = NDArray[np.float64]


def make_episode(rewards: Rewards, most_steps: int | None = None) -> Episode:
    earned = np.cumsum(rewards[:most_steps])
    earlier = earned[np.minimum(MARKS, len(earned)) - 1]
    return Episode(earned[-1], earned[-1], len(earned), earlier=earlier)


def run(speed: float, luck: np.random.Generator) -> Rewards:
    """Forward, at a steady speed."""
    return speed + 0.1 * luck.normal(size=1000)


def land(speed: float, luck: np.random.Generator) -> Rewards:
    """All is decided in the end."""
    return np.append(0.1 * luck.normal(size=999), 100 * speed)


def slow_down(speed: float, luck: np.random.Generator) -> Rewards:
    """As reaching does: the way there says who will be there, but not what that earns."""
    return np.append(np.full(200, -speed), np.zeros(800))


def fall(speed: float, luck: np.random.Generator) -> Rewards:
    """Sooner or later, all at the same speed."""
    return np.ones(int(luck.integers(20, 1000)))


def collect(
    lengths: Lengths, rounds: int, rewards: Callable[[float, np.random.Generator], Rewards]
) -> list[tuple[int | None, int]]:
    """Where each round was cut, and its steps."""
    luck, done = np.random.default_rng(3), []
    for number in range(rounds):
        most_steps = lengths.most_steps
        speeds = 1 + luck.normal(size=16)
        episodes = [make_episode(rewards(one, luck), most_steps) for one in speeds]
        lengths.take_in(number, episodes, most_steps)
        done.append((most_steps, sum(one.steps for one in episodes)))
    return done


def test_steady_rewards_need_a_quarter_of_an_episode() -> None:
    done = collect(Lengths(0.6), 40, run)
    assert [cut for cut, _ in done[: COMPARED // 16]] == [None] * (COMPARED // 16)
    assert {cut for cut, _ in done} == {None, 256}


def test_a_quarter_of_the_steps_stays_with_whole_episodes() -> None:
    done = collect(Lengths(0.6), 400, run)
    whole = sum(steps for cut, steps in done if cut is None)
    assert whole / sum(steps for _, steps in done) == pytest.approx(0.25, abs=0.03)


@pytest.mark.parametrize("rewards", [land, slow_down, fall])
def test_what_does_not_go_on_as_it_began_is_not_cut(
    rewards: Callable[[float, np.random.Generator], Rewards],
) -> None:
    assert {cut for cut, _ in collect(Lengths(0.6), 40, rewards)} == {None}


def test_rewards_that_are_no_longer_steady_are_noticed_in_whole_rounds() -> None:
    lengths = Lengths(0.6)
    collect(lengths, 10, run)
    assert lengths.cut == 256
    done = collect(lengths, 60, land)
    assert [cut for cut, _ in done].count(256) < 40
    assert {cut for cut, _ in done[-20:]} == {None}


def test_short_episodes_stay_whole() -> None:
    steady = collect(Lengths(0.6), 40, lambda speed, luck: run(speed, luck)[:200])
    assert {cut for cut, _ in steady} == {None}


def test_nothing_is_cut_where_it_is_not_asked_for() -> None:
    assert {cut for cut, _ in collect(Lengths(), 40, run)} == {None}


def test_nothing_is_cut_where_episodes_do_not_tell() -> None:
    lengths = Lengths(0.6)
    for number in range(10):
        lengths.take_in(number, [Episode(1.0 * one, 1.0 * one, 99) for one in range(16)], None)
    assert lengths.most_steps is None


def test_returns_that_do_not_differ_tell_nothing() -> None:
    lengths = Lengths(0.6)
    for number in range(10):
        lengths.take_in(number, [make_episode(np.ones(1000))] * 16, None)
    assert lengths.most_steps is None


def test_an_episode_that_was_cut_counts_as_if_it_had_gone_on() -> None:
    lengths = Lengths(0.6)
    collect(lengths, 3, run)
    cut, fell = make_episode(np.full(1000, 2.0), 256), make_episode(np.full(100, 2.0), 256)
    assert lengths.find_returns([cut, fell], 256) == pytest.approx([2000.0, 200.0])
    assert lengths.find_returns([cut, fell], None) == pytest.approx([512.0, 200.0])


def test_an_episode_that_nobody_cut_counts_as_it_is() -> None:
    """A task that tells what was earned earlier, and cannot be cut."""
    lengths = Lengths(0.6)
    collect(lengths, 3, run)
    assert lengths.find_returns([make_episode(np.full(1000, 2.0))], 256) == [2000.0]


def test_what_was_cut_elsewhere_keeps_its_return_where_nothing_is_known_yet() -> None:
    """A round under way while learning goes back to where no whole episode had been seen."""
    assert Lengths(0.6).find_returns([make_episode(np.ones(1000), 256)], 256) == [256.0]


def test_the_unit_of_the_reward_does_not_matter() -> None:
    """To the last bit, where it is a power of two."""
    found = []
    for unit in (1.0, 2.0**-20, 2.0**30):
        lengths = Lengths(0.6)
        cuts = collect(lengths, 30, lambda speed, luck, by=unit: by * run(speed, luck))
        part = make_episode(unit * run(1.5, np.random.default_rng(0)), 256)
        found.append((cuts, lengths.find_returns([part], 256)[0] / unit))
    assert found[0] == found[1] == found[2]
