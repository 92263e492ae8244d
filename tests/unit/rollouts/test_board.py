"""Jobs on the board: claimed in order, given back once, and who has to wake the pool."""

from __future__ import annotations

import os

import pytest

from litmus.rollouts.board import CLAIMED, DONE, FREE, QUEUED, Board, BoardShape


@pytest.fixture
def board():
    made = Board.create(BoardShape(num_params=2, state_size=3, jobs=6, slots=2))
    yield made
    os.close(made.descriptor)


def queue(board: Board, jobs: list[int], slot: int, first_ticket: int) -> None:
    for number, job in enumerate(jobs):
        board.slot[job], board.state[job] = slot, QUEUED
        board.ticket[job] = first_ticket + number


def test_the_job_that_waited_longest_comes_first(board: Board) -> None:
    queue(board, [3, 1], slot=0, first_ticket=5)
    queue(board, [0], slot=1, first_ticket=1)
    assert [board.claim(worker=0)[0] for _ in range(4)] == [0, 3, 1, None]
    assert list(board.state[[0, 1, 3]]) == [CLAIMED] * 3
    assert board.state[2] == FREE


def test_only_the_last_job_of_a_request_wakes_the_pool(board: Board) -> None:
    queue(board, [0, 1], slot=0, first_ticket=0)
    queue(board, [2], slot=1, first_ticket=2)
    first, _ = board.claim(worker=0)
    second, _ = board.claim(worker=1)
    assert board.claim(worker=0, done=first) == (2, False)  # its mate is still under way
    assert board.claim(worker=1, done=second) == (None, True)
    assert board.claim(worker=0, done=2) == (None, True)  # a request of its own
    assert list(board.state[[0, 1, 2]]) == [DONE] * 3


def test_a_job_that_is_queued_again_is_waited_for(board: Board) -> None:
    """Its worker died; its mates must not say that all is done."""
    queue(board, [0, 1], slot=0, first_ticket=0)
    first, _ = board.claim(worker=0)
    board.claim(worker=1)
    board.state[1] = QUEUED
    assert board.claim(worker=0, done=first) == (1, False)
    assert board.claim(worker=0, done=1) == (None, True)
