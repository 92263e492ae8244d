"""Measuring some policies of each lineage again: a single episode says little of a return."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from litmus.analysis.statistics import spread_evenly
from litmus.judging.data import FitData
from litmus.judging.episodes import EpisodeRunner
from litmus.judging.progress import Tell
from litmus.judging.visits import build_policy
from litmus.seeding import Stream

PER_LINEAGE = 40


def remeasure(data: FitData, episodes: int, seed: int, tell: Tell) -> FitData:
    """The same policies; of some, evenly over each lineage's history, so many more episodes."""
    returns, counts = data.returns.copy(), data.episodes.copy()
    chosen = []
    for name in data.lineage_names:
        places = np.flatnonzero(data.lineages == name)
        chosen += [int(place) for place in places[spread_evenly(len(places), PER_LINEAGE)]]
    variances = []
    with EpisodeRunner(data.task, seed, None, Stream.REMEASUREMENT) as runner:
        for number, place in enumerate(chosen):
            tell("measuring again", number, len(chosen))
            policy = build_policy(data.measured[place])
            found = np.array([one.return_ for one in runner.run(policy, range(episodes))])
            counts[place] += episodes
            returns[place] += (found.sum() - episodes * returns[place]) / counts[place]
            variances.append(float(found.var(ddof=1)) if episodes > 1 else 0.0)
    spread_of_one = float(np.sqrt(np.mean(variances))) if episodes > 1 else data.episode_spread
    known = np.isin(np.arange(len(returns)), chosen)
    return replace(
        data, returns=returns, episodes=counts, is_truth=known, episode_spread=spread_of_one
    )
