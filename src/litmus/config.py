"""What a run is made of: frozen dataclasses whose field docstrings are the `--help`.

A configuration is flat wherever people meet it (options, keywords, config.json): the options of the
chosen architecture and evaluator stand among the others. Read strictly: an unknown key is an error.
This module does not import torch.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Literal, Self

from litmus.errors import BadInput, option, suggest
from litmus.fields import (
    MOST_EPISODES,
    MOST_STEPS,
    MOST_UNITS,
    MOST_WORKERS,
    Values,
    above,
    at_least,
    between,
    check_bounds,
    check_type,
    options_of,
)
from litmus.option_list import find_default, find_field, is_required, list_options, name_owner
from litmus.registry import Registry


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """What every algorithm shares."""

    algorithm: str = field(metadata={"is_argument": True})
    """What learns: a name from `litmus list algorithms`, or package:Class."""
    task: str
    """What to train on: a Gymnasium id such as Swimmer-v5 or a set of images such as mnist (see
    `litmus list tasks`), or package:Id or package:Class for one of your own."""
    env_kwargs: Values = field(default_factory=dict)
    """Options of the task itself, as a JSON object such as '{"continuous": true}'."""
    data: str | None = None
    """Folder with the files of a set of images (default: LITMUS_DATA, the user's cache, or a
    download)."""
    max_episode_steps: int | None = between(1, 10**9, None)
    """End every episode after so many steps (default: only when the environment ends it)."""
    seed: int = between(0, 2**32 - 1, 0)
    """Seed of all random numbers of the run."""
    steps: int = between(1, MOST_STEPS, 3_000_000)
    """Environment steps to train for; the run ends with the round that reaches them."""
    workers: int | None = between(0, MOST_WORKERS, None)
    """Worker processes that run episodes (default: one per core); with 0, episodes run in the
    training process. Never changes results."""
    collector: Literal["local", "ray"] = "local"
    """Where episodes run: in workers on this machine, or on the cores of a Ray cluster. Never
    changes results."""
    ray_address: str | None = None
    """Of the Ray cluster, HOST:PORT (default: the one that RAY_ADDRESS names, or a new one)."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the evaluator learns; auto: on a CUDA GPU if there is one, but for one that is solved
    for, whose matrices are small."""

    architecture: str = "mlp"
    """Policy network: a name from `litmus list architectures`, or package:Class."""
    architecture_options: Values = options_of("architecture")  # noqa: RUF009
    distribution: Literal["auto", "deterministic", "gaussian", "categorical"] = "auto"
    """Kind of policy; auto: deterministic for continuous actions, categorical for discrete ones."""
    normalize_observations: bool = True
    """Normalise observations by the mean and standard deviation of those seen so far."""
    survival_bonus: Literal["auto", "idle", "keep", "remove"] = "auto"
    """Whether training returns keep the bonus that some tasks pay for staying alive; auto removes
    it for Hopper, Walker2d, Ant and Humanoid, idle only for those that fall while they do nothing:
    all of these but Ant."""

    evaluate_every: int = between(0, MOST_STEPS, 10_000)
    """Steps between evaluations, which measure the unperturbed policy; 0 switches them off."""
    evaluate_episodes: int = between(1, MOST_EPISODES, 10)
    """Episodes per evaluation."""
    selection_share: float = between(0, 0.5, 0.0)
    """Share of the steps that measures θ on the way: the best policy that was measured is handed
    over, and learning goes back to it when it has lost it. 0: the last policy is handed over."""
    selection_episodes: int = between(2, MOST_EPISODES, 8)
    """Episodes per such measurement."""
    checkpoint_seconds: float = at_least(0, 30.0)
    """Least number of seconds between checkpoints; 0 writes one after every round."""
    history_rounds: int = between(0, MOST_STEPS, 0)
    """Rounds whose policies stay on disk: the newest, and at least those that the run needs to be
    resumed. 0: all."""
    tensorboard: bool = False
    """Also write TensorBoard event files into the run directory."""

    def __post_init__(self) -> None:
        for spec in dataclasses.fields(self):
            check_bounds(spec, getattr(self, spec.name))

    @property
    def episodes_at_once(self) -> int:
        """Episodes that the algorithm asks its collector for at a time: the pool makes room."""
        return 1

    @property
    def is_solved_for(self) -> bool:
        """Whether the evaluator is solved for, and not learned in steps."""
        return False

    @property
    def wanted_device(self) -> str:
        return "cpu" if self.device == "auto" and self.is_solved_for else self.device

    def check_task(self, task: object, distribution: str) -> None:
        """BadInput where the algorithm cannot learn in this task, or this kind of policy."""

    @classmethod
    def list_useless(cls, chosen: Mapping[str, object]) -> Collection[str]:
        """Options that change nothing beside what is chosen by name."""
        return ()

    def check_given(self, given: Collection[str]) -> None:
        """BadInput where options that the user gives another value than usual change nothing."""

    def to_dict(self) -> Values:
        """Flat, in plain values."""
        values: Values = {}
        for spec in dataclasses.fields(self):
            value = getattr(self, spec.name)
            values |= value if "options_of" in spec.metadata else {spec.name: value}
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in values.items()
        }

    @classmethod
    def from_dict(cls, values: Values, registries: Mapping[str, Registry]) -> Self:
        """From flat values; unknown keys and values of a wrong type are errors."""
        known = list_options(cls, values, registries)
        for key in values:
            if key not in known:
                hint = name_owner(key, known, registries) or suggest(key, known)
                raise BadInput(f"unknown option '{key}' for {values['algorithm']}{hint}")
        if "task" not in values:
            raise BadInput(f"no task given; name one, such as {option('task', 'Swimmer-v5')}")
        built: Values = {}
        for name, one in known.items():
            if name not in values and one.group is None:
                continue
            if name not in values and is_required(one.spec):
                raise BadInput(f"{option(name)} must be given: {one.owner.__qualname__} needs it")
            value = check_type(name, values.get(name, one.default), one.hint)
            check_bounds(one.spec, value)
            if one.group is None:
                built[name] = value
            else:
                built.setdefault(one.group, {})[name] = value
        for choice, registry in registries.items():
            own = built.get(f"{choice}_options")
            if own and not registry.provided:  # checks of its own, if it has any
                name = values.get(choice, find_default(find_field(cls, choice)))
                registry.find(name).find_options()(**own)
        return cls(**built)


SOLVED_FOR = "gaussian-process"
"""The evaluator that is solved for after each round."""
OF_STEPS = (
    *("policy_lr", "evaluator_lr", "evaluator_lr_decay", "evaluator_updates", "round_turns"),
    *("batch_size", "batches", "buffer_size", "recency", "recency_unit", "standardize_returns"),
)
"""Options of an evaluator that learns in steps."""


@dataclass(frozen=True, kw_only=True)
class PssvfConfig(TrainConfig):
    """Algorithm 1: policies are perturbed and measured, an evaluator learns from that, the policy
    follows the evaluator's gradient."""

    beginnings: int = between(1, 100, 1)
    """Untrained policies to begin with, a round each, as many as a tenth of the run has steps for
    (or two, in a fifth); the best few that these rounds met run some episodes more, and learning
    begins with the best of them."""
    round_size: int = between(1, MOST_EPISODES, 16)
    """Episodes per round, each with its own perturbation of one θ; updates follow after a round.
    1 is the paper's schedule."""
    round_steps: int = between(0, MOST_STEPS, 0)
    """Make rounds of about so many steps: of short episodes there are more in a round, from
    round_size to max_round_size of them; 0: always round_size."""
    max_round_size: int = between(1, MOST_EPISODES, 64)
    """Most episodes of such a round."""
    overlap: bool = True
    """Simulate the next round while learning from this one; its θ is then one round old."""
    shared_start: bool = False
    """Start all episodes of a round alike, from the same seed of the task: what they earn then
    differs by their perturbations only."""
    noise: float = above(0, 0.05, 1e6)
    """Standard deviation σ of the noise that is added to the policy's parameters in each training
    episode."""
    noise_decay: float = between(0, 1e12, 0.0)
    """Rounds N after which the noise has fallen: it is divided by √(1 + round / N). 0: it does not
    fall."""
    final_noise: float = above(0, 1.0, 1.0)
    """Share of the noise that is left at the end of the run: it falls after the first three tenths
    of the steps, and never in the first 300,000. 1: it does not fall."""
    evaluator: str = "fingerprint"
    """What judges policies: a name from `litmus list evaluators`, or package:Class."""
    evaluator_options: Values = options_of("evaluator")  # noqa: RUF009
    policy_lr: float = above(0, 2e-6, 1e30)
    """Adam's learning rate for the policy; whoever gives it goes without a preset's policy_step."""
    policy_step: float = between(0, 1e6, 0.0)
    """How far θ moves in a round along a steady direction, in standard deviations of the noise;
    the learning rate follows from it. 0: policy_lr is the learning rate. With an evaluator that is
    solved for: how much θ may change what it does in the probing states, 1 being as much as the
    noise changes."""
    policy_step_decay: float = between(0, 1e12, 0.0)
    """Rounds N after which that step has fallen: it is divided by √(1 + round / N). 0: it does not
    fall."""
    policy_average: float = between(0, 1000, 0.0)
    """Measure and hand over an average of θ instead of the newest: θ after round n has the weight
    n^policy_average in it, so 3 is about the last quarter of the run. 0: the newest θ."""
    evaluator_lr: float = above(0, 5e-3, 1e30)
    """Adam's learning rate for the evaluator."""
    evaluator_lr_decay: float = between(0, 1e12, 0.0)
    """Rounds N after which the evaluator's learning rates have fallen: they are divided by
    √(1 + round / N). 0: they do not fall."""
    policy_updates: int = between(0, MOST_UNITS, 5)
    """Policy updates in each turn of updates."""
    evaluator_updates: int = between(1, MOST_UNITS, 5)
    """Evaluator updates in each turn of updates."""
    round_turns: int = between(0, MOST_UNITS, 0)
    """Turns of updates after each round. 0: as many as it had episodes."""
    batch_size: int = between(1, MOST_UNITS, 16)
    """Policies per batch when the evaluator learns."""
    batches: Literal["mixed", "rounds"] = "mixed"
    """What a batch is drawn from: the whole buffer, or one round at a time; then the evaluator
    learns how the returns of a round differ, and little from what rounds earn as a whole."""
    buffer_size: int = between(1, 10**9, 10_000)
    """Measured policies kept for the evaluator to learn from."""
    recency: float = between(0, 1e6, 1.1)
    """How much recent policies are preferred: the exponent k of the weight 1/x^k with which a
    policy is drawn x episodes after it was measured; 0 draws all alike."""
    recency_unit: Literal["episode", "round"] = "episode"
    """What x counts: with rounds, the policies of one round are drawn alike."""
    standardize_returns: bool = False
    """Let the evaluator learn returns less their mean, over their standard deviation: then the
    unit of the reward does not matter. The learning rates must fit."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.is_solved_for and self.policy_updates and not self.policy_step:
            raise BadInput(
                f"{option('evaluator', SOLVED_FOR)} moves θ by {option('policy_step')}, which is 0"
            )

    @property
    def is_solved_for(self) -> bool:
        return self.evaluator == SOLVED_FOR

    @classmethod
    def list_useless(cls, chosen: Mapping[str, object]) -> Collection[str]:
        return OF_STEPS if chosen.get("evaluator") == SOLVED_FOR else ()

    def check_given(self, given: Collection[str]) -> None:
        useless = [name for name in self.list_useless(vars(self)) if name in given]
        if useless:
            raise BadInput(
                f"{option(useless[0])} changes nothing with {option('evaluator', SOLVED_FOR)}, "
                f"which is solved for; {option('preset', 'network')} learns in steps"
            )

    @property
    def episodes_at_once(self) -> int:
        return max(self.round_size, self.max_round_size) if self.round_steps else self.round_size


@dataclass(frozen=True, kw_only=True)
class ArsConfig(TrainConfig):
    """Augmented random search: θ moves along random directions by what their returns differ."""

    directions: int = between(1, MOST_EPISODES, 8)
    """Random directions N per round; each is measured forwards and backwards."""
    top_directions: int = between(1, MOST_EPISODES, 4)
    """Directions b that the step is made of: those with the largest returns."""
    step_size: float = above(0, 0.01, 1e6)
    """Step size α."""
    noise: float = above(0, 0.05, 1e6)
    """Standard deviation ν of the perturbation of policy parameters."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.top_directions > self.directions:
            raise BadInput(
                f"{option('top_directions')} must be at most {option('directions')}, "
                f"{self.directions}, not {self.top_directions}"
            )

    @property
    def episodes_at_once(self) -> int:
        return 2 * self.directions


