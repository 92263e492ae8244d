"""Any file with a policy in it: litmus' own, a `state_dict`, safetensors, Stable-Baselines3's.

Nothing in a file is executed. What a file does not say (activation, what becomes of the outputs)
the user must: a guess would be another policy.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput, one_line, option
from litmus.files import read_json
from litmus.policies.foreign_layers import (
    Layer,
    ObservationStatistics,
    Spaces,
    build_policy,
    find_layers,
)
from litmus.policies.foreign_tensors import (
    is_zip,
    open_zip,
    read_bytes,
    read_safetensors,
    read_torch,
)
from litmus.policies.normalizer import Normalizer
from litmus.policies.policy import Policy
from litmus.policies.sb3 import is_sb3, read_sb3
from litmus.tasks.base import DiscreteActions

DEFAULT_EPSILON = 1e-8


@dataclass(frozen=True)
class Reading:
    """What a file of tensors does not say itself."""

    activation: str | None = None
    output: str | None = None
    prefix: str = ""
    """Of the names of the tensors that act."""
    normalizer: str | None = None
    """Path of a JSON or npz file with `mean` and `std` or `var`."""


@dataclass(frozen=True)
class FoundPolicy:
    policy: Policy
    algorithm: str
    """That it was trained with, as far as the file tells; else 'unknown'."""


def read_policy(path: Path, spaces: Spaces | None, reading: Reading | None = None) -> FoundPolicy:
    """A policy from any file that litmus can read. `spaces` are the task's; only litmus' own files
    do without."""
    reading = reading or Reading()
    if is_own(path):
        if reading.normalizer is not None:
            raise BadInput(
                f"{path} has a normaliser of its own: {option('normalizer')} is for files of "
                "tensors alone"
            )
        return FoundPolicy(Policy.load(path), "unknown")
    if spaces is None:
        raise BadInput(f"{path} does not say what task it is for; name it with {option('task')}")
    data = read_bytes(path)
    statistics = None if reading.normalizer is None else read_statistics(Path(reading.normalizer))
    if is_zip(path, data):
        archive = open_zip(path, data)
        if is_sb3(archive):
            return FoundPolicy(*read_sb3(path, archive, spaces, statistics))
    is_in_order = path.suffix != ".safetensors"  # these are sorted
    tensors = read_torch(path, data) if is_in_order else read_safetensors(path, data)
    layers = find_layers(str(path), tensors, reading.prefix, is_in_order=is_in_order)
    policy = _build(path, layers, spaces, reading, statistics)
    return FoundPolicy(policy, "unknown")


def is_own(path: Path) -> bool:
    """Whether litmus wrote it: only then is there a description beside it."""
    beside = path.with_suffix(".json")
    if path.suffix != ".safetensors" or not beside.is_file():
        return False
    try:
        return "architecture" in read_json(beside)
    except BadInput:
        return True  # damaged: whoever reads it says how


def read_statistics(path: Path) -> ObservationStatistics:
    """Mean and spread of observations: `mean`, and `std` or `var` (to which `epsilon` is added);
    `clip` where normalised observations are clipped."""
    values = _read_npz(path) if path.suffix == ".npz" else read_json(path)
    try:
        mean = np.asarray(values["mean"], np.float64).ravel()
        if "std" in values:
            std = np.asarray(values["std"], np.float64).ravel()
        else:
            epsilon = float(values.get("epsilon", DEFAULT_EPSILON))
            std = np.sqrt(np.asarray(values["var"], np.float64).ravel() + epsilon)
        clip = float(values.get("clip", 0.0))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadInput(
            f"{path} must hold 'mean', and 'std' or 'var', as numbers: {one_line(error)}"
        ) from error
    if mean.shape != std.shape or not mean.size:
        raise BadInput(f"{path}: mean and spread must be of one size")
    if not (np.isfinite(mean).all() and np.isfinite(std).all() and (std > 0).all()):
        raise BadInput(f"{path}: mean must be finite, and spread above 0")
    if not clip >= 0:
        raise BadInput(f"{path}: 'clip' must be 0 or more, not {clip}")
    return ObservationStatistics(Normalizer(mean, std), clip)


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    data = read_bytes(path)
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as found:
            return {name: found[name] for name in found.files[:16]}
    except Exception as error:  # numpy's reader meets whatever bytes there are
        raise BadInput(f"{path} is not an npz file of numbers: {one_line(error)}") from error


def _build(
    path: Path,
    layers: Sequence[Layer],
    spaces: Spaces,
    reading: Reading,
    statistics: ObservationStatistics | None,
) -> Policy:
    if len(layers) > 1 and reading.activation is None:
        raise BadInput(
            f"{path} holds tensors alone; say what its hidden layers do with "
            f"{option('activation', 'tanh')}, or relu, elu, leaky-relu, silu"
        )
    output = reading.output
    if output is None and isinstance(spaces.actions, DiscreteActions):
        output = "softmax"
    if output is None:
        raise BadInput(
            f"{path} holds tensors alone; say what becomes of its outputs with "
            f"{option('output', 'tanh')} (squashed to the bounds) or {option('output', 'clip')}"
        )
    return build_policy(str(path), layers, spaces, reading.activation or "tanh", output, statistics)
