"""How the cost grows with the sizes that one may want to change."""

from __future__ import annotations

from typing import Any

from benchmarks.limits import measure
from benchmarks.pieces import Played, Stepping, Updates, train_for
from litmus.rollouts.make import count_cores

Points = list[dict[str, Any]]


def measure_growth() -> dict[str, Points]:
    return {
        "probing states (one V update)": [
            {"value": count, "seconds": _time_evaluator(probing_states=count)}
            for count in (10, 50, 200, 1000)
        ],
        "policy width (one V update)": [
            {"value": width, "seconds": _time_evaluator(hidden=(width, width), policies=16)}
            for width in (64, 128, 256, 512, 1024)
        ],
        "round size (one Swimmer episode of training)": [
            {"value": size, "seconds": _time_training(size)} for size in (1, 4, 16, 64)
        ],
        "workers (one Swimmer episode, simulation alone)": [
            {"value": workers, "seconds": _time_episodes(workers)}
            for workers in range(1, count_cores() + 1)
        ],
    }


def _time_evaluator(**sizes: Any) -> float:
    return measure(Updates(**sizes).update_evaluator, repeats=7)


def _time_training(round_size: int) -> float:
    steps = 1000 * max(16, 3 * round_size)
    trained = train_for(Played("Swimmer-v5"), steps, round_size=round_size)
    return trained.seconds / trained.episodes


def _time_episodes(workers: int) -> float:
    stepping = Stepping(Played("Swimmer-v5"), workers, episodes=4 * workers)
    seconds = measure(stepping.run, repeats=3) / stepping.episodes
    stepping.close()
    return seconds
