"""What a checkpoint holds of an object, described once: the attributes that it names.

Saving and loading walk the same description, so that they cannot drift apart. What comes out is
nested mappings of tensors and plain values, as `runs.checkpoint` writes them.
"""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Iterable, Mapping
from types import NoneType
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Adam, Optimizer

from litmus.rollouts.base import Round


class SavesAttributes:
    """Three parts of the contract `Algorithm`; a class that has more to save, restore or close
    does it around these.

    `saved` names the attributes; the class annotates those that may be None.
    """

    saved: ClassVar[tuple[str, ...]]

    def state_dict(self) -> Mapping[str, Any]:
        typing.get_type_hints(type(self))  # what cannot be loaded is not saved either
        return {name: save(getattr(self, name)) for name in self.saved}

    def load_state_dict(self, state: Mapping[str, Any], rounds: Iterable[Round]) -> None:
        hints = typing.get_type_hints(type(self))
        for name in self.saved:
            now = getattr(self, name)
            setattr(self, name, load(now, state[name], hints.get(name, type(now))))

    def close(self) -> None:
        pass


def save(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.detach()
    if isinstance(value, np.ndarray):
        return torch.from_numpy(value)
    if isinstance(value, nn.Module):
        return dict(value.state_dict())
    if isinstance(value, Optimizer):
        state = value.state_dict()
        by_parameter = {str(number): dict(of) for number, of in state["state"].items()}
        groups = [{**group, "lr": float(group["lr"])} for group in state["param_groups"]]
        return {"state": by_parameter, "groups": groups}
    if dataclasses.is_dataclass(value):
        return {spec.name: save(getattr(value, spec.name)) for spec in dataclasses.fields(value)}
    return value


def load(now: Any, saved: Any, hint: Any) -> Any:
    """What `now` was when it was saved: itself, filled again, where it is a tensor, a module or an
    optimiser; else a new value of the type `hint`. What does not fit is a ValueError."""
    if isinstance(now, Tensor):
        check_like(saved, now)
        with torch.no_grad():
            return now.copy_(saved)
    if isinstance(now, nn.Module):
        now.load_state_dict(saved)
        return now
    if isinstance(now, Optimizer):
        by_parameter = {int(number): dict(of) for number, of in saved["state"].items()}
        _check_optimizer(now, by_parameter, saved["groups"])
        rates = [group["lr"] for group in now.param_groups]
        now.load_state_dict({"state": by_parameter, "param_groups": saved["groups"]})
        for group, rate in zip(now.param_groups, rates, strict=True):
            if isinstance(rate, Tensor):  # a CUDA graph reads it where it lies
                group["lr"] = rate.fill_(group["lr"])
        return now
    built = build(hint, saved)
    _check_arrays(now, built)
    return built


def check_like(saved: Any, now: Tensor) -> None:
    """Kernels write through addresses: a tensor of another shape must not get near them."""
    if not isinstance(saved, Tensor) or saved.shape != now.shape or saved.dtype != now.dtype:
        found = tuple(saved.shape) if isinstance(saved, Tensor) else saved
        raise ValueError(f"a tensor of shape {tuple(now.shape)} was expected, not {found}")


def _check_optimizer(
    optimizer: Optimizer, by_parameter: dict[int, dict[str, Any]], groups: Any
) -> None:
    parameters = [one for group in optimizer.param_groups for one in group["params"]]
    expected = optimizer.state_dict()["param_groups"]
    names = [group.keys() for group in expected]
    if not by_parameter.keys() <= set(range(len(parameters))):
        raise ValueError("the optimiser's state is of other parameters")
    if [group.keys() for group in groups] != names or any(
        one["params"] != other["params"] for one, other in zip(groups, expected, strict=True)
    ):
        raise ValueError("the optimiser has other parameters")
    for number, of in by_parameter.items():
        if isinstance(optimizer, Adam) and of.keys() != {"step", "exp_avg", "exp_avg_sq"}:
            raise ValueError("the optimiser's state is not Adam's")
        for name, value in of.items():
            is_count = name == "step"
            if isinstance(value, Tensor) or is_count:
                like = torch.zeros((), dtype=torch.float32) if is_count else parameters[number]
                check_like(value, like)


def _check_arrays(now: Any, built: Any) -> None:
    """Arrays keep their shapes, wherever in a dataclass they are."""
    if isinstance(now, np.ndarray) and (now.shape, now.dtype) != (built.shape, built.dtype):
        raise ValueError(f"an array of shape {now.shape} was expected, not {built.shape}")
    if dataclasses.is_dataclass(now) and not isinstance(now, type):
        for spec in dataclasses.fields(now):
            _check_arrays(getattr(now, spec.name), getattr(built, spec.name))


PLAIN: dict[Any, tuple[type, ...]] = {
    int: (int,),
    float: (int, float),
    str: (str,),
    bool: (bool,),
    dict: (dict,),
}
MOST = 2**53
"""No count of ours gets there."""


def _list_kinds(hint: Any) -> list[Any]:
    """The types that a hint allows, without their parameters."""
    is_union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    return [
        typing.get_origin(one) or one for one in (typing.get_args(hint) if is_union else [hint])
    ]


def _check_plain(hint: Any, saved: Any) -> None:
    """TypeError or ValueError where a value is not what the hint says; other hints say nothing."""
    kinds = _list_kinds(hint)
    if not all(kind in PLAIN or kind in (np.ndarray, NoneType) for kind in kinds):
        return
    fitting = [one for kind in kinds for one in PLAIN.get(kind, ())]
    if saved is None:
        is_fitting = NoneType in kinds
    elif isinstance(saved, Tensor):
        is_fitting = np.ndarray in kinds
    else:
        is_fitting = isinstance(saved, tuple(fitting))
        is_fitting &= bool in fitting or not isinstance(saved, bool)
    if not is_fitting:
        raise TypeError(f"{type(saved).__name__} where {hint} was expected")
    if int in kinds and isinstance(saved, int) and not -1 <= saved < MOST:
        raise ValueError(f"{saved} is no count")


def build(hint: Any, saved: Any) -> Any:
    """A value of this type: a dataclass, an array, or a plain value."""
    if saved is None:
        if dataclasses.is_dataclass(hint):
            raise TypeError(f"nothing where {hint} was expected")
        _check_plain(hint, saved)
        return None
    kinds = [kind for kind in typing.get_args(hint) if dataclasses.is_dataclass(kind)]
    kind = kinds[0] if kinds else hint
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        if set(saved) != {spec.name for spec in dataclasses.fields(kind)}:
            raise TypeError(f"other fields than those of {kind}")
        return kind(  # type: ignore[operator]
            **{name: build(hints[name], value) for name, value in saved.items()}
        )
    _check_plain(hint, saved)
    return saved.numpy().copy() if isinstance(saved, Tensor) else saved
