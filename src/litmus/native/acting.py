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
        head, actor = forward.head, forward.actor
        self._observation = np.empty(mean.shape)
        self._kept = (np.ascontiguousarray(mean), np.ascontiguousarray(inverse_std), forward)
        actor.mean, actor.inverse_std = map(find_address, self._kept[:2])
        actor.distribution = DISTRIBUTIONS[head.distribution]
        self.draws: Draws | None = None
        self.num_observed, self.num_actions = mean.size, 0
        self._first_choice = 0
        if isinstance(head.actions, DiscreteActions):
            self.draws = Draws(generator.random)
            self._first_choice = head.actions.start
        else:
            self.num_actions = head.actions.size
        if head.distribution == "gaussian":
            count = self.num_actions
            self.draws = Draws(
                lambda steps: generator.standard_normal((steps, count), dtype=np.float32)
            )
            actor.half_range = find_address(head.half_range)
            actor.low, actor.high = find_address(head.low), find_address(head.high)
        self._action = forward.outputs[: self.num_actions]
        self._arrange, self._choose = head.arrange, forward.library.choose
        self.actor = ctypes.byref(actor)
        self._observation_at = find_address(self._observation)

    def act(self, observation: NDArray[np.floating[Any]]) -> Any:
        self._observation[...] = observation
        drawn = None if self.draws is None else self.draws.take()
        choice = self._choose(self.actor, self._observation_at, drawn)
        if not self.num_actions:
            return self._first_choice + choice
        return self._arrange(self._action.copy())


class Draws:
    """Random numbers of a policy, drawn ahead of its steps and used in the order in which its
    generator gives them: a step gets the same ones as if they had been drawn for it alone."""

    def __init__(self, draw: Callable[[int], NDArray[Any]]) -> None:
        self._draw = draw
        self._drawn = draw(0)
        self._place = self._used = 0

    def reserve(self, steps: int) -> int:
        """Where the numbers of the next so many steps lie; none of them is used yet."""
        left = len(self._drawn) - self._used
        if left < steps:
            ahead = self._draw(max(steps - left, DRAWN_AHEAD))
            self._drawn = np.concatenate([self._drawn[self._used :], ahead])
            self._used, self._place = 0, find_address(self._drawn)
        return self._place + self._used * self._drawn.strides[0]

    def use(self, steps: int) -> None:
        self._used += steps

    def take(self) -> int:
        """Where the numbers of this step lie."""
        place = self.reserve(1)
        self._used += 1
        return place


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
