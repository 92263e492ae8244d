"""Actor-evaluator with a PSSVF (Algorithm 1), in rounds.

    initialise θ, V (probing states and head), empty buffer D
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
Faster forms of the updates are handed in. Where V is solved for and not learned in steps, the
turns of updates are one solution and one climb (`solving.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import Adam

from litmus.algorithms.adam import Group, group_parameters, make_adam, set_lr
from litmus.algorithms.base import Progress, Resources
from litmus.algorithms.buffer import Buffer, Recency
from litmus.algorithms.initial import drawing_networks
from litmus.algorithms.rounds import RoundPlan
from litmus.algorithms.running_normalizer import RunningNormalizer
from litmus.algorithms.saved import SavesAttributes, build, load, save
from litmus.algorithms.solving import Solver
from litmus.config import PssvfConfig
from litmus.errors import RunFailed
from litmus.evaluators.base import Evaluator, design_evaluator
from litmus.evaluators.gaussian_process import GaussianProcessEvaluator
from litmus.evaluators.smoothing import blur
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import FlatPopulation, flatten
from litmus.rollouts.base import Outcome, Pending, Round
from litmus.seeding import Stream, make_generator
from litmus.tasks.base import Episode

ADAM_SHARE = 0.8
"""Of the learning rate, how far Adam moves a parameter per update when gradients are noisy."""
STEP_FACTOR_BACK = 0.7
RESTORED_AT_ONCE = 64
"""Policies rebuilt together on a resume: a bound on memory."""


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
        states = self.evaluator.probing_states if self.smoothing else None
        if states is None:
            self.evaluator_optimizer.step()
            return
        assert states.grad is not None
        states.grad = blur(states.grad, self.smoothing)
        before = states.detach().clone()
        self.evaluator_optimizer.step()
        with torch.no_grad():
            states.copy_(before + blur(states - before, self.smoothing))

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


class Updates(Protocol):
    """A `Learner`, or a faster form of one."""

    def begin_round(self, steps: int) -> None: ...

    def update(self, slots: Tensor) -> Tensor: ...


Accelerate = Callable[[Learner, PssvfConfig, Resources], Updates]


def take_as_it_is(learner: Learner, config: PssvfConfig, resources: Resources) -> Updates:
    return learner


class Pssvf(SavesAttributes):
    keeps_rounds = True
    average: Tensor | None
    """Of θ over the rounds, where that is asked for."""
    evaluator_optimizer: Adam | None
    """None where the evaluator is solved for."""
    saved = (
        "theta",
        "average",
        "theta_optimizer",
        "evaluator_optimizer",
        "running_normalizer",
        "plan",
        "steps",
        "step_factor",
        "begun_in",
    )

    def __init__(self, resources: Resources, accelerate: Accelerate = take_as_it_is) -> None:
        self.config = config = cast(PssvfConfig, resources.config)
        self.architecture = architecture = resources.architecture
        self.collector, self.device = resources.collector, resources.device
        with drawing_networks(config.seed):
            self.theta = flatten(architecture.build()).to(self.device).requires_grad_()
            self.evaluator = design_evaluator(
                config.evaluator, architecture, config.evaluator_options
            )
        self.evaluator.to(self.device)
        self.average = self.theta.detach().clone() if config.policy_average else None
        self.theta_optimizer = make_adam(Group(config.policy_lr, [self.theta]))
        self.buffer = Buffer(config.buffer_size, architecture.num_params, self.device)
        self.solver: Solver | None = None
        self.updates: Updates | None = None
        self.evaluator_optimizer = None
        if isinstance(self.evaluator, GaussianProcessEvaluator):
            self.solver = Solver(architecture, self.theta, self.evaluator)
        else:
            self.evaluator_optimizer = make_adam(*group_parameters(self.evaluator, config))
            self.updates = accelerate(self._make_learner(), config, resources)
        self.running_normalizer = RunningNormalizer.empty(int(np.prod(architecture.state_shape)))
        self.steps = 0
        self.step_factor = 1.0
        """Of θ's steps: smaller whenever learning went back."""
        self.begun_in = 0
        """The round that the beginning of now began in."""
        self.recency = Recency(config.recency, config.recency_unit)
        self.plan = self._plan_round(number=0, first_episode=0, size=config.round_size)
        self._pending: Pending | None = None

    def _make_learner(self) -> Learner:
        config, optimizer = self.config, self.evaluator_optimizer
        assert optimizer is not None
        return Learner(
            self.architecture,
            self.theta,
            self.evaluator,
            self.theta_optimizer,
            optimizer,
            self.buffer,
            config.policy_updates,
            config.batches == "rounds",
            config.evaluator_options.get("probing_smoothing", 0),
        )

    def iterate(self) -> Progress:
        config, plan = self.config, self.plan
        pending = self._pending or self.collector.start(plan.request)
        episodes, self._pending = pending.result(), None
        steps = sum(episode.steps for episode in episodes)
        self.steps += steps
        measured = plan.record(episodes)
        self._store(measured, episodes)
        following = (
            plan.number + 1,
            plan.first_episode + len(episodes),
            self._choose_size(steps / len(episodes)),
        )
        if config.overlap:
            self.plan = self._plan_round(*following)
            if self.steps < config.steps:
                self._pending = self.collector.start(self.plan.request)
        metrics = self._learn(measured, steps)
        if self.average is not None:
            age = plan.number - self.begun_in
            share = (config.policy_average + 1) / (config.policy_average + 1 + age)
            self.average += share * (self.theta.detach() - self.average)
        if not config.overlap:
            self.plan = self._plan_round(*following)
        return Progress(steps, len(episodes), metrics, measured)

    @property
    def flat_params(self) -> NDArray[np.float32]:
        return _to_numpy(self.theta if self.average is None else self.average)

    @property
    def normalizer(self) -> Normalizer:
        if not self.config.normalize_observations:
            return Normalizer.identity(self.architecture.state_shape)
        return self.running_normalizer.freeze()

    def _plan_round(self, number: int, first_episode: int, size: int) -> RoundPlan:
        return RoundPlan(
            number,
            _to_numpy(self.theta),
            self.normalizer,
            self._find_noise(number),
            first_episode,
            size,
            shared_start=self.config.shared_start,
        )

    def _find_noise(self, round_number: int) -> float:
        """The standard deviation of a round's noise."""
        return self.config.noise / self._find_fall(self.config.noise_decay, round_number)

    def _find_fall(self, decay: float, round_number: int) -> float:
        """What is divided by, where something falls over so many rounds; 0: it does not fall."""
        return math.sqrt(1 + (round_number - self.begun_in) / decay) if decay else 1.0

    def _choose_size(self, episode_steps: float) -> int:
        """How many episodes the next round has, from how long those of the last one were."""
        config = self.config
        wanted = round(config.round_steps / episode_steps)
        return max(config.round_size, min(wanted, config.max_round_size))

    def _store(self, measured: Round, episodes: list[Episode]) -> None:
        """Put the round into the buffer and the normaliser; what is not finite is left out."""
        for episode in episodes:
            if episode.is_finite:
                self.running_normalizer.merge(episode.moments)
        self._fill_buffer([(measured, *kept) for kept in measured.kept])
        self.evaluator.set_normalizer(self.normalizer)

    def _fill_buffer(self, measured: list[tuple[Round, int, Outcome]]) -> None:
        """From round, episode index and outcome of each policy."""
        if measured:
            policies = [past.rebuild(self.config.seed, index) for past, index, _ in measured]
            returns = [cast(float, outcome.training_return) for *_, outcome in measured]
            if self.solver is not None:
                center = measured[-1][0].flat_params  # with overlap, θ has moved since
                rows = self._to_tensor(np.stack(policies))
                self.solver.remember(rows, self._to_tensor(center), returns)
                return
            self.buffer.add(np.stack(policies), returns, [past.number for past, *_ in measured])

    def _to_tensor(self, values: NDArray[np.float32]) -> Tensor:
        return torch.from_numpy(values).to(self.device)

    def _learn(self, measured: Round, steps: int) -> dict[str, float]:
        """From what is known after this round, which took so many steps."""
        number = measured.number
        if self.solver is not None:
            if not measured.kept:
                return {}
            loss, value = self.solver.learn(self._find_step(number))
        elif len(self.buffer):
            turns = self.config.round_turns or len(measured.episodes)
            loss, value = self._update(number, turns, steps)
        else:
            return {}
        metrics = {"evaluator_loss": loss}
        if self.config.policy_updates:
            metrics["predicted_return"] = value
        if not all(map(np.isfinite, metrics.values())) or not self.theta.isfinite().all():
            raise RunFailed(
                f"learning diverged in round {number}: a parameter or loss is not finite; "
                "smaller learning rates may help"
            )
        return metrics

    def _update(self, round_number: int, turns: int, steps: int) -> tuple[float, float]:
        """So many turns of U_V + U_π updates; the mean error and the last V(θ)."""
        config, optimizer = self.config, self.evaluator_optimizer
        assert self.updates is not None
        assert optimizer is not None
        in_rounds = config.batches == "rounds"
        draw = self.buffer.draw_rounds if in_rounds else self.buffer.draw
        slots = draw(
            turns * config.evaluator_updates,
            config.batch_size,
            self.recency,
            make_generator(config.seed, Stream.BATCHES, round_number),
        )
        if config.standardize_returns:
            buffer = self.buffer
            describe = buffer.describe_returns_in_rounds if in_rounds else buffer.describe_returns
            self.evaluator.set_return_statistics(*describe(self.recency))
        if config.policy_step and config.policy_updates:
            self._set_policy_lr(round_number, turns)
        if config.evaluator_lr_decay:
            groups = group_parameters(self.evaluator, config)
            fall = self._find_fall(config.evaluator_lr_decay, round_number)
            set_lr(optimizer, [group.lr / fall for group in groups])
        self.updates.begin_round(steps)
        batches = torch.from_numpy(slots).to(self.device)
        batches = batches.view(turns, config.evaluator_updates, config.batch_size)
        losses, values = torch.stack([self.updates.update(batch) for batch in batches]).unbind(1)
        return float(losses.mean()), float(values[-1])

    def _find_step(self, round_number: int) -> float:
        """How far θ may move after a round, in standard deviations of its noise."""
        config = self.config
        step = self.step_factor * config.policy_step if config.policy_updates else 0.0
        return step / self._find_fall(config.policy_step_decay, round_number)

    def _set_policy_lr(self, round_number: int, turns: int) -> None:
        """Adam moves each of P parameters by about the learning rate, in every update."""
        length = self._find_step(round_number) * self._find_noise(round_number)
        updates = turns * self.config.policy_updates
        lr = length / (ADAM_SHARE * updates * math.sqrt(self.architecture.num_params))
        set_lr(self.theta_optimizer, [lr])

    @property
    def center(self) -> Mapping[str, Any]:
        """Where learning stands, to go back to."""
        theta = torch.from_numpy(self.flat_params)
        return {"theta": theta, "normalizer": save(self.running_normalizer)}

    def go_back(self, center: Mapping[str, Any], *, has_lost: bool) -> None:
        """To a `center` of before, and on, with smaller steps where learning has lost it."""
        self.running_normalizer = load(
            self.running_normalizer, center["normalizer"], RunningNormalizer
        )
        self._move_to(center["theta"])
        if has_lost:
            self.step_factor *= STEP_FACTOR_BACK

    @property
    def beginnings(self) -> int:
        return self.config.beginnings

    def begin_anew(self, number: int) -> None:
        """With another θ. V, what it learns from and the normaliser stay."""
        self.begun_in, self.step_factor = self.plan.number, 1.0
        with drawing_networks(self.config.seed, number):
            self._move_to(flatten(self.architecture.build()))

    def _move_to(self, theta: Tensor) -> None:
        """A round under way stays as it is."""
        load(self.theta, theta, Tensor)
        if self.average is not None:
            load(self.average, theta, Tensor)
        if self.solver is not None:
            self.solver.evaluator.forget()  # it is about policies far from here
        for moments in self.theta_optimizer.state.values():
            for moment in moments.values():
                moment.zero_()
        if not self.config.overlap:
            self.plan = self._plan_round(self.plan.number, self.plan.first_episode, self.plan.size)

    @property
    def oldest_round(self) -> int:
        if self.solver is not None:
            return self.plan.number  # none is needed
        oldest = self.buffer.oldest_round
        return 0 if oldest is None else oldest

    def state_dict(self) -> Mapping[str, Any]:
        return {**super().state_dict(), "stored": self.buffer.stored}

    def load_state_dict(self, state: Mapping[str, Any], rounds: Iterable[Round]) -> None:
        super().load_state_dict(state, ())
        self._pending = None
        measured = [(past, *kept) for past in rounds for kept in past.kept]
        stored: int = build(int, state["stored"])
        held = min(stored, self.buffer.capacity)
        if held > len(measured):
            raise ValueError(f"{held} measured policies were expected, not {len(measured)}")
        self.buffer.skip(stored - held)
        for start in range(len(measured) - held, len(measured), RESTORED_AT_ONCE):
            self._fill_buffer(measured[start : start + RESTORED_AT_ONCE])


def _to_numpy(flat_params: Tensor) -> NDArray[np.float32]:
    copy: NDArray[np.float32] = flat_params.detach().cpu().numpy().copy()
    return copy
