"""One policy with its normaliser: a function of raw observations that can be saved and loaded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from litmus.errors import BadInput
from litmus.files import load_module, save_module
from litmus.policies.architecture import (
    Architecture,
    architecture_from_json,
    architecture_to_json,
)
from litmus.policies.building import building_alone
from litmus.policies.normalizer import Normalizer
from litmus.policies.population import flatten, load_flat

FORMAT = 2


class Policy(nn.Module):
    """From raw observations [N, *state] to action parameters [N, A]."""

    mean: Tensor
    std: Tensor

    def __init__(
        self, architecture: Architecture, flat_params: Tensor, normalizer: Normalizer
    ) -> None:
        super().__init__()
        self.architecture = architecture
        with building_alone():  # what it draws is written over
            self.network = architecture.build()
        load_flat(self.network, flat_params)
        shape = architecture.state_shape
        self.register_buffer("mean", torch.from_numpy(normalizer.mean.reshape(shape).copy()))
        self.register_buffer("std", torch.from_numpy(normalizer.std.reshape(shape).copy()))

    @property
    def state_shape(self) -> tuple[int, ...]:
        return self.architecture.state_shape

    @property
    def flat_params(self) -> Tensor:  # [P]
        return flatten(self.network)

    @property
    def normalizer(self) -> Normalizer:
        return Normalizer(self.mean.cpu().numpy().ravel(), self.std.cpu().numpy().ravel())

    def forward(self, observations: Tensor) -> Tensor:
        is_traced: bool = torch.jit.is_tracing()  # type: ignore[attr-defined,no-untyped-call]
        if not is_traced and tuple(observations.shape[1:]) != self.state_shape:
            raise BadInput(
                f"the policy takes a batch of observations {['N', *self.state_shape]}, "
                f"not {list(observations.shape)}"
            )
        normalized = ((observations - self.mean) / self.std).to(self._dtype)
        parameters: Tensor = self.network(normalized)
        return parameters

    def act(
        self,
        observation: Any,
        generator: np.random.Generator | None = None,
        *,
        greedy: bool = False,
    ) -> Any:
        """Return an action for one raw observation: exactly what the environment's `step` takes.

        A stochastic policy draws it, from `generator` if there is one; with `greedy` it is the
        likeliest instead (the most probable choice, the mean).
        """
        head, given = self.architecture.head, np.asarray(observation, dtype=np.float64)
        if given.shape != self.state_shape:
            raise BadInput(
                f"the policy takes an observation of shape {self.state_shape}, not {given.shape}"
            )
        with torch.no_grad():
            batch = torch.as_tensor(given).unsqueeze(0).to(self.mean.device)
            parameters = self(batch)[0].cpu().numpy()
        if greedy:
            return head.choose_likeliest(parameters)
        return head.choose(parameters, generator or np.random.default_rng())

    def save(self, path: Path | str) -> None:
        """Write `path` (safetensors) and the JSON beside it."""
        description = {"format": FORMAT, "architecture": architecture_to_json(self.architecture)}
        save_module(Path(path), self, description)

    @staticmethod
    def load(path: Path | str) -> Policy:
        """Read a policy that `save` wrote."""

        def build(description: dict[str, Any], tensors: Mapping[str, Tensor]) -> Policy:
            architecture = architecture_from_json(description["architecture"])
            if architecture.state_shape != tuple(tensors["mean"].shape):
                raise BadInput(f"{path} is not a policy that fits its description: other states")
            nothing = torch.zeros(architecture.num_params)
            return Policy(architecture, nothing, Normalizer.identity(architecture.state_shape))

        return load_module(Path(path), "a policy", FORMAT, build)

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.network.parameters()).dtype
