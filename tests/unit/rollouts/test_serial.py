"""Who runs episodes in its own process is watched by another thread, and only while it does."""

from __future__ import annotations

import threading
import time

import pytest
from harness import DEADLINE

from litmus.rollouts import failure, serial
from litmus.rollouts.failure import Patience
from litmus.rollouts.serial import EpisodeWatch


@pytest.fixture(autouse=True)
def hurried(monkeypatch) -> None:
    monkeypatch.setattr(serial, "SECONDS_BETWEEN_LOOKS", 0.001)
    monkeypatch.setattr(failure, "LONG_SECONDS", 0.0)


def wait_for(is_so) -> None:
    deadline = time.monotonic() + DEADLINE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_every_round_is_watched_and_no_thread_is_left() -> None:
    before = threading.active_count()
    for number in range(20):
        told: list[str] = []
        watch_one = EpisodeWatch(Patience(told.append))
        for round_ in range(3):
            with watch_one.watching():
                name = f"episode {number} {round_}"
                watch_one.running = (name, time.monotonic())
                wait_for(lambda told=told, name=name: any(name in text for text in told))
    wait_for(lambda: threading.active_count() <= before)


def test_rounds_that_follow_each_other_share_a_thread(monkeypatch) -> None:
    monkeypatch.setattr(serial, "SECONDS_BETWEEN_LOOKS", 0.2)
    before, watch = threading.active_count(), EpisodeWatch(Patience(lambda text: None))
    for _ in range(1000):
        with watch.watching():
            assert threading.active_count() <= before + 1
