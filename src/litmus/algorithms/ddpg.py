"""Deep deterministic policy gradient (Lillicrap et al. 2015), the baseline of the paper.

    initialise policy π_θ, critic Q_φ, targets θ⁻ = θ and φ⁻ = φ, empty replay D
    repeat:
        for each of E steps:                            # one block, many in one call
            a = π_θ(s) + ε,  ε ~ N(0, σ² I), within the bounds;  at first, a random action
            take a;  store (s, a, r, s', whether s' is final) in D
        U times:                                        # once there are enough transitions
            draw a batch from D
            step φ down (Q_φ(s, a) - y)²,  y = r + γ Q_φ⁻(s', π_θ⁻(s')), or r where s' is final
            step θ up Q_φ(s, π_θ(s))
            θ⁻ ← ρ θ⁻ + (1 - ρ) θ,  φ⁻ ← ρ φ⁻ + (1 - ρ) φ

An episode that is cut off by a limit of steps has no final state. The critic sees actions in halves
of their range. Transitions are kept in files beside the run; the episode under way is brought back
by its actions (`stepper.py`). Faster forms of the updates are handed in.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.optim import Adam

from litmus.algorithms.adam import Group, make_adam
from litmus.algorithms.base import Progress, Resources
from litmus.algorithms.initial import drawing_networks
from litmus.algorithms.replay import FILES, Replay, TransitionSizes
from litmus.algorithms.running_normalizer import RunningNormalizer
from litmus.algorithms.saved import SavesAttributes, build
from litmus.algorithms.stepper import Stepper
from litmus.algorithms.transition_log import TransitionLog
from litmus.config import DdpgConfig
from litmus.errors import RunFailed
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Architecture
from litmus.policies.mlp_population import evaluate_perceptrons
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import FlatPopulation, flatten
from litmus.policies.rows import MlpShape
from litmus.rollouts.base import Round
from litmus.rollouts.episode import ActingPolicy
from litmus.rollouts.failure import Patience
from litmus.rollouts.serial import EpisodeWatch
from litmus.seeding import Stream, make_generator
from litmus.tasks.base import Exploration, Moments, StepsThrough

logger = logging.getLogger("litmus")


@dataclass(frozen=True)
class Learner:
    """What learns, by which optimisers, and from what: the update rules.

    Of one run, or of R runs side by side: parameters then have a row for each, and no row touches
    another.
    """

    architecture: Architecture
    critic_shape: MlpShape
    theta: Tensor  # [P] or [R, P]
    critic: Tensor  # [C] or [R, C]
    target_theta: Tensor
    target_critic: Tensor
    theta_optimizer: Adam
    critic_optimizer: Adam
    transitions: Tensor  # [T, width], those of all runs
    sizes: TransitionSizes
    discount: float
    polyak: float
    mean: Tensor  # [D] or [R, D]
    std: Tensor
    """Of the normaliser, where observations are normalised; else empty."""
    action_units: Tensor  # [2, A]: centres and half ranges

    def act(self, theta: Tensor, states: Tensor) -> Tensor:  # [R, N, D] -> [R, N, A]
        """What each policy does in states of its own, in units of its range."""
        rows, shaped = (
            _as_rows(theta),
            states.view(*states.shape[:-1], *self.architecture.state_shape),
        )
        if len(rows) == 1:
            return self.to_units(FlatPopulation(self.architecture, rows).actions(shaped[0]))
        actions = self.architecture.population_actions(rows, shaped)
        assert actions is not None  # `side_by_side` takes no other architecture
        return self.to_units(actions)

    def judge(self, critic: Tensor, states: Tensor, actions: Tensor) -> Tensor:  # -> [R, N]
        """Q of each state with each action."""
        rows, pairs = _as_rows(critic), torch.cat([states, actions], dim=-1)
        asked = pairs[0] if len(rows) == 1 else pairs
        return evaluate_perceptrons(self.critic_shape, rows, asked)[..., 0]

    def update(self, places: Tensor) -> Tensor:  # [R, N] -> [R, 2]
        """One update of each run from its transitions in these places; the critic's squared error
        and the mean Q of what the policy did before."""
        batch = self.sizes.split(self.transitions[places])
        states, next_states = self.normalize(batch.states), self.normalize(batch.next_states)
        with torch.no_grad():
            following = self.act(self.target_theta, next_states)
            promised = self.judge(self.target_critic, next_states, following)
            wanted = batch.rewards + self.discount * (1 - batch.terminated) * promised
        judged = self.judge(self.critic, states, self.to_units(batch.actions))
        losses = (judged - wanted).square().mean(dim=1)
        _step_down(losses.sum(), self.critic, self.critic_optimizer)

        values = self.judge(self.critic.detach(), states, self.act(self.theta, states)).mean(dim=1)
        _step_down(-values.sum(), self.theta, self.theta_optimizer)

        with torch.no_grad():
            self.target_theta.lerp_(self.theta, 1 - self.polyak)
            self.target_critic.lerp_(self.critic, 1 - self.polyak)
        return torch.stack([losses.detach(), values.detach()], dim=1)

    def update_each(self, places: Tensor) -> Tensor:  # [U, R, N] -> [U, R, 2]
        """The updates of a block, of each run."""
        return torch.stack([self.update(batch) for batch in places])

    def update_all(self, places: Tensor) -> Tensor:  # [U, N] -> [U, 2]
        """The updates of a block, of the only run."""
        return self.update_each(places.unsqueeze(1)).squeeze(1)

    def normalize(self, states: Tensor) -> Tensor:  # [R, N, D]
        if not self.mean.numel():
            return states
        return (states - self.mean.unsqueeze(-2)) / self.std.unsqueeze(-2)

    def to_units(self, actions: Tensor) -> Tensor:
        if self.architecture.head.is_unit_range:
            return actions
        center, half_range = self.action_units
        in_units: Tensor = (actions - center) / half_range
        return in_units


def _as_rows(parameters: Tensor) -> Tensor:  # [P] or [R, P] -> [R, P]
    return parameters.view(-1, parameters.shape[-1])


def _step_down(loss: Tensor, parameters: Tensor, optimizer: Adam) -> None:
    (parameters.grad,) = torch.autograd.grad(loss, parameters)
    optimizer.step()


class Updates(Protocol):
    """A `Learner`, or a faster form of one."""

    def update_all(self, places: Tensor) -> Tensor: ...


Accelerate = Callable[[Learner, DdpgConfig, Resources], Updates]


def take_as_it_is(learner: Learner, config: DdpgConfig, resources: Resources) -> Updates:
    return learner


class Ddpg(SavesAttributes):
    keeps_rounds = False
    evaluator = None
    saved = (
        *("theta", "critic", "target_theta", "target_critic"),
        *("theta_optimizer", "critic_optimizer"),
        *("running_normalizer", "blocks", "dropped"),
    )

    def __init__(self, resources: Resources, accelerate: Accelerate = take_as_it_is) -> None:
        self.config = config = cast(DdpgConfig, resources.config)
        self.architecture = architecture = resources.architecture
        self.device, head = resources.device, architecture.head
        self.task = task = resources.task.build()
        assert isinstance(task, StepsThrough)  # the configuration has checked it
        self.stepper = Stepper(task, config.seed, head.arrange)
        state_size = int(np.prod(architecture.state_shape))
        sizes = TransitionSizes(state_size, head.size)
        self.replay = Replay(
            sizes,
            config.buffer_size,
            config.steps + config.update_every,
            self.device,
            TransitionLog(resources.folder, sizes.width, -(-config.buffer_size // FILES)),
        )
        widths = (state_size + head.size, *config.critic_hidden, 1)
        critic_shape = MlpShape(tuple(pairwise(widths)), "relu")
        with drawing_networks(config.seed):
            self.theta = flatten(architecture.build()).to(self.device).requires_grad_()
            self.critic = _draw_perceptron(critic_shape).to(self.device).requires_grad_()
        self.target_theta, self.target_critic = (
            one.detach().clone() for one in (self.theta, self.critic)
        )
        self.theta_optimizer = make_adam(Group(config.policy_lr, [self.theta]))
        self.critic_optimizer = make_adam(Group(config.critic_lr, [self.critic]))
        self.running_normalizer = RunningNormalizer.empty(state_size)
        self.blocks = self.dropped = 0
        normalized = state_size if config.normalize_observations else 0
        self.learner = Learner(
            architecture,
            critic_shape,
            self.theta,
            self.critic,
            self.target_theta,
            self.target_critic,
            self.theta_optimizer,
            self.critic_optimizer,
            self.replay.rows,
            sizes,
            config.discount,
            config.polyak,
            torch.zeros(normalized, device=self.device),
            torch.ones(normalized, device=self.device),
            torch.from_numpy(head.units).to(self.device),
        )
        self.updates = accelerate(self.learner, config, resources)
        self.watch = EpisodeWatch(Patience(logger.warning))

    def iterate(self) -> Progress:
        """One block of steps, and the updates after it."""
        with self.watch.watching():
            self.watch.running = (self.stepper.name, time.monotonic())
            rows, returns = self._collect()
        self.replay.add(rows)
        self._merge_moments(rows)
        metrics = self._learn()
        self.blocks += 1
        if returns:
            mean, training_mean = np.mean(returns, axis=0).tolist()
            metrics |= {"mean": mean, "training_mean": training_mean}
        metrics["dropped"] = self.dropped
        return Progress(self.config.update_every, len(returns), metrics)

    @property
    def flat_params(self) -> NDArray[np.float32]:
        flat: NDArray[np.float32] = self.theta.detach().cpu().numpy().copy()
        return flat

    @property
    def normalizer(self) -> Normalizer:
        if not self.config.normalize_observations:
            return Normalizer.identity(self.architecture.state_shape)
        return self.running_normalizer.freeze()

    def _collect(self) -> tuple[NDArray[np.float32], list[tuple[float, float]]]:
        """The transitions of a block, [E, width] but for what is not finite; and the returns of
        the episodes that ended in it."""
        stepper, pack = self.stepper, self.replay.sizes.pack
        exploration, rows, returns = self._explore(), [], []
        while len(exploration.rows):
            stretch = stepper.advance(exploration)
            packed = pack(stretch)
            finite = _count_finite(packed)
            rows.append(packed[:finite])
            is_finite = finite == len(packed)
            if not is_finite:
                self._drop()
                stretch = stretch.cut(finite + 1)
            stepper.count(stretch)
            if stretch.is_over or not is_finite:
                if np.isfinite(stepper.return_):
                    returns.append((stepper.return_, stepper.training_return))
                stepper.begin(stepper.episode + 1)
            exploration = exploration.skip(len(stretch))
        return np.concatenate(rows), returns

    def _drop(self) -> None:
        """A transition that must not be learned from ends its episode, which could not be brought
        back without it."""
        if not self.dropped:
            logger.warning(
                "%s had a NaN or infinite reward or observation: it ends there, and so does every "
                "one that has",
                self.stepper.name,
            )
        self.dropped += 1

    def _explore(self) -> Exploration:
        """How to act in the steps of the block: at random, then near the policy, whose actions are
        changed by so many halves of their range."""
        config, head = self.config, self.architecture.head
        first, sizes = self.blocks * config.update_every, (config.update_every, head.size)
        generator = make_generator(config.seed, Stream.EXPLORATION, self.blocks)
        noise = generator.standard_normal(sizes, dtype=np.float32)
        evenly = generator.uniform(-1, 1, sizes).astype(np.float32)
        policy = ActingPolicy(self.architecture, self.flat_params, self.normalizer, generator)
        given = min(max(0, config.start_steps - first), config.update_every)
        rows = head.units[1] * (config.noise * noise)
        rows[:given] = draw_actions(head, evenly[:given], noise[:given])
        return Exploration(policy, rows, given, head.low, head.high)

    def _merge_moments(self, rows: NDArray[np.float32]) -> None:
        if len(rows):
            self.running_normalizer.merge(Moments.of(self.replay.sizes.find_states(rows)))
        self._set_normalizer()

    def _set_normalizer(self) -> None:
        """Where the learner reads it, in the same memory."""
        if self.config.normalize_observations:
            found = self.normalizer
            self.learner.mean.copy_(torch.from_numpy(found.mean))
            self.learner.std.copy_(torch.from_numpy(found.std))

    def _learn(self) -> dict[str, float]:
        config, replay = self.config, self.replay
        if (self.blocks + 1) * config.update_every < config.update_after or not len(replay):
            return {}
        generator = make_generator(config.seed, Stream.BATCHES, self.blocks)
        places = torch.from_numpy(replay.draw(config.updates, config.batch_size, generator))
        loss, value = self.updates.update_all(places.to(self.device)).mean(dim=0).tolist()
        if not (np.isfinite(loss) and np.isfinite(value) and self.theta.isfinite().all()):
            raise RunFailed(
                f"learning diverged in block {self.blocks}: a parameter or loss is not finite; "
                "smaller learning rates may help"
            )
        return {"critic_loss": loss, "policy_value": value}

    def state_dict(self) -> Mapping[str, Any]:
        stepper = self.stepper
        return {
            **super().state_dict(),
            "stored": self.replay.keep(stepper.steps),
            "episode": stepper.episode,
            "episode_steps": stepper.steps,
        }

    def load_state_dict(self, state: Mapping[str, Any], rounds: Iterable[Round]) -> None:
        super().load_state_dict(state, ())
        stored, episode, steps = (
            build(int, state[name]) for name in ("stored", "episode", "episode_steps")
        )
        if not 0 <= steps <= stored <= self.blocks * self.config.update_every or episode < 0:
            raise ValueError("its transitions cannot be so many")
        rows, sizes = self.replay.restore(stored, steps), self.replay.sizes
        self._set_normalizer()
        self.stepper.begin(episode)
        arrange = self.architecture.head.arrange
        actions = [arrange(action) for action in sizes.find_actions(rows)]
        if not self.stepper.repeat(actions, sizes.find_states(rows)):
            logger.warning(
                "%s did not go as it did before: the task does not repeat itself on this machine. "
                "The run goes on with the next episode, and its numbers will differ",
                self.stepper.name,
            )
            self.stepper.begin(episode + 1)

    def close(self) -> None:
        self.replay.close()
        self.task.close()


def draw_actions(
    head: ActionHead, evenly: NDArray[np.float32], normally: NDArray[np.float32]
) -> NDArray[np.float32]:  # [N, A]
    """Random actions from numbers in [-1, 1) and from normal ones: even between two bounds, else
    what a policy of random outputs does."""
    within = np.clip(head.center + head.half_range * evenly, head.low, head.high)
    return np.where(head.bounded, within, head.squash(normally.copy()))


def _count_finite(rows: NDArray[np.float32]) -> int:  # [N, width]
    """Rows before the first that has a number that is not."""
    is_finite = np.isfinite(rows).all(axis=1)
    return len(rows) if is_finite.all() else int(is_finite.argmin())


def _draw_perceptron(shape: MlpShape) -> Tensor:
    """As torch initialises its linear layers."""
    layers = [torch.nn.Linear(inputs, outputs) for inputs, outputs in shape.layer_sizes]
    return flatten(torch.nn.Sequential(*layers))
