"""What a run is made of: frozen dataclasses whose field docstrings are the `--help`.

Saved as JSON in the run directory and read back strictly: an unknown key is an error. This module
does not import torch.
"""

from __future__ import annotations

import dataclasses
import numbers
import typing
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self, TypeVar

from litmus.errors import BadInput, suggest

T = TypeVar("T")


def at_least(minimum: float, default: T) -> T:
    """A field with a lower bound."""
    return field(default=default, metadata={"minimum": minimum})


def between(minimum: float, maximum: float, default: T) -> T:
    """A field with both bounds."""
    return field(default=default, metadata={"minimum": minimum, "maximum": maximum})


def above(minimum: float, default: T) -> T:
    """A field with an open lower bound."""
    return field(default=default, metadata={"above": minimum})


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """What every algorithm shares."""

    algorithm: ClassVar[str]

    task: str
    """Gymnasium id, such as Swimmer-v5, or package:Id for an environment of your own."""
    seed: int = between(0, 2**32 - 1, 0)
    """Decides every random number of the run."""
    steps: int = at_least(1, 3_000_000)
    """Environment steps to train for; the run ends with the round that reaches them."""
    workers: int | None = at_least(0, None)
    """Processes that run episodes (default: one a core; 0: only this). Never changes results."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where the evaluator learns; auto takes CUDA where there is a GPU."""

    architecture: str = "mlp"
    """Policy network family."""
    hidden: tuple[int, ...] = at_least(1, (256, 256))
    """Hidden units of each policy layer; none for a linear policy."""
    activation: Literal["tanh", "relu"] = "tanh"
    """Activation of the policy's hidden layers."""
    distribution: Literal["auto", "deterministic", "gaussian", "categorical"] = "auto"
    """Kind of policy; auto: deterministic for continuous actions, categorical for discrete ones."""
    normalize_observations: bool = True
    """Normalise observations with running statistics."""
    survival_bonus: Literal["auto", "keep", "remove"] = "auto"
    """Whether training returns keep the bonus for being alive; auto removes it as in the paper."""

    evaluate_every: int = at_least(0, 10_000)
    """Steps between evaluations of the unperturbed policy; 0 switches them off."""
    evaluate_episodes: int = at_least(1, 10)
    """Episodes of an evaluation."""
    checkpoint_seconds: float = at_least(0, 30.0)
    """Least time between checkpoints; 0 writes one after every round."""
    tensorboard: bool = False
    """Also write TensorBoard event files into the run directory."""

    def __post_init__(self) -> None:
        for spec in dataclasses.fields(self):
            _check_bounds(spec, getattr(self, spec.name))

    def to_dict(self) -> dict[str, Any]:
        values = {
            key: list(value) if isinstance(value, tuple) else value
            for key, value in dataclasses.asdict(self).items()
        }
        return {"algorithm": self.algorithm, **values}

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """Build from plain values; unknown keys and values of a wrong type are errors."""
        names = {spec.name for spec in dataclasses.fields(cls)}
        for key in values:
            if key not in names:
                raise BadInput(f"unknown option '{key}' for {cls.algorithm}{suggest(key, names)}")
        if "task" not in values:
            raise BadInput("no task given; name one with --task, such as --task Swimmer-v5")
        hints = typing.get_type_hints(cls)
        return cls(**{key: check_type(key, value, hints[key]) for key, value in values.items()})


@dataclass(frozen=True, kw_only=True)
class ActorEvaluatorConfig(TrainConfig):
    """Algorithm 1, whichever evaluator it uses."""

    round_size: int = at_least(1, 16)
    """Episodes collected from one θ before the next updates; 1 is the paper's schedule."""
    overlap: bool = True
    """Simulate the next round while this one is learned from; θ then lags by one round."""
    noise: float = above(0, 0.05)
    """Standard deviation σ of the perturbation of policy parameters."""
    evaluator_hidden: tuple[int, ...] = at_least(1, (256, 256))
    """Hidden units of each layer of the evaluator's head."""
    policy_lr: float = above(0, 2e-6)
    """Adam's learning rate for the policy."""
    evaluator_lr: float = above(0, 5e-3)
    """Adam's learning rate for the evaluator."""
    policy_updates: int = at_least(0, 5)
    """Policy updates per episode."""
    evaluator_updates: int = at_least(1, 5)
    """Evaluator updates per episode."""
    batch_size: int = at_least(1, 16)
    """Policies in a batch of the evaluator."""
    buffer_size: int = at_least(1, 10_000)
    """Policies kept for learning."""
    recency: float = at_least(0, 1.1)
    """Exponent k of the sampling weight 1/x^k, x episodes after storing; 0 is uniform."""


@dataclass(frozen=True, kw_only=True)
class PssvfConfig(ActorEvaluatorConfig):
    """PSSVF with policy fingerprinting: the evaluator asks what a policy does in probing states."""

    algorithm: ClassVar[str] = "pssvf"

    probing_states: int = at_least(1, 200)
    """Number K of learned probing states."""
    probing_low: float = 0.0
    """Probing states start uniform between this and --probing-high, in normalised coordinates."""
    probing_high: float = 1.0
    """Upper end of that range."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.probing_high < self.probing_low:
            raise BadInput(
                f"--probing-high must be at least --probing-low, {self.probing_low}, "
                f"not {self.probing_high}"
            )


@dataclass(frozen=True, kw_only=True)
class VanillaPssvfConfig(ActorEvaluatorConfig):
    """Vanilla PSSVF: the evaluator reads flat policy parameters."""

    algorithm: ClassVar[str] = "vanilla-pssvf"


def check_type(name: str, value: Any, hint: Any) -> Any:
    """Return `value` as the type that a field declares, or say what it should be."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        if value not in arguments:
            raise BadInput(f"{option(name)} cannot be '{value}'{suggest(str(value), arguments)}")
        return value
    if type(None) in arguments:
        return None if value is None else check_type(name, value, arguments[0])
    if origin is tuple:
        if not isinstance(value, list | tuple):
            raise BadInput(f"{option(name)} takes whole numbers, not '{value}'")
        return tuple(check_type(name, item, arguments[0]) for item in value)
    if not isinstance(value, bool):  # numpy's numbers are welcome
        if hint is int and isinstance(value, numbers.Integral):
            return int(value)
        if hint is float and isinstance(value, numbers.Real):
            try:
                return float(value)
            except OverflowError as error:
                raise BadInput(f"{option(name)} must be a finite number") from error
    if not isinstance(value, hint) or (hint is int and isinstance(value, bool)):
        words = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
        raise BadInput(f"{option(name)} takes {words[hint]}, not '{value}'")
    return value


def option(name: str) -> str:
    """The command-line spelling of a field."""
    return "--" + name.replace("_", "-")


def _check_bounds(spec: dataclasses.Field[Any], value: Any) -> None:
    values = value if isinstance(value, tuple) else (value,)
    for number in values:
        if isinstance(number, float) and number - number != 0:
            raise BadInput(f"{option(spec.name)} must be a finite number, not {number}")
        if number is None or isinstance(number, bool | str):
            continue
        if "minimum" in spec.metadata and number < spec.metadata["minimum"]:
            raise BadInput(
                f"{option(spec.name)} must be at least {spec.metadata['minimum']}, not {number}"
            )
        if "maximum" in spec.metadata and number > spec.metadata["maximum"]:
            raise BadInput(
                f"{option(spec.name)} must be at most {spec.metadata['maximum']}, not {number}"
            )
        if "above" in spec.metadata and number <= spec.metadata["above"]:
            raise BadInput(
                f"{option(spec.name)} must be above {spec.metadata['above']}, not {number}"
            )
