"""One episode in one process: rebuild θ' from θ and an index, act without torch, measure."""

from __future__ import annotations

import math
import operator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.native.acting import compile_policy
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Architecture, Forward
from litmus.policies.normalizer import Normalizer
from litmus.rollouts.base import Request, Setting
from litmus.seeding import make_generator, perturb
from litmus.tasks.base import CutsShort, Episode, FloatArray, Task


@dataclass(frozen=True)
class EpisodeDraw:
    """The randomness of one episode: all of it comes from (seed, stream, index)."""

    flat_params: NDArray[np.float32]  # [P], perturbed
    seed: int
    """Of the environment."""
    generator: np.random.Generator
    """For a stochastic policy's choices."""


def draw_episode(setting: Setting, request: Request, index: int) -> EpisodeDraw:
    flat_params = request.flat_params
    if request.noise != 0:
        flat_params = perturb(flat_params, request.noise, setting.seed, index, request.antithetic)
    generator = make_generator(setting.seed, request.stream, index)
    task_seed = int(generator.integers(2**31))
    if request.start_index is not None:
        shared = make_generator(setting.seed, request.stream, request.start_index)
        task_seed = int(shared.integers(2**31))
    return EpisodeDraw(flat_params, task_seed, generator)


def run_request_episode(task: Task, setting: Setting, request: Request, index: int) -> Episode:
    """Run the episode with this index."""
    drawn = draw_episode(setting, request, index)
    policy = ActingPolicy(
        setting.architecture, drawn.flat_params, request.normalizer, drawn.generator
    )
    if request.most_steps is not None and isinstance(task, CutsShort):
        episode = task.run_part(policy, drawn.seed, request.most_steps)
    else:
        episode = task.run_episode(policy, drawn.seed)
    return check_episode(episode, setting.architecture.state_shape)


def check_episode(episode: Episode, state_shape: tuple[int, ...]) -> Episode:
    """With plain numbers, whatever a task of one's own counts in; TypeError or ValueError where it
    is none."""
    if not isinstance(episode, Episode):
        raise TypeError(f"run_episode returned {type(episode).__name__}, not an Episode")
    size = math.prod(state_shape)
    if episode.moments is not None and (
        np.shape(episode.moments.mean) != (size,)
        or np.shape(episode.moments.squared_deviations) != (size,)
    ):
        raise ValueError(f"the moments of an episode must be of {size} numbers each, as states are")
    if operator.index(episode.steps) < 1:
        raise ValueError(f"an episode takes a step at least, not {episode.steps}")
    numbers = (episode.return_, episode.training_return, episode.steps)
    if tuple(map(type, numbers)) == (float, float, int):
        return episode
    return_, training_return, steps = numbers
    return replace(
        episode,
        return_=float(return_),
        training_return=float(training_return),
        steps=operator.index(steps),
    )


class ActingPolicy:
    """A policy that acts on raw observations, one at a time, with little overhead."""

    def __init__(
        self,
        architecture: Architecture,
        flat_params: NDArray[np.float32],
        normalizer: Normalizer,
        generator: np.random.Generator,
    ) -> None:
        shape = architecture.state_shape
        self._forward = make_forward(architecture, flat_params)
        self._head: ActionHead = architecture.head
        self._mean = normalizer.mean.reshape(shape)
        self._inverse_std = 1.0 / normalizer.std.reshape(shape)
        self._generator = generator
        self._compiled = compile_policy(self._forward, self._mean, self._inverse_std, generator)

    def compiled_form(self) -> object | None:
        """The same policy for a loop that is compiled too (`OffersCompiledForm`)."""
        if type(self).act is not ActingPolicy.act:
            return None  # a subclass that acts in its own way
        return self._compiled

    def act(self, observation: FloatArray) -> Any:
        if observation.shape != self._mean.shape:  # else it would be broadcast
            raise BadInput(
                f"the policy takes an observation of shape {self._mean.shape}, and the task shows "
                f"one of {observation.shape}"
            )
        if self._compiled is not None:
            return self._compiled.act(observation)
        normalized = ((observation - self._mean) * self._inverse_std).astype(np.float32)
        return self._head.choose(self._forward(normalized), self._generator)

    def action_parameters(self, observations: FloatArray) -> FloatArray:  # [N, *state] -> [N, A]
        normalized = (observations - self._mean) * self._inverse_std
        return self._forward(normalized.astype(np.float32))


def make_forward(architecture: Architecture, flat_params: NDArray[np.float32]) -> Forward:
    """The architecture's own torch-free pass, or its module through torch."""
    forward = architecture.make_numpy_forward(flat_params)
    return _make_torch_forward(architecture, flat_params) if forward is None else forward


def _make_torch_forward(architecture: Architecture, flat_params: NDArray[np.float32]) -> Forward:
    import torch

    from litmus.policies.building import building_alone
    from litmus.policies.population import load_flat

    with building_alone():
        module = architecture.build()
    load_flat(module, torch.from_numpy(np.ascontiguousarray(flat_params)))
    dims = len(architecture.state_shape)

    def forward(states: NDArray[np.float32]) -> NDArray[np.float32]:
        with torch.inference_mode():
            batch = torch.from_numpy(states.reshape(-1, *architecture.state_shape))
            actions: NDArray[np.float32] = module(batch).numpy()
        return actions[0] if states.ndim == dims else actions

    return forward
