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
    started, may_end = [], threading.Event()

    def stay(watch: EpisodeWatch) -> None:
        started.append(threading.current_thread())
        may_end.wait(DEADLINE)

    monkeypatch.setattr(EpisodeWatch, "_look", stay)
    watch = EpisodeWatch(Patience(lambda text: None))
    for _ in range(1000):
        with watch.watching():
            pass
    wait_for(lambda: started)
    may_end.set()
    for thread in started:
        thread.join()
    assert len(started) == 1
