"""A perceptron that acts, through the compiled kernels.

It reads the flat parameters where they lie; nothing is rearranged before the first step. One call
does all that a step needs: normalising, the network, drawing an action.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from litmus.native.library import Actor, Library, Shape, find_address, find_library
from litmus.native.squashing import DescribedSquashing, describe_squashing
from litmus.policies.actions import ActionHead
from litmus.policies.rows import MlpShape
from litmus.tasks.base import DiscreteActions

Forward = Callable[[NDArray[np.float32]], NDArray[np.float32]]

DISTRIBUTIONS = {"deterministic": 0, "gaussian": 1, "categorical": 2}
DRAWN_AHEAD = 64
"""Steps whose random numbers are drawn at once."""


def compile_forward(
    state_shape: tuple[int, ...],
    shape: MlpShape,
    head: ActionHead,
    flat_params: NDArray[np.float32],
    otherwise: Callable[[], Forward],
) -> Forward | None:
    """The forward pass in the kernels, where there are any; batches take what `otherwise` makes."""
    library = find_library()
    if library is None:
        return None
    return CompiledMlp(library, state_shape, shape, head, flat_params, otherwise)


class _Sizes(NamedTuple):
    """What all policies of one architecture share."""

    shape: Shape
    squashing: DescribedSquashing
    inputs: int
    scratch: int


@lru_cache(maxsize=16)
def _find_sizes(shape: MlpShape, head: ActionHead) -> _Sizes:
    library = find_library()
    assert library is not None
    described = Shape.of(shape.layer_sizes, shape.activation)
    squashing = describe_squashing(head.size, head.squashing)
    return _Sizes(
        described, squashing, shape.layer_sizes[0][0], int(library.scratch_size(described))
    )


class CompiledMlp:
    """From a normalised state to action parameters, as `NumpyMlp`."""

    def __init__(
        self,
        library: Library,
        state_shape: tuple[int, ...],
        shape: MlpShape,
        head: ActionHead,
        flat_params: NDArray[np.float32],
        otherwise: Callable[[], Forward],
    ) -> None:
        self.library, self.head, self.otherwise = library, head, otherwise
        self.params = np.ascontiguousarray(flat_params, dtype=np.float32)
        if self.params.shape != (shape.num_params,):
            raise ValueError(f"{shape} does not have {self.params.shape} parameters")
        self.sizes = sizes = _find_sizes(shape, head)
        place = sizes.scratch + sizes.inputs
        self._memory = np.empty(place + head.size + 16, dtype=np.float32)
        self._inputs = self._memory[sizes.scratch : place].reshape(state_shape)
        self.outputs = self._memory[place : place + head.size]
        start = find_address(self._memory)
        self.actor = Actor(
            shape=sizes.shape,
            params=find_address(self.params),
            squashing=sizes.squashing.call,
            scratch=start,
            inputs=start + 4 * sizes.scratch,
            outputs=start + 4 * place,
        )

    def __call__(self, states: NDArray[np.float32]) -> NDArray[np.float32]:
        if states.ndim != self._inputs.ndim:
            return self.otherwise()(states)
        self._inputs[...] = states
        self.library.act(self.actor)
        return self.outputs.copy()


class CompiledPolicy:
    """A policy of raw observations, in the hands of the kernels."""

    def __init__(
        self,
        forward: CompiledMlp,
        mean: NDArray[np.float64],
        inverse_std: NDArray[np.float64],
        generator: np.random.Generator,
    ) -> None:
        head = forward.head
        self._observation = np.empty(mean.shape)
        mean, inverse_std = (np.ascontiguousarray(x, np.float64) for x in (mean, inverse_std))
        self._kept = (mean, inverse_std, forward)
        self._actor = actor = forward.actor
        actor.mean, actor.inverse_std = find_address(mean), find_address(inverse_std)
        actor.distribution = DISTRIBUTIONS[head.distribution]
        self.num_observed, self.num_actions, self._first_choice = mean.size, 0, 0
        if isinstance(head.actions, DiscreteActions):
            self._first_choice = head.actions.start
        else:
            self.num_actions = head.actions.size
        if head.distribution == "gaussian":
            actor.half_range = find_address(head.half_range)
            actor.low, actor.high = find_address(head.low), find_address(head.high)
        self._generator = generator
        self._drawn: NDArray[Any] = np.empty(0)
        self._action = forward.outputs[: self.num_actions]
        self._arrange, self._choose = head.arrange, forward.library.choose
        self.actor = ctypes.byref(actor)
        self._observation_at = find_address(self._observation)

    def act(self, observation: NDArray[np.floating[Any]]) -> Any:
        self._observation[...] = observation
        choice = self._choose(self.actor, self._observation_at)
        if choice < 0:
            self.draw_ahead(DRAWN_AHEAD)
            choice = self._choose(self.actor, self._observation_at)
        if not self.num_actions:
            return self._first_choice + choice
        return self._arrange(self._action.copy())

    @property
    def is_stochastic(self) -> bool:
        return bool(self._actor.distribution != DISTRIBUTIONS["deterministic"])

    def draw_ahead(self, steps: int) -> None:
        """Have the random numbers of so many steps at hand.

        They are used in the order in which the generator gives them: a step gets the same ones as
        if they had been drawn for it alone.
        """
        actor = self._actor
        missing = steps - actor.steps_drawn
        if not self.is_stochastic or missing <= 0:
            return
        if self.num_actions:
            sizes = (missing, self.num_actions)
            drawn: NDArray[Any] = self._generator.standard_normal(sizes, dtype=np.float32)
        else:
            drawn = self._generator.random(missing)
        if actor.steps_drawn:
            drawn = np.concatenate([self._drawn[-actor.steps_drawn :], drawn])
        self._drawn, actor.drawn, actor.steps_drawn = drawn, find_address(drawn), len(drawn)


def compile_policy(
    forward: object,
    mean: NDArray[np.float64],
    inverse_std: NDArray[np.float64],
    generator: np.random.Generator,
) -> CompiledPolicy | None:
    """A policy of raw observations; None where the kernels cannot run it."""
    if not isinstance(forward, CompiledMlp):
        return None
    return CompiledPolicy(forward, mean, inverse_std, generator)
