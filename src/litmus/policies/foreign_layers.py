"""The perceptron in somebody's `state_dict`: which tensors are its layers, in which order."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
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


def find_layers(where: str, tensors: Mapping[str, Tensor], prefix: str = "") -> list[Layer]:
    """Matrices whose name begins with `prefix`, in the order of the numbers in their names, each
    with the bias beside it; BadInput where they do not follow each other."""
    names = [name for name in tensors if name.startswith(prefix) and tensors[name].ndim == 2]
    layers = []
    for name in sorted(names, key=_natural):
        weight = tensors[name]
        beside = name[: -len("weight")] + "bias" if name.endswith("weight") else ""
        bias = tensors.get(beside)
        if bias is None:
            bias = torch.zeros(len(weight))
        if bias.shape != weight.shape[:1]:
            raise BadInput(f"{where}: '{beside}' is not of the size of '{name}'")
        layers.append(Layer(weight, bias))
    if not layers:
        raise BadInput(f"{where} holds no matrix{f' under {prefix!r}' if prefix else ''}")
    for one, following in pairwise(layers):
        if one.weight.shape[0] != following.weight.shape[1]:
            parts = sorted({name.partition(".")[0] for name in names if "." in name})
            named = f"; {option('prefix')} names the part that acts, of {', '.join(parts)[:200]}"
            raise BadInput(
                f"{where} is not one perceptron: a layer with {one.weight.shape[0]} outputs is "
                f"followed by one with {following.weight.shape[1]} inputs{named if parts else ''}"
            )
    return layers


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
