"""The perceptron in somebody's `state_dict`: which tensors are its layers, in which order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations, pairwise
from typing import Any, get_args

import numpy as np
import torch
from torch import Tensor

from litmus.errors import BadInput, option, suggest
from litmus.policies.actions import ActionHead
from litmus.policies.architecture import Architecture, make_architecture
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.rows import Activation, ForeignActivation, Output
from litmus.tasks.base import Actions, DiscreteActions


@dataclass(frozen=True)
class Layer:
    weight: Tensor  # [outputs, inputs]
    bias: Tensor  # [outputs]


@dataclass(frozen=True)
class Spaces:
    """What a task shows and takes."""

    state_shape: tuple[int, ...]
    actions: Actions

    @property
    def state_size(self) -> int:
        return int(np.prod(self.state_shape))

    @property
    def action_size(self) -> int:
        is_discrete = isinstance(self.actions, DiscreteActions)
        return self.actions.count if is_discrete else self.actions.size  # type: ignore[union-attr]


@dataclass(frozen=True)
class ObservationStatistics:
    """What a policy does to observations before its network sees them."""

    normalizer: Normalizer
    clip: float = 0.0
    """Normalised ones are clipped to ± this; 0: they are not."""


SPREAD = re.compile(r"(^|[._])(log_?std|action_scale|action_bias)$")
"""What is kept beside a perceptron and does not change its likeliest action: how widely actions are
drawn, and a task's bounds."""


def find_layers(
    where: str, tensors: Mapping[str, Tensor], prefix: str = "", *, is_in_order: bool = True
) -> list[Layer]:
    """Matrices whose name begins with `prefix`, each with the bias beside it; BadInput where they
    do not follow each other, or where there is anything else. They come as they stand in the file
    if that is the order they were made in, else by the numbers in their names."""
    own = {name: tensors[name] for name in tensors if name.startswith(prefix)}
    names = [name for name, one in own.items() if one.ndim == 2 and _end(name) == "weight"]
    if not names:
        raise BadInput(
            f"{where} holds no matrix{f' under {prefix!r}' if prefix else ''} whose name ends in "
            "'weight'"
        )
    if not is_in_order:
        names.sort(key=_natural)
        _refuse_unordered(where, own, names)
    layers = [_find_layer(where, own, name) for name in names]
    parts = sorted({name.partition(".")[0] for name in own if "." in name})
    named = f"; {option('prefix')} names the part that acts, of {', '.join(parts)[:200]}"
    for one, following in pairwise(layers):
        if one.weight.shape[0] != following.weight.shape[1]:
            raise BadInput(
                f"{where} is not one perceptron: a layer with {one.weight.shape[0]} outputs is "
                f"followed by one with {following.weight.shape[1]} inputs{named if parts else ''}"
            )
    known = {*names, *map(_beside, names)}
    if odd := [name for name in own if name not in known and not SPREAD.search(name)]:
        raise BadInput(
            f"{where} is not a plain perceptron: it also holds '{odd[0]}'"
            f"{named if len(parts) > 1 else ''}"
        )
    return layers


def _find_layer(where: str, tensors: Mapping[str, Tensor], name: str) -> Layer:
    weight, beside = tensors[name], _beside(name)
    bias = tensors.get(beside)
    if bias is None:
        bias = torch.zeros(len(weight))
    if bias.shape != weight.shape[:1]:
        raise BadInput(f"{where}: '{beside}' is not of the size of '{name}'")
    return Layer(weight, bias)


def _refuse_unordered(where: str, tensors: Mapping[str, Tensor], names: Sequence[str]) -> None:
    """Layers of one shape could change places unless numbers say which is first."""
    for one, other in combinations(names, 2):
        is_numbered = re.sub(r"\d+", "", one) == re.sub(r"\d+", "", other)
        if tensors[one].shape == tensors[other].shape and not is_numbered:
            raise BadInput(
                f"{where} does not say which of '{one}' and '{other}' is first: number the layers "
                "in their names"
            )


def _beside(name: str) -> str:
    return name.removesuffix("weight") + "bias"


def _end(name: str) -> str:
    return name.rpartition(".")[2]


def build_policy(
    where: str,
    layers: Sequence[Layer],
    spaces: Spaces,
    activation: str,
    output: str,
    statistics: ObservationStatistics | None = None,
) -> Policy:
    """The policy of these layers, as litmus' own architecture where that can be."""
    inputs, outputs = layers[0].weight.shape[1], layers[-1].weight.shape[0]
    if (inputs, outputs) != (spaces.state_size, spaces.action_size):
        raise BadInput(
            f"{where} takes {inputs} numbers and puts out {outputs}, and the task shows "
            f"{spaces.state_size} and takes {spaces.action_size}"
        )
    clip = 0.0 if statistics is None else statistics.clip
    hidden = tuple(len(layer.bias) for layer in layers[:-1])
    architecture = choose_architecture(spaces, hidden, activation, output, clip)
    flat_params = torch.cat(
        [part.reshape(-1) for layer in layers for part in (layer.weight, layer.bias)]
    )
    own = statistics.normalizer if statistics else Normalizer.identity(spaces.state_shape)
    if own.mean.size != spaces.state_size:
        raise BadInput(
            f"the normaliser of {where} is for {own.mean.size} numbers, and the task shows "
            f"{spaces.state_size}"
        )
    return Policy(architecture, flat_params, own)


def choose_architecture(
    spaces: Spaces, hidden: tuple[int, ...], activation: str, output: str, clip: float = 0.0
) -> Architecture:
    head = ActionHead.for_task("auto", spaces.actions)
    _check_choice("activation", activation, get_args(ForeignActivation))
    _check_choice("output", output, get_args(Output))
    make = partial(make_architecture, state_shape=spaces.state_shape, head=head)
    options: dict[str, Any] = {"hidden": hidden, "activation": activation}
    if isinstance(spaces.actions, DiscreteActions):
        fits = output == "softmax"
    else:
        fits = output == "tanh" and bool(head.bounded.all())
    if fits and not clip and activation in get_args(Activation):
        return make("mlp", **options)
    return make("foreign-mlp", **options, output=output, observation_clip=clip)


def _check_choice(name: str, value: str, choices: Sequence[str]) -> None:
    if value not in choices:
        raise BadInput(f"unknown {option(name)} '{value}'{suggest(value, choices)}")


def _natural(name: str) -> list[tuple[int, str]]:
    """'layers.10' after 'layers.9'."""
    parts = re.split(r"(\d+)", name)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]
