"""Actor-evaluator with a PSSVF (Algorithm 1), in rounds.

    initialise θ, V (probing states and head), empty buffer D
    repeat:
        for each of W episodes:                         # one round, collected in parallel
            θ' = θ + ε,  ε ~ N(0, σ² I)
            run one episode with π_θ';  store (θ', training return) in D
        update the observation normaliser with what was seen
        W times:
            U_V times:  draw a batch from D, newest with most weight;  step down (V(θ') - return)²
            U_π times:  step θ up V(θ)

W = 1 is the paper's schedule. With `overlap`, the next round is simulated from the θ of *before*
these updates while they are made: a lag of one round, always, so results stay reproducible.
Vanilla PSSVF is this file with another evaluator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from litmus.algorithms.base import Outcome, Progress, Round
from litmus.native.updates import compile_updates
from litmus.algorithms.updates import Learner, TorchUpdates, Updates
from litmus.config import ActorEvaluatorConfig, PssvfConfig, TrainConfig
from litmus.errors import RunFailed
from litmus.evaluators.base import Evaluator
from litmus.evaluators.fingerprint import FingerprintEvaluator
from litmus.evaluators.flat import FlatEvaluator
from litmus.files import take_prefixed
from litmus.policies.architecture import Architecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import flatten
from litmus.rollouts.base import Collector, Pending, Request
from litmus.rollouts.make import count_cores
from litmus.seeding import Stream, make_generator, perturb
from litmus.tasks.base import Episode
from litmus.algorithms.buffer import Buffer
from litmus.algorithms.capture import CapturedStep
from litmus.algorithms.running_normalizer import RunningNormalizer

SECONDS_PER_STEP, SECONDS_PER_FLOP = 1e-4, 1e-11
"""Rough costs on one core of today, to share out cores between simulation and learning."""

RESTORED_AT_ONCE = 64
"""Policies rebuilt together on a resume: a bound on memory."""

Measured = tuple[NDArray[np.float32], int, float]
"""θ before perturbation [P], episode index, training return."""


@dataclass(frozen=True)
class RoundPlan:
    """The next round: from which θ and normaliser, and its first episode's index."""

    number: int
    flat_params: NDArray[np.float32]
    normalizer: Normalizer
    first_episode: int


