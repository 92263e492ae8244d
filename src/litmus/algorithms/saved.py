"""What a checkpoint holds of an object, described once: the attributes that it names.

Saving and loading walk the same description, so that they cannot drift apart. What comes out is
nested mappings of tensors and plain values, as `runs.checkpoint` writes them.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.optim import Optimizer

Saved = dict[str, Any]


class SavesAttributes:
    """`saved` names the attributes; the class annotates those that may be None."""

    saved: ClassVar[tuple[str, ...]]

    def save_attributes(self) -> Saved:
        typing.get_type_hints(type(self))  # what cannot be loaded is not saved either
        return {name: save(getattr(self, name)) for name in self.saved}

    def load_attributes(self, state: Mapping[str, Any]) -> None:
        hints = typing.get_type_hints(type(self))
        for name in self.saved:
            now = getattr(self, name)
            setattr(self, name, load(now, state[name], hints.get(name, type(now))))


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
        return {"state": by_parameter, "groups": state["param_groups"]}
    if dataclasses.is_dataclass(value):
        return {spec.name: save(getattr(value, spec.name)) for spec in dataclasses.fields(value)}
    return value


def load(now: Any, saved: Any, hint: Any) -> Any:
    """What `now` was when it was saved: itself, filled again, where it is a tensor, a module or an
    optimiser; else a new value of the type `hint`."""
    if isinstance(now, Tensor):
        with torch.no_grad():
            return now.copy_(saved)
    if isinstance(now, nn.Module):
        now.load_state_dict(saved)
        return now
    if isinstance(now, Optimizer):
        by_parameter = {int(number): dict(of) for number, of in saved["state"].items()}
        now.load_state_dict({"state": by_parameter, "param_groups": saved["groups"]})
        return now
    return build(hint, saved)


def build(hint: Any, saved: Any) -> Any:
    """A value of this type: a dataclass, an array, or a plain value."""
    if saved is None:
        return None
    kinds = [kind for kind in typing.get_args(hint) if dataclasses.is_dataclass(kind)]
    kind = kinds[0] if kinds else hint
    if dataclasses.is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        return kind(  # type: ignore[operator]
            **{name: build(hints[name], value) for name, value in saved.items()}
        )
    return saved.numpy().copy() if isinstance(saved, Tensor) else saved
