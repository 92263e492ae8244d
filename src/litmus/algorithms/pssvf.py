"""Actor-evaluator with a PSSVF (Algorithm 1), in rounds.

    initialise θ, V (probing states and head), empty buffer D
    where several beginnings are wanted: look for the best of them          (`beginnings.py`)
    repeat:
        for each of W episodes:                         # one round, collected in parallel
            θ' = θ + ε,  ε ~ N(0, σ² I)
            run one episode with π_θ';  store (θ', training return) in D
        update the observation normaliser with what was seen, and V's idea of the returns' unit
        W times, or so often as is wanted:              # a turn of updates
            U_V times:  draw a batch from D, newest with most weight;  step down (V(θ') - return)²
            U_π times:  step θ up V(θ)

W = 1 is the paper's schedule; W may also follow the length of the episodes. With `overlap`, the
next round is simulated from the θ of *before* these updates while they are made: a lag of one
round, always, so results stay reproducible. Vanilla PSSVF is this file with another evaluator.
Here are the loop and the two rules of an update. Batches and rates of the turns are in `turns.py`;
faster forms of the rules are handed in. Where V is solved for and not learned in steps, the turns
are one solution and one climb (`solving.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import Adam

from litmus.algorithms.adam import Group, group_parameters, make_adam
from litmus.algorithms.base import Progress, Resources
from litmus.algorithms.beginnings import FINAL_EPISODES, Beginnings
from litmus.algorithms.buffer import Buffer
from litmus.algorithms.initial import drawing_networks
from litmus.algorithms.lengths import Lengths
from litmus.algorithms.rounds import Pace, RoundPlan
from litmus.algorithms.running_normalizer import RunningNormalizer
from litmus.algorithms.saved import SavesAttributes, load, save
from litmus.algorithms.solving import Solver
from litmus.algorithms.turns import Turns, Updates
from litmus.config import PssvfConfig
from litmus.errors import RunFailed
from litmus.evaluators.base import Evaluator, design_evaluator
from litmus.evaluators.gaussian_process import GaussianProcessEvaluator
from litmus.evaluators.smoothing import blur
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import FlatPopulation, flatten
from litmus.rollouts.base import Pending, Round
from litmus.tasks.base import Cut, Episode

STEP_FACTOR_BACK = 0.7
MOST_CHANGE = 2.0
"""By which the noise is multiplied or divided from one round to the next."""
MOST_NOISE = 100.0
"""Where more noise changes nothing any more, it does not grow without end."""


@dataclass(frozen=True)
class Learner:
    """What learns, by which optimisers, and from what: the two update rules."""

    architecture: Architecture
    theta: Tensor  # [P]
    evaluator: Evaluator
    theta_optimizer: Adam
    evaluator_optimizer: Adam
    buffer: Buffer
    policy_updates: int
    compares_rounds: bool = False
    """Whether a batch is of one round, and V learns how its returns differ."""
    smoothing: int = 0
    """How often gradients and steps of probing images are blurred."""
    probing_bounds: tuple[float, ...] = ()
    """Least and largest number that a probing state may hold, as the environment shows it."""

    def fit(self, slots: Tensor) -> Tensor:
        """One step of V down its error on the policies in these slots [B]; the error, squared."""
        batch = self.buffer.select(slots)
        policies = FlatPopulation(self.architecture, batch.rows)
        compute = self.evaluator.loss_within_round if self.compares_rounds else self.evaluator.loss
        loss = compute(policies, batch.returns, batch.weights)
        parameters = self._find_trainable()
        gradients = torch.autograd.grad(loss, parameters)
        for parameter, gradient in zip(parameters, gradients, strict=True):
            parameter.grad = gradient
        self._step_evaluator()
        return self.evaluator.loss_in_returns(loss.detach())

    def _step_evaluator(self) -> None:
        states = self.evaluator.probing_states
        if states is None or states.grad is None:  # or they have settled
            self.evaluator_optimizer.step()
            return
        if self.smoothing:
            states.grad = blur(states.grad, self.smoothing)
            before = states.detach().clone()
            self.evaluator_optimizer.step()
            with torch.no_grad():
                states.copy_(before + blur(states - before, self.smoothing))
        else:
            self.evaluator_optimizer.step()
        if self.probing_bounds:
            low, high = map(self.evaluator.normalize, self.probing_bounds)
            with torch.no_grad():
                states.copy_(states.clamp(low, high))

    def climb(self) -> Tensor:
        """One step of θ up V(θ), V staying as it is; V(θ) before it."""
        trainable = self._find_trainable()
        for parameter in trainable:
            parameter.requires_grad_(False)  # no gradient of it is needed
        policy = FlatPopulation(self.architecture, self.theta.unsqueeze(0))
        output = self.evaluator.output(policy)  # it rises where V does, and has no unit
        (gradient,) = torch.autograd.grad(output, self.theta)
        for parameter in trainable:
            parameter.requires_grad_(True)
        self.theta.grad = -gradient
        self.theta_optimizer.step()
        return self.evaluator.to_returns(output.detach())[0]

    def _find_trainable(self) -> list[Tensor]:
        return [parameter for parameter in self.evaluator.parameters() if parameter.requires_grad]

    def update(self, slots: Tensor) -> Tensor:  # [U_V, B] -> [2]
        """A turn of updates; the mean error and the last V(θ)."""
        losses = torch.stack([self.fit(batch) for batch in slots])
        values = [self.climb() for _ in range(self.policy_updates)]
        return torch.stack([losses.mean(), values[-1] if values else losses.new_full((), np.nan)])

    def begin_round(self, steps: int) -> None:
        """Before the updates of a round that collected so many steps."""


Accelerate = Callable[[Learner, PssvfConfig, Resources], Updates]


def take_as_it_is(learner: Learner, config: PssvfConfig, resources: Resources) -> Updates:
    return learner


class Learning(Protocol):
    """How V and θ learn from rounds: in turns of updates, or by solving for V."""

    def remember(self, measured: Round, episodes: Sequence[Episode]) -> Sequence[float]:
        """Keep what a round and its episodes tell: what each policy earned, or would have."""

    def learn(self, measured: Round, pace: Pace) -> tuple[float, float] | None:
        """From what is known after this round: V's error and V(θ). None: nothing is known."""

    @property
    def advice(self) -> str:
        """What may help where it diverges."""

    def forget(self) -> None:
        """What is true only near the θ of before: θ is elsewhere now."""

    @property
    def noise_change(self) -> float:
        """By how much the noise of the newest round changed what a policy does; 0: unknown."""

    @property
    def most_steps(self) -> int | None:
        """Of the episodes of the next round; None: they are whole."""

    @property
    def cut(self) -> Cut | None:
        """What is enough of an episode to tell policies apart; None: only whole ones do."""

    @property
    def oldest_round(self) -> int | None:
        """The oldest that `load_state_dict` must be given; None where it needs none."""

    def state_dict(self) -> Mapping[str, Any]: ...

    def load_state_dict(self, state: Mapping[str, Any], rounds: Iterable[Round]) -> None: ...