@dataclass(frozen=True, kw_only=True)
class DdpgConfig(TrainConfig):
    """Deep deterministic policy gradient: a critic of single actions learns from transitions, the
    policy follows the critic's gradient."""

    normalize_observations: bool = False
    """Normalise observations by the mean and standard deviation of those seen so far."""
    survival_bonus: Literal["auto", "idle", "keep", "remove"] = "keep"
    """Whether rewards keep the bonus that some tasks pay for staying alive; auto removes it for
    Hopper, Walker2d, Ant and Humanoid, idle only for those that fall while they do nothing: all of
    these but Ant."""
    noise: float = between(0, 1e6, 0.1)
    """Standard deviation of the noise that is added to each action, in halves of its range."""
    start_steps: int = between(0, MOST_STEPS, 10_000)
    """Steps of random actions at the beginning."""
    update_after: int = between(0, MOST_STEPS, 1_000)
    """Steps before which nothing is learned."""
    update_every: int = between(1, MOST_UNITS, 50)
    """Steps between updates: a block, which is what a round is to other algorithms."""
    updates: int = between(1, MOST_UNITS, 50)
    """Updates of critic, policy and targets after each block."""
    batch_size: int = between(1, MOST_UNITS, 128)
    """Transitions per update."""
    buffer_size: int = between(1, 10**9, 100_000)
    """Transitions kept to learn from: the newest."""
    policy_lr: float = above(0, 1e-3, 1e30)
    """Adam's learning rate for the policy."""
    critic_lr: float = above(0, 1e-3, 1e30)
    """Adam's learning rate for the critic."""
    critic_hidden: tuple[int, ...] = between(1, MOST_UNITS, (256, 256))
    """Units of each hidden layer of the critic."""
    discount: float = between(0, 1, 0.99)
    """Discount factor γ."""
    polyak: float = between(0, 1, 0.995)
    """How much of the targets stays in each update."""

    def check_task(self, task: object, distribution: str) -> None:
        if distribution != "deterministic":
            raise BadInput(
                "ddpg learns deterministic policies of continuous actions, and for task "
                f"'{self.task}' this one is {distribution}"
            )
        if not hasattr(task, "step_through"):
            raise BadInput(f"ddpg learns from single steps, and task '{self.task}' shows none")
