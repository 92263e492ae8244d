"""`litmus.zoo_add` and `litmus.zoo_grow`: measure policies and store them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

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
from litmus.runs.measured import TaskChoice, name_lineage
from litmus.runs.provenance import describe_process
from litmus.runs.run import Run
from litmus.runs.zoo import Known, Record, Zoo, digest_policy, find_record
from litmus.seeding import perturb

MOST_GROWN = 100_000

GivenMember: TypeAlias = Policy | Run | Path | str


def zoo_add(
    zoo: Path | str,
    policies: Sequence[GivenMember] | GivenMember,
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
    """Measure policies and store each with what it earned; each is measured when it is asked for,
    so take them all: `list(litmus.zoo_add(…))`.

    `policies` are objects, runs, or paths of files or runs. The first `zoo_add` makes the zoo and
    needs the `task`. `lineage` says which training they came from (default: the folder that each is
    in): policies of one training must not pass for several. What is in the zoo already is left out.
    """
    choice = _Measuring.check(episodes, seed, workers, lineage, algorithm, reading)
    listed = [policies] if isinstance(policies, GivenMember) else list(policies)
    chosen = None if task is None else TaskChoice(task, env_kwargs or {})
    if chosen is None and env_kwargs is not None:
        raise BadInput(f"{option('env_kwargs')} needs the {option('task')} that they are for")
    near = Path(zoo).resolve().parent
    if not Zoo.exists(zoo) and chosen is not None:  # what cannot be read makes no zoo
        found = [choice.find(one, find_spaces(chosen), near) for one in listed]
    opened = Zoo.open(zoo, chosen)
    spaces = find_spaces(opened.task)
    found = [choice.find(one, spaces, near) for one in listed]
    return choice.measure(opened, found)


def zoo_grow(
    zoo: Path | str,
    source: GivenMember,
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
    """Measure perturbations of a policy, θ + noise · N(0, I), and store each, one by one as
    `zoo_add` does. What is in the zoo already is left out: another `seed` gives others."""
    choice = _Measuring.check(episodes, seed, workers, lineage, algorithm, reading)
    number = check_whole("count", count, 1, MOST_GROWN)
    noise = check_type("noise", noise, float)
    if not 0 < noise < 1e6:
        raise BadInput(f"{option('noise')} must be above 0, not {noise}")
    opened = Zoo(zoo)
    center = choice.find(source, find_spaces(opened.task), opened.parent)
    flat_params = center.policy.flat_params.cpu().numpy()

    def perturb_each() -> Iterator[_Member]:
        for index in range(number):
            moved = torch.from_numpy(perturb(flat_params, noise, choice.seed, index))
            policy = Policy(center.policy.architecture, moved, center.policy.normalizer)
            text = f"{center.source} + {noise:g} · N(0, I), {index} of seed {choice.seed}"
            yield replace(center, policy=policy, source=text)

    return choice.measure(opened, perturb_each())


@dataclass(frozen=True)
class _Member:
    """A policy that is to be measured."""

    policy: Policy
    lineage: str
    algorithm: str
    source: str


@dataclass(frozen=True)
class _Measuring:
    """How policies are measured, and what is said of where they come from."""

    episodes: int
    seed: int
    workers: int | None
    lineage: str | None
    algorithm: str | None
    reading: Reading | None

    @staticmethod
    def check(
        episodes: float,
        seed: float,
        workers: float | None,
        lineage: str | None,
        algorithm: str | None,
        reading: Reading | None,
    ) -> _Measuring:
        if workers is not None:
            workers = check_whole("workers", workers, 0)
            check_workers(workers)
        number = check_whole("episodes", episodes, 1, MOST_EPISODES)
        seed = check_whole("seed", seed, 0, 2**32 - 1)
        return _Measuring(number, seed, workers, lineage, algorithm, reading)

    def find(self, given: GivenMember, spaces: Spaces, near: Path) -> _Member:
        """The policy, and where it comes from. `near`: the folder that lineages are named from."""
        if isinstance(given, Policy):
            policy, folder, by, source = given, "unknown", "unknown", "Python"
        elif not isinstance(given, GivenMember):
            raise BadInput(
                f"a zoo holds policies of litmus, runs and files, not a {type(given).__name__}"
            )
        else:
            path = given.path if isinstance(given, Run) else Path(given)
            source = str(path)
            if is_folder(path):
                run = Run(path)
                policy, folder, by = run.policy, name_lineage(path, near), run.config.algorithm
            else:
                found = read_policy(path, spaces, self.reading)
                policy, by = found.policy, found.algorithm
                folder = name_lineage(path.parent, near)
                if (record := find_record(path)) is not None:  # of a training that is known
                    folder, by = Zoo(path.parent).name_lineage(record, near), record.algorithm
                elif (path.parent / "config.json").is_file():  # the policy file of a run
                    by = Run(path.parent).config.algorithm
        check_fit(policy, spaces)
        return _Member(policy, self.lineage or folder, self.algorithm or by, source)

    def measure(self, zoo: Zoo, members: Iterable[_Member]) -> Iterator[Record]:
        known = Known()
        zoo.look(known)
        with EpisodeRunner(zoo.task, self.seed, self.workers) as runner:
            for one in members:
                if digest_policy(one.policy) in known.contents:
                    continue
                done = runner.run(one.policy, range(self.episodes))
                record = zoo.add(
                    one.policy,
                    tuple(float(episode.return_) for episode in done),
                    tuple(float(episode.training_return) for episode in done),
                    runner.seed,
                    one.lineage,
                    one.algorithm,
                    one.source,
                    describe_process(),
                    known,
                )
                if record is not None:
                    yield record