class Pssvf(SavesAttributes):
    keeps_rounds = True
    average: Tensor | None
    """Of θ over the rounds, where that is asked for."""
    saved = (
        *("theta", "average", "running_normalizer", "plan", "steps"),
        *("step_factor", "noise_factor", "beginnings", "begun_in"),
    )

    def __init__(self, resources: Resources, accelerate: Accelerate = take_as_it_is) -> None:
        self.config = config = cast(PssvfConfig, resources.config)
        self.architecture = architecture = resources.architecture
        self.collector = resources.collector
        with drawing_networks(config.seed):
            self.theta = flatten(architecture.build()).to(resources.device).requires_grad_()
            self.evaluator = design_evaluator(
                config.evaluator, architecture, config.evaluator_options
            )
        self.evaluator.to(resources.device)
        self.average = self.theta.detach().clone() if config.policy_average else None
        self.learning = self._make_learning(resources, accelerate)
        self.running_normalizer = RunningNormalizer.empty(int(np.prod(architecture.state_shape)))
        self.steps = 0
        self.step_factor = 1.0
        """Of θ's steps: smaller whenever learning went back."""
        self.noise_factor = 1.0
        """Of the noise, where that follows what it changes."""
        self.beginnings = Beginnings.expect(config.beginnings, architecture.num_params)
        self.begun_in = 0
        """The round that learning begins in."""
        self.plan = self._plan_round(number=0, first_episode=0, size=config.round_size)
        self._pending: Pending | None = None

    def _make_learning(self, resources: Resources, accelerate: Accelerate) -> Learning:
        config, architecture, evaluator = self.config, self.architecture, self.evaluator
        if isinstance(evaluator, GaussianProcessEvaluator):
            lengths = Lengths(config.evaluator_options["cut_steadiness"])
            return Solver(architecture, self.theta, evaluator, lengths, config.seed)
        of_theta = make_adam(Group(config.policy_lr, [self.theta]))
        of_evaluator = make_adam(*group_parameters(evaluator, config))
        buffer = Buffer(config.buffer_size, architecture.num_params, resources.device)
        learner = Learner(
            architecture,
            self.theta,
            evaluator,
            of_theta,
            of_evaluator,
            buffer,
            config.policy_updates,
            config.batches == "rounds",
            config.evaluator_options.get("probing_smoothing", 0),
            config.evaluator_options.get("probing_bounds", ()),
        )
        updates = accelerate(learner, config, resources)
        return Turns(config, self.theta, evaluator, of_theta, of_evaluator, buffer, updates)

    def iterate(self) -> Progress:
        config, plan = self.config, self.plan
        pending = self._pending or self.collector.start(plan.request)
        episodes, self._pending = pending.result(), None
        steps = sum(episode.steps for episode in episodes)
        self.steps += steps
        measured = plan.record(episodes)
        was_beginning = self.is_beginning
        self._store(measured, episodes)
        if was_beginning and (self.is_beginning or self.beginnings.has_choice):
            self._begin(plan.number + 1, plan.first_episode + len(episodes))
            return Progress(steps, len(episodes), {}, measured)
        following = (
            plan.number + 1,
            plan.first_episode + len(episodes),
            plan.size if plan.most_steps else self._choose_size(steps / len(episodes)),
        )
        if config.overlap:
            self.plan = self._plan_round(*following)
            if self.steps < config.steps:
                self._pending = self.collector.start(self.plan.request)
        metrics = self._learn(measured)
        if not self._find_pace(plan.number).keeps_noise:
            metrics["noise"] = plan.noise
        if self.average is not None:
            age = plan.number - self.begun_in
            share = (config.policy_average + 1) / (config.policy_average + 1 + age)
            self.average += share * (self.theta.detach() - self.average)
        if not config.overlap:
            self.plan = self._plan_round(*following)
        return Progress(steps, len(episodes), metrics, measured)

    @property
    def is_beginning(self) -> bool:
        return not self.beginnings.are_over

    @property
    def flat_params(self) -> NDArray[np.float32]:
        return _to_numpy(self.theta if self.average is None else self.average)

    @property
    def normalizer(self) -> Normalizer:
        if not self.config.normalize_observations:
            return Normalizer.identity(self.architecture.state_shape)
        return self.running_normalizer.freeze()

    def _begin(self, number: int, first_episode: int) -> None:
        """Learn nothing yet: perturb another untrained policy, let finalists meet, or be ready."""
        beginnings, size = self.beginnings, self.config.round_size
        if beginnings.is_looking:
            with drawing_networks(self.config.seed, beginnings.looked_near):
                theta = flatten(self.architecture.build())
        else:
            theta = torch.from_numpy(beginnings.theta)
        self._move_to(theta)
        self.begun_in = number
        is_final = not (beginnings.is_looking or beginnings.are_over)
        self.plan = self._plan_round(number, first_episode, FINAL_EPISODES if is_final else size)
        if is_final:
            self.plan = replace(self.plan, noise=0.0, most_steps=None)

    def _plan_round(self, number: int, first_episode: int, size: int) -> RoundPlan:
        return RoundPlan(
            number,
            _to_numpy(self.theta),
            self.normalizer,
            self._find_pace(number).noise,
            first_episode,
            size,
            shared_start=self.config.shared_start,
            most_steps=self.learning.most_steps,
        )

    def _find_pace(self, round_number: int) -> Pace:
        age = round_number - self.begun_in
        return Pace(self.config, age, self.step_factor, self.noise_factor, self.steps)

    def _choose_size(self, episode_steps: float) -> int:
        """How many episodes the next round has, from how long those of the last one were."""
        config = self.config
        wanted = round(config.round_steps / episode_steps)
        return max(config.round_size, min(wanted, config.max_round_size))

    def _store(self, measured: Round, episodes: list[Episode]) -> None:
        """Keep the round and what was seen in it; what is not finite is left out."""
        steps = sum(episode.steps for episode in episodes)
        share = self.beginnings.weigh(self.running_normalizer.count, steps)
        for episode in episodes:
            if episode.is_finite and share:
                self.running_normalizer.merge(episode.moments, share)
        earned = self.learning.remember(measured, episodes) if measured.kept else ()
        if self.is_beginning:
            config = self.config
            policies, _ = measured.rebuild_kept(config.seed)
            done = self.steps / config.steps
            self.beginnings.take_in(measured.flat_params, policies, earned, config.beginnings, done)
        if measured.kept and measured.noise and not self.beginnings.is_looking:
            self._adapt_noise(measured.number)
        self.evaluator.set_normalizer(self.normalizer)

    def _adapt_noise(self, round_number: int) -> None:
        wanted, found = self._find_pace(round_number).noise_change, self.learning.noise_change
        wanted *= self.architecture.head.most_alike
        if wanted and found:
            change = min(max(wanted / found, 1 / MOST_CHANGE), MOST_CHANGE)
            most = max(1.0, MOST_NOISE / self.config.noise)
            self.noise_factor = min(self.noise_factor * change, most)

    def _learn(self, measured: Round) -> dict[str, float]:
        learned = self.learning.learn(measured, self._find_pace(measured.number))
        if learned is None:
            return {}
        loss, value = learned
        metrics = {"evaluator_loss": loss}
        if self.config.policy_updates:
            metrics["predicted_return"] = value
        if not all(map(np.isfinite, metrics.values())) or not self.theta.isfinite().all():
            raise RunFailed(
                f"learning diverged in round {measured.number}: a parameter or loss is not finite; "
                f"{self.learning.advice} may help"
            )
        return metrics

    @property
    def center(self) -> Mapping[str, Any]:
        """Where learning stands, to go back to."""
        return {
            "theta": torch.from_numpy(self.flat_params),
            "normalizer": save(self.running_normalizer),
            "noise_factor": self.noise_factor,
        }

    def go_back(self, center: Mapping[str, Any]) -> None:
        """To a `center` of before, and on, with smaller steps and without what led away from it."""
        self.running_normalizer = load(
            self.running_normalizer, center["normalizer"], RunningNormalizer
        )
        self.noise_factor = load(self.noise_factor, center["noise_factor"], float)
        self._move_to(center["theta"])
        self.learning.forget()
        self.step_factor *= STEP_FACTOR_BACK
        if not self.config.overlap:  # a round under way stays as it is
            self.plan = self._plan_round(self.plan.number, self.plan.first_episode, self.plan.size)

    @property
    def cut(self) -> Cut | None:
        return self.learning.cut

    def _move_to(self, theta: Tensor) -> None:
        load(self.theta, theta, Tensor)
        if self.average is not None:
            load(self.average, theta, Tensor)

    @property
    def oldest_round(self) -> int:
        oldest = self.learning.oldest_round
        return self.plan.number if oldest is None else oldest

    def state_dict(self) -> Mapping[str, Any]:
        return {**super().state_dict(), **self.learning.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any], rounds: Iterable[Round]) -> None:
        super().load_state_dict(state, ())
        self.learning.load_state_dict(state, rounds)
        self._pending = None


def _to_numpy(flat_params: Tensor) -> NDArray[np.float32]:
    copy: NDArray[np.float32] = flat_params.detach().cpu().numpy().copy()
    return copy