class Pssvf:
    def __init__(
        self,
        config: TrainConfig,
        architecture: Architecture,
        collector: Collector,
        device: torch.device,
    ) -> None:
        assert isinstance(config, ActorEvaluatorConfig)
        self.config = config
        self.architecture = architecture
        self.collector = collector
        self.device = device
        with torch.random.fork_rng(devices=[]):
            initial = make_generator(config.seed, Stream.INITIALIZATION, 0)
            torch.manual_seed(int(initial.integers(2**62)))
            self.theta = flatten(architecture.build()).to(device).requires_grad_()
            self._evaluator = make_evaluator(config, architecture).to(device)
        self.theta_optimizer = _make_adam([self.theta], config.policy_lr)
        self.evaluator_optimizer = _make_adam(self._evaluator.parameters(), config.evaluator_lr)
        self.buffer = Buffer(config.buffer_size, architecture.num_params, device)
        learner = Learner(
            architecture,
            self.theta,
            self._evaluator,
            self.theta_optimizer,
            self.evaluator_optimizer,
            self.buffer,
        )
        self.updates: Updates = compile_updates(learner, config.batch_size) or TorchUpdates(learner)
        self.running_normalizer = RunningNormalizer(int(np.prod(architecture.state_shape)))
        self.steps = 0
        self.cores = count_cores()
        """Of the machine that the run began on: how sums are split, and so their last bits."""
        self.plan = self._plan_round(number=0, first_episode=0)
        self._pending: Pending | None = None
        self._captured = CapturedStep(self._update) if device.type == "cuda" else None

    def iterate(self) -> Progress:
        plan = self.plan
        pending = self._pending or self._start(plan)
        episodes = pending.result()
        self._pending = None
        self.steps += sum(episode.steps for episode in episodes)
        self._store(plan, episodes)
        next_number, next_first = plan.number + 1, plan.first_episode + len(episodes)
        if self.config.overlap:
            self.plan = self._plan_round(next_number, next_first)
            if self.steps < self.config.steps:
                self._pending = self._start(self.plan)
        self._share_cores(sum(episode.steps for episode in episodes))
        metrics = self._learn(plan.number, len(episodes))
        if not self.config.overlap:
            self.plan = self._plan_round(next_number, next_first)
        outcomes = [Outcome.of(episode) for episode in episodes]
        record = Round(
            plan.number,
            plan.flat_params,
            plan.normalizer,
            self.config.noise,
            plan.first_episode,
            outcomes,
        )
        return Progress(record, sum(episode.steps for episode in episodes), metrics)

    @property
    def flat_params(self) -> NDArray[np.float32]:
        flat: NDArray[np.float32] = self.theta.detach().cpu().numpy().copy()
        return flat

    @property
    def normalizer(self) -> Normalizer:
        if not self.config.normalize_observations:
            return Normalizer.identity(self.architecture.state_shape)
        return self.running_normalizer.freeze()

    @property
    def evaluator(self) -> Evaluator:
        self._evaluator.set_normalizer(self.normalizer)
        return self._evaluator

    def _plan_round(self, number: int, first_episode: int) -> RoundPlan:
        return RoundPlan(number, self.flat_params, self.normalizer, first_episode)

    def _start(self, plan: RoundPlan) -> Pending:
        indices = range(plan.first_episode, plan.first_episode + self.config.round_size)
        return self.collector.start(
            Request(plan.flat_params, plan.normalizer, self.config.noise, Stream.TRAINING, indices)
        )

    def _store(self, plan: RoundPlan, episodes: list[Episode]) -> None:
        """Put the round into the buffer and the normaliser; what is not finite is left out."""
        kept = [
            (plan.first_episode + number, episode)
            for number, episode in enumerate(episodes)
            if episode.is_finite
        ]
        for _, episode in kept:
            self.running_normalizer.merge(episode.moments)
        measured = [(plan.flat_params, index, episode.training_return) for index, episode in kept]
        self._fill_buffer(measured)

    def _fill_buffer(self, measured: list[Measured]) -> None:
        """Rebuild the perturbed policies from θ and episode index, and store them."""
        if measured:
            config = self.config
            policies = [
                perturb(flat, config.noise, config.seed, index) for flat, index, _ in measured
            ]
            self.buffer.add(
                np.stack(policies), [training_return for *_, training_return in measured]
            )

    def _share_cores(self, steps: int) -> None:
        """Take as many threads as learning is of the work that now goes on at the same time.

        Estimated from the last round's steps, not timed: a resumed run must choose the same.
        """
        if self.device.type != "cpu":
            return
        simulating = steps * SECONDS_PER_STEP if self.config.overlap else 0.0
        config, states = self.config, self._evaluator.probing_states
        asked = 1 if states is None else len(states)
        passes = config.evaluator_updates * config.batch_size * 4 + config.policy_updates * 6
        flops = config.round_size * passes * asked * self.architecture.num_params
        learning = flops * SECONDS_PER_FLOP
        share = learning / (learning + simulating)
        self.updates.prepare(max(1, round(self.cores * share)))

    def _learn(self, round_number: int, num_episodes: int) -> dict[str, float]:
        """W × (U_V + U_π) updates."""
        config = self.config
        if not len(self.buffer):
            return {}
        slots = self.buffer.draw(
            num_episodes * config.evaluator_updates,
            config.batch_size,
            config.recency,
            make_generator(config.seed, Stream.BATCHES, round_number),
        )
        batches = torch.from_numpy(slots).to(self.device)
        batches = batches.view(num_episodes, config.evaluator_updates, config.batch_size)
        if self._captured is None:
            results = [self._update(batch) for batch in batches]
        else:
            version = self.buffer.storage.version
            results = [self._captured(batch, version) for batch in batches]
        losses, values = torch.stack(results).unbind(1)
        metrics = {"evaluator_loss": float(losses.mean())}
        if config.policy_updates:
            metrics["predicted_return"] = float(values[-1])
        if not all(map(np.isfinite, metrics.values())) or not self.theta.isfinite().all():
            raise RunFailed(
                f"learning diverged in round {round_number}: a parameter or loss is not finite; "
                "smaller learning rates may help"
            )
        return metrics

    def _update(self, slots: Tensor) -> Tensor:  # [U_V, B] -> [2]
        """The updates that one episode brings; returns the mean loss and the last V(θ)."""
        losses = [self.updates.fit(batch) for batch in slots]
        value = losses[0].new_full((), float("nan"))
        for _ in range(self.config.policy_updates):
            value = self.updates.climb()
        return torch.stack([torch.stack(losses).mean(), value])

    def state_dict(self) -> dict[str, Tensor]:
        normalizer = self.running_normalizer
        state = {
            "theta": self.theta.detach(),
            "plan.number": torch.tensor(self.plan.number),
            "plan.first_episode": torch.tensor(self.plan.first_episode),
            "plan.flat_params": torch.from_numpy(self.plan.flat_params),
            "plan.mean": torch.from_numpy(self.plan.normalizer.mean),
            "plan.std": torch.from_numpy(self.plan.normalizer.std),
            "normalizer.count": torch.tensor(normalizer.count),
            "normalizer.mean": torch.from_numpy(normalizer.mean),
            "normalizer.squared_deviations": torch.from_numpy(normalizer.squared_deviations),
            "steps": torch.tensor(self.steps),
            "cores": torch.tensor(self.cores),
        }
        state |= {f"evaluator.{k}": v for k, v in self.evaluator.state_dict().items()}
        state |= _adam_state("theta_adam", self.theta_optimizer)
        state |= _adam_state("evaluator_adam", self.evaluator_optimizer)
        return state

    def load_state_dict(self, state: Mapping[str, Tensor], history: Iterable[Round]) -> None:
        with torch.no_grad():
            self.theta.copy_(state["theta"])
        self._evaluator.load_state_dict(take_prefixed("evaluator.", state))
        _load_adam_state("theta_adam", self.theta_optimizer, state)
        _load_adam_state("evaluator_adam", self.evaluator_optimizer, state)
        normalizer = self.running_normalizer
        normalizer.count = int(state["normalizer.count"])
        normalizer.mean = state["normalizer.mean"].numpy().copy()
        normalizer.squared_deviations = state["normalizer.squared_deviations"].numpy().copy()
        self.steps = int(state["steps"])
        self.cores = int(state["cores"])
        self.plan = RoundPlan(
            int(state["plan.number"]),
            state["plan.flat_params"].numpy().copy(),
            Normalizer(state["plan.mean"].numpy().copy(), state["plan.std"].numpy().copy()),
            int(state["plan.first_episode"]),
        )
        self._pending = None
        self._restore_buffer(history)

    def _restore_buffer(self, history: Iterable[Round]) -> None:
        measured = [
            (past.flat_params, index, outcome.training_return)
            for past in history
            for index, outcome in enumerate(past.episodes, start=past.first_episode)
            if outcome.training_return is not None
        ]
        overwritten = max(0, len(measured) - self.buffer.capacity)
        self.buffer.skip(overwritten)
        for start in range(overwritten, len(measured), RESTORED_AT_ONCE):
            self._fill_buffer(measured[start : start + RESTORED_AT_ONCE])


