"""Runs that meet: what all have brought is worked on at once, whoever comes when."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from litmus.algorithms.together import Together
from litmus.errors import RunFailed


class Adder:
    """Gets the sum of what all have brought."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.met: list[list[int]] = []

    def work_for(self, members: Sequence[Adder], given: Sequence[Tensor]) -> Sequence[Tensor]:
        for member in members:
            member.met.append([one.number for one in members])
        return [torch.stack(list(given)).sum(0) for _ in members]


def run_in_threads(works: Sequence[Callable[[], None]]) -> None:
    threads = [threading.Thread(target=work, daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
        assert not thread.is_alive()


def test_each_gets_what_all_have_brought_and_those_who_leave_are_not_waited_for() -> None:
    together = Together(3)
    members = [Adder(number) for number in range(3)]
    results: dict[int, list[float]] = {number: [] for number in range(3)}

    def work(member: Adder) -> None:
        for turn in range(1 + 2 * member.number):  # the first stays for one turn, the last for five
            brought = torch.tensor(float(10**member.number))
            results[member.number].append(float(together.meet(member, brought)))
            assert len(results[member.number]) == turn + 1
        together.leave()

    run_in_threads([lambda member=member: work(member) for member in members])
    assert results[0] == [111]
    assert results[1] == [111, 110, 110]
    assert results[2] == [111, 110, 110, 100, 100]
    assert members[2].met == [[0, 1, 2], [1, 2], [1, 2], [2], [2]]


def test_all_are_told_when_what_they_do_together_fails() -> None:
    class Failing(Adder):
        def work_for(self, members: Sequence[Adder], given: Sequence[Tensor]) -> Sequence[Tensor]:
            raise ValueError("no room")

    together, raised = Together(2), []

    def work(number: int) -> None:
        try:
            together.meet(Failing(number), torch.zeros(()))
        except (RunFailed, ValueError) as error:
            raised.append(error)
        finally:
            together.leave()

    run_in_threads([lambda number=number: work(number) for number in range(2)])
    assert {type(error) for error in raised} == {RunFailed, ValueError}
    assert str(together.failure) == "no room"


def test_one_that_failed_before_it_ever_came_is_not_waited_for() -> None:
    together = Together(2)
    together.leave()
    assert float(together.meet(Adder(1), torch.tensor(3.0))) == 3
