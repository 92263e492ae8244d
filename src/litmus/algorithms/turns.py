"""How V and θ learn in steps: turns of updates after each round.

store the round's policies and returns in the buffer
draw the batches of all turns; say what returns are like now; set the learning rates
let probing states be the average of what they were, late in a run that asks for it
for each turn:  U_V updates of V, a batch each, and U_π of θ      (the rules are in `pssvf.py`)
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch import Tensor
from torch.optim import Adam

from litmus.algorithms.adam import group_parameters, set_lr
from litmus.algorithms.buffer import Buffer, Recency
from litmus.algorithms.rounds import Pace
from litmus.algorithms.saved import SavesAttributes, build, load
from litmus.config import PssvfConfig
from litmus.evaluators.base import Evaluator
from litmus.rollouts.base import Round
from litmus.seeding import Stream, make_generator
from litmus.tasks.base import Episode

ADAM_SHARE = 0.8
"""Of the learning rate, how far Adam moves a parameter per update when gradients are noisy."""


class Updates(Protocol):
    """The two rules of an update, by whatever means."""

    def begin_round(self, steps: int) -> None:
        """Before the updates of a round that collected so many steps."""

    def update(self, slots: Tensor) -> Tensor:  # [U_V, B] -> [2]
        """A turn of updates; the mean error and the last V(θ)."""


@dataclass
class Turns(SavesAttributes):
    config: PssvfConfig
    theta: Tensor  # [P]
    evaluator: Evaluator
    theta_optimizer: Adam
    evaluator_optimizer: Adam
    buffer: Buffer
    updates: Updates
    saved: ClassVar = ("theta_optimizer", "evaluator_optimizer")
    noise_change: ClassVar = 0.0
    advice: ClassVar = "smaller learning rates"
    most_steps: ClassVar = None
    cut: ClassVar = None

    def __post_init__(self) -> None:
        options, states = self.config.evaluator_options, self.evaluator.probing_states
        self._averaged = options.get("probing_averaged", 0.0)
        self._average_until = min(self._averaged, options.get("probing_average_until", 1.0))
        self.probing_average: Tensor | None = None
        """Of the probing states after each round; None where nobody asks for it."""
        if states is not None and self._averaged:
            self.probing_average = states.detach().clone()

    def remember(self, measured: Round, episodes: Sequence[Episode] = ()) -> Sequence[float]:
        policies, returns = measured.rebuild_kept(self.config.seed)
        self.buffer.add(policies, returns, [measured.number] * len(returns))
        return returns

    def learn(self, measured: Round, pace: Pace) -> tuple[float, float] | None:
        config, buffer = self.config, self.buffer
        if not len(buffer):
            return None
        draw, describe = buffer.draw, buffer.describe_returns
        if config.batches == "rounds":
            draw, describe = buffer.draw_rounds, buffer.describe_returns_in_rounds
        turns = config.round_turns or len(measured.episodes)
        sizes = turns, config.evaluator_updates, config.batch_size
        recency = Recency(config.recency, config.recency_unit)
        generator = make_generator(config.seed, Stream.BATCHES, measured.number)
        slots = draw(math.prod(sizes[:2]), config.batch_size, recency, generator)
        if config.standardize_returns:
            self.evaluator.set_return_statistics(*describe(recency))
        self._set_rates(pace, turns)
        self._take_average(pace)
        self.updates.begin_round(sum(episode.steps for episode in measured.episodes))
        batches = torch.from_numpy(slots).to(self.theta.device).view(sizes)
        losses, values = torch.stack([self.updates.update(batch) for batch in batches]).unbind(1)
        self._extend_average(pace)
        return float(losses.mean()), float(values[-1])

    def _take_average(self, pace: Pace) -> None:
        states, average = self.evaluator.probing_states, self.probing_average
        if states is not None and average is not None and pace.is_past(self._averaged):
            states.detach().copy_(average)

    def _extend_average(self, pace: Pace) -> None:
        states, average = self.evaluator.probing_states, self.probing_average
        if states is not None and average is not None and not pace.is_past(self._average_until):
            average.lerp_(states.detach(), 1 / (pace.age + 1))

    def _set_rates(self, pace: Pace, turns: int) -> None:
        config = self.config
        if config.policy_step and config.policy_updates:
            # Adam moves each of P parameters by about the learning rate, in every update.
            updates = turns * config.policy_updates
            length = pace.policy_step * pace.noise
            rate = length / (ADAM_SHARE * updates * math.sqrt(self.theta.numel()))
            set_lr(self.theta_optimizer, [rate])
        groups = group_parameters(self.evaluator, config)
        rates = [
            0.0
            if pace.is_past(group.averaged)
            else group.lr * pace.find_rest(group.settled) / pace.find_fall(group.lr_decay)
            for group in groups
        ]
        set_lr(self.evaluator_optimizer, rates)

    def forget(self) -> None:
        for moments in self.theta_optimizer.state.values():
            for moment in moments.values():
                moment.zero_()

    @property
    def oldest_round(self) -> int | None:
        return self.buffer.oldest_round

    def state_dict(self) -> Mapping[str, Any]:
        state = {**super().state_dict(), "stored": self.buffer.stored}
        if self.probing_average is not None:
            state["probing_average"] = self.probing_average
        return state

    def load_state_dict(self, state: Mapping[str, Any], rounds: Iterable[Round]) -> None:
        super().load_state_dict(state, ())
        if self.probing_average is not None:
            load(self.probing_average, state["probing_average"], Tensor)
        rounds = [one for one in rounds if one.kept]
        stored: int = build(int, state["stored"])
        given = sum(len(one.kept) for one in rounds)
        if not min(stored, self.buffer.capacity) <= given <= stored:
            raise ValueError(f"{given} measured policies are not the last of {stored}")
        self.buffer.skip(stored - given)
        for one in rounds:
            self.remember(one)