def make_evaluator(config: ActorEvaluatorConfig, architecture: Architecture) -> Evaluator:
    if isinstance(config, PssvfConfig):
        return FingerprintEvaluator(
            architecture.state_shape,
            architecture.head.size,
            config.probing_states,
            config.evaluator_hidden,
            (config.probing_low, config.probing_high),
        )
    return FlatEvaluator(architecture.state_shape, architecture.num_params, config.evaluator_hidden)


def _make_adam(parameters: Iterable[Tensor], lr: float) -> torch.optim.Adam:
    parameters = list(parameters)
    # capturable: the step count lives on the device, where a CUDA graph can advance it.
    on_cuda = any(parameter.is_cuda for parameter in parameters)
    return torch.optim.Adam(parameters, lr=lr, fused=True, capturable=on_cuda)


def _adam_state(prefix: str, optimizer: torch.optim.Adam) -> dict[str, Tensor]:
    return {
        f"{prefix}.{number}.{name}": value
        for number, values in optimizer.state_dict()["state"].items()
        for name, value in values.items()
    }


def _load_adam_state(prefix: str, optimizer: torch.optim.Adam, state: Mapping[str, Tensor]) -> None:
    by_parameter: dict[int, dict[str, Tensor]] = {}
    for key, value in take_prefixed(f"{prefix}.", state).items():
        number, _, name = key.partition(".")
        by_parameter.setdefault(int(number), {})[name] = value
    groups = optimizer.state_dict()["param_groups"]
    optimizer.load_state_dict({"state": by_parameter, "param_groups": groups})
