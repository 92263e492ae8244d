"""`litmus.zoo_add` and `litmus.zoo_grow`: measure policies and store them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from litmus.errors import BadInput, option
from litmus.fields import MOST_EPISODES, check_type, check_whole
from litmus.files import is_folder
from litmus.judging.episodes import EpisodeRunner
from litmus.judging.subjects import check_fit, find_spaces
from litmus.policies.foreign import Reading, read_policy
from litmus.policies.foreign_layers import Spaces
from litmus.policies.policy import Policy
from litmus.rollouts.machine import check_workers
from litmus.runs.measured import TaskChoice
from litmus.runs.provenance import describe_process
from litmus.runs.run import Run
from litmus.runs.zoo import Record, Zoo
from litmus.seeding import perturb

MOST_GROWN = 100_000


def zoo_add(
    zoo: Path | str,
    policies: Sequence[Policy | Path | str],
    *,
    task: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
    episodes: float = 5,
    lineage: str | None = None,
    algorithm: str | None = None,
    seed: float = 0,
    workers: float | None = None,
    reading: Reading | None = None,
) -> Iterator[Record]:
    """Measure policies and store each with what it earned; yields them one by one.

    `policies` are objects, or paths of files or runs. The first `zoo_add` makes the zoo and needs
    the `task`. `lineage` says which training they came from (default: the folder that each is in):
    policies of one training must not pass for several. What is in the zoo already is left out.
    """
    count = check_whole("episodes", episodes, 1, MOST_EPISODES)
    seed = check_whole("seed", seed, 0, 2**32 - 1)
    if workers is not None:
        workers = check_whole("workers", workers, 0)
        check_workers(workers)
    chosen = None if task is None else TaskChoice(task, env_kwargs or {})
    if chosen is None and env_kwargs is not None:
        raise BadInput(f"{option('env_kwargs')} needs the {option('task')} that they are for")
    if not Zoo.exists(zoo) and chosen is not None:  # what cannot be read makes no zoo
        found = [_find(one, find_spaces(chosen), reading, lineage, algorithm) for one in policies]
    opened = Zoo.open(zoo, chosen)
    spaces = find_spaces(opened.task)
    found = [_find(one, spaces, reading, lineage, algorithm) for one in policies]
    with EpisodeRunner(opened.task, seed, workers) as runner:
        for policy, of, by, source in found:
            if opened.find(policy) is None:
                yield _measure(opened, runner, policy, count, of, by, source)


def zoo_grow(
    zoo: Path | str,
    source: Policy | Path | str,
    *,
    noise: float,
    count: float,
    episodes: float = 1,
    lineage: str | None = None,
    algorithm: str | None = None,
    seed: float = 0,
    workers: float | None = None,
    reading: Reading | None = None,
) -> Iterator[Record]:
    """Measure perturbations of a policy, θ + noise · N(0, I), and store each; yields them."""
    count = check_whole("count", count, 1, MOST_GROWN)
    number = check_whole("episodes", episodes, 1, MOST_EPISODES)
    seed = check_whole("seed", seed, 0, 2**32 - 1)
    noise = check_type("noise", noise, float)
    if not 0 < noise < 1e6:
        raise BadInput(f"{option('noise')} must be above 0, not {noise}")
    opened = Zoo(zoo)
    spaces = find_spaces(opened.task)
    policy, of, by, name = _find(source, spaces, reading, lineage, algorithm)
    center = policy.flat_params.cpu().numpy()
    with EpisodeRunner(opened.task, seed, workers if workers is None else int(workers)) as runner:
        for index in range(count):
            moved = torch.from_numpy(perturb(center, noise, seed, index))
            made = Policy(policy.architecture, moved, policy.normalizer)
            text = f"{name} + {noise:g} · N(0, I), {index} of seed {seed}"
            yield _measure(opened, runner, made, number, of, by, text)


def _find(
    given: Policy | Path | str,
    spaces: Spaces,
    reading: Reading | None,
    lineage: str | None,
    algorithm: str | None,
) -> tuple[Policy, str, str, str]:
    """The policy, its lineage, its algorithm, where it comes from."""
    if isinstance(given, Policy):
        policy, folder, by, source = given, "unknown", "unknown", "Python"
    else:
        path = Path(given)
        source = str(path)
        if is_folder(path):
            run = Run(path)
            policy, folder, by = run.policy, str(path), run.config.algorithm
        else:
            found = read_policy(path, spaces, reading)
            policy, folder, by = found.policy, str(path.parent), found.algorithm
            if (path.parent / "config.json").is_file():  # the policy file of a run
                by = Run(path.parent).config.algorithm
    check_fit(policy, spaces)
    return policy, lineage or folder, algorithm or by, source


def _measure(
    zoo: Zoo,
    runner: EpisodeRunner,
    policy: Policy,
    episodes: int,
    lineage: str,
    algorithm: str,
    source: str,
) -> Record:
    done = runner.run(policy, range(episodes))
    return zoo.add(
        policy,
        tuple(float(one.return_) for one in done),
        tuple(float(one.training_return) for one in done),
        runner.seed,
        lineage,
        algorithm,
        source,
        describe_process(),
    )
