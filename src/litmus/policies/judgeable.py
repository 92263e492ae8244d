"""What an evaluator can judge: anything that maps raw observations to action parameters.

litmus' own policies, an `nn.Module`, a plain function: only what they do in states counts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, Protocol, TypeAlias, runtime_checkable

import torch
from torch import Tensor, nn

from litmus.errors import BadInput, one_line

Judgeable: TypeAlias = Callable[[Tensor], Any]
"""From raw observations [N, *state], a tensor, to action parameters [N, A], a tensor or an array:
the action itself (deterministic), mean and log-std (gaussian), or class probabilities."""


@runtime_checkable
class KnowsStateShape(Protocol):
    state_shape: tuple[int, ...]


def ask(policy: Judgeable, states: Tensor) -> Tensor:  # [K, *state] -> [K, A]
    """What a policy does in raw states; differentiable where the policy is.

    A module is asked on its own device and in the widest dtype of its tensors, anything else in
    float32. Where a policy has a `state_shape`, a state of another shape is an error.
    """
    if isinstance(policy, KnowsStateShape):
        check_state_shape(tuple(policy.state_shape), states)
    try:
        with _as_it_is_used(policy):
            returned = policy(_move_to(policy, states))
        actions = returned if isinstance(returned, Tensor) else torch.as_tensor(returned)
    except BadInput:
        raise
    except Exception as error:
        raise BadInput(
            f"the policy fails on a tensor of states {list(states.shape)}: "
            f"{type(error).__name__}: {one_line(error)}"
        ) from error
    if actions.ndim != 2 or len(actions) != len(states) or not actions.is_floating_point():
        raise BadInput(
            f"for {len(states)} states, the policy must return action parameters "
            f"[{len(states)}, A], not {actions.dtype} {list(actions.shape)}"
        )
    if not actions.isfinite().all():
        raise BadInput("the policy's action parameters are not all finite numbers")
    return actions.to(states.device, torch.get_default_dtype())


def check_state_shape(wanted: tuple[int, ...], states: Tensor) -> None:  # [K, *state]
    """An error that names both shapes; nothing is broadcast."""
    if tuple(states.shape[1:]) != wanted:
        raise BadInput(f"the policy takes states of shape {wanted}, not {tuple(states.shape[1:])}")


@contextlib.contextmanager
def _as_it_is_used(policy: Judgeable) -> Iterator[None]:
    """A module without dropout, and without learning from what it is asked."""
    modules = list(policy.modules()) if isinstance(policy, nn.Module) else []
    in_training = [module for module in modules if module.training]
    for module in in_training:
        module.training = False
    try:
        yield
    finally:
        for module in in_training:
            module.training = True


def _move_to(policy: Judgeable, states: Tensor) -> Tensor:
    tensors: list[Tensor] = []
    if isinstance(policy, nn.Module):
        own = (*policy.parameters(), *policy.buffers())
        tensors = [tensor for tensor in own if tensor.is_floating_point()]
    if not tensors:
        return states.to(torch.float32)
    widest = max(tensors, key=lambda tensor: tensor.dtype.itemsize)
    return states.to(widest.device, widest.dtype)
