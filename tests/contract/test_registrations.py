"""What a script registers with Gymnasium reaches the workers, or the run says why it is serial."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec, WrapperSpec, registry
from harness import assert_same_result, run_python, train_tiny
from toys import ScaledWalk, ShapedWalk

from litmus.tasks import make_task_spec
from litmus.tasks.registrations import describe_registration, register_again

PAY_MORE = WrapperSpec("PayMore", "toys:PayMore", {"amount": 2.5})

TRAVELS: dict[str, dict[str, Any]] = {
    "a class": {"entry_point": ScaledWalk},
    "a class with options": {"entry_point": ScaledWalk, "kwargs": {"scale": 3.0, "length": 6}},
    "options that are tuples": {"entry_point": ShapedWalk, "kwargs": {"sizes": (3, 4)}},
    "a name with options": {"entry_point": "toys:ScaledWalk", "kwargs": {"scale": -1.0}},
    "a wrapper": {"entry_point": ScaledWalk, "additional_wrappers": (PAY_MORE,)},
    "a time limit": {"entry_point": "toys:ScaledWalk", "max_episode_steps": 2},
    "one of Gymnasium's": {
        "entry_point": "gymnasium.envs.classic_control:PendulumEnv",
        "kwargs": {"g": 1.0},
        "max_episode_steps": 3,
    },
}

STAYS: dict[str, tuple[dict[str, Any], str]] = {
    "a lambda": ({"entry_point": lambda: ScaledWalk()}, "has no name"),
    "a partial": ({"entry_point": functools.partial(ScaledWalk, scale=2.0)}, "has no name"),
    "an option that is an array": (
        {"entry_point": ScaledWalk, "kwargs": {"scale": np.ones(())}},
        "the option 'scale' of its registration is a ndarray",
    ),
    "an option of a wrapper": (
        {
            "entry_point": ScaledWalk,
            "additional_wrappers": (
                WrapperSpec("PayMore", "toys:PayMore", {"amount": np.float64(1)}),
            ),
        },
        "the option 'amount' of the wrapper PayMore is a float64",
    ),
    "the script's own": ({"entry_point": "__main__:Walk"}, "in the script or notebook itself"),
}


@pytest.fixture
def name() -> Iterator[str]:
    yield "Registered-v0"
    registry.pop("Registered-v0", None)


@pytest.mark.parametrize("kind", TRAVELS)
def test_a_registration_reaches_the_workers(kind: str, name: str, tmp_path: Path, caplog) -> None:
    gymnasium.register(name, **TRAVELS[kind])
    before = registry[name]
    for workers in (0, 1):
        train_tiny(tmp_path / str(workers), task=name, workers=workers, steps=12)
    assert_same_result(tmp_path / "0", tmp_path / "1")
    assert caplog.text == ""
    assert registry[name] is before  # ours is left as it is


def test_another_environment_under_a_known_name_reaches_the_workers(tmp_path: Path) -> None:
    known = registry["Pendulum-v1"]
    registry["Pendulum-v1"] = EnvSpec("Pendulum-v1", "toys:ScaledWalk")
    try:
        for workers in (0, 1):
            run = train_tiny(tmp_path / str(workers), task="Pendulum-v1", workers=workers, steps=12)
            assert run.policy.state_shape == (3,)
            assert run.metrics[0]["steps"] == 8  # two walks of four steps
        assert_same_result(tmp_path / "0", tmp_path / "1")
    finally:
        registry["Pendulum-v1"] = known


@pytest.mark.parametrize("kind", STAYS)
def test_what_cannot_travel_is_told_in_words(kind: str, name: str) -> None:
    registration, why = STAYS[kind]
    gymnasium.register(name, **registration)
    assert why in make_task_spec(name).only_here


def test_every_registration_of_gymnasium_travels() -> None:
    for spec in list(registry.values()):
        if not spec.id.startswith("Toy"):
            described = describe_registration(spec)
            register_again(described)
            assert registry[spec.id] is spec


SCRIPT = """
import gymnasium, litmus
from toys import Walk, ConvArchitecture, PlainArchitecture

class Mine(Walk):
    def __init__(self, scale=1.0):
        super().__init__()
        self.scale = scale

class Wide(PlainArchitecture):
    pass

gymnasium.register("Mine-v0", Mine, kwargs={"scale": 2.0})
options = dict(steps=12, hidden=(4,), probing_states=2, round_size=2,
               evaluate_every=0, quiet=True, workers=2)
litmus.train("pssvf", task="Mine-v0", out="registered", **options)
litmus.train("pssvf", task="__main__:Mine", out="named", **options)
del options["hidden"]
litmus.train("pssvf", task="toys:ToyWalk-v0", architecture="__main__:Wide", out="wide", **options)
"""


@pytest.mark.parametrize("typed", [False, True], ids=["script", "typed in"])
def test_classes_of_the_script_itself_run_serially_and_one_line_says_why(
    typed: bool, tmp_path: Path
) -> None:
    """Typed in, as in a notebook: there is no file at all."""
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    done = run_python(*(["-c", SCRIPT] if typed else [script]))
    assert done.returncode == 0, done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == 3, done.stderr
    for line, name in zip(lines, ("Mine", "Mine", "Wide"), strict=True):
        assert f"no worker processes: '{name}' is defined in the script" in line
