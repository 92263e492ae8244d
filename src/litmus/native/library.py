"""Loading the compiled kernels. Pointers and numbers only: no torch, no policies."""

from __future__ import annotations

import ctypes
import os
import sysconfig
from collections.abc import Sequence
from ctypes import POINTER, c_double, c_float, c_int, c_int64, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

INTERFACE = 5
"""Of the library that this file can call."""

ACTIVATIONS = {"tanh": 0, "relu": 1}
MOST_LANES = 16


class Shape(ctypes.Structure):
    """`litmus_shape`."""

    _fields_ = (("layers", c_int64), ("widths", POINTER(c_int64)), ("activation", c_int64))

    @staticmethod
    def of(layer_sizes: Sequence[tuple[int, int]], activation: str) -> Shape:
        widths = [layer_sizes[0][0], *(outputs for _, outputs in layer_sizes)]
        array = (c_int64 * len(widths))(*widths)
        return Shape(len(layer_sizes), array, ACTIVATIONS[activation])


class PopulationCall(ctypes.Structure):
    """`litmus_population`."""

    _fields_ = (
        ("shape", Shape),
        ("policies", c_int64),
        ("states", c_int64),
        ("params", POINTER(c_void_p)),
        ("places", POINTER(c_int64)),
        ("inputs", c_void_p),
        ("memory", c_void_p),
        ("threads", c_int64),
    )


class SquashingCall(ctypes.Structure):
    """`litmus_squashing`."""

    _fields_ = (
        ("size", c_int64),
        ("is_softmax", c_int64),
        ("all_between", c_int64),
        ("kinds", c_void_p),
        ("center", c_void_p),
        ("scale", c_void_p),
    )


class EvaluatorCall(ctypes.Structure):
    """`litmus_evaluator`."""

    _fields_ = (
        ("policies", PopulationCall),
        ("squashing", SquashingCall),
        ("head", PopulationCall),
        ("answers", c_void_p),
        ("slopes", c_void_p),
        ("values", c_void_p),
        ("values_gradient", c_void_p),
    )


class MeritCall(ctypes.Structure):
    """`litmus_merit`."""

    _fields_ = (
        ("policy", PopulationCall),
        ("squashing", SquashingCall),
        ("outputs", c_void_p),
        ("slopes", c_void_p),
        ("units", c_void_p),
        ("fingerprint", c_void_p),
        ("others", c_int64),
        ("references", c_void_p),
        ("weights", c_void_p),
        ("unit", c_double),
        ("far_share", c_double),
        ("corner", c_double),
    )


class AdamCall(ctypes.Structure):
    """`litmus_adam`."""

    _fields_ = (
        ("tensors", c_int64),
        ("sizes", POINTER(c_int64)),
        ("params", POINTER(c_void_p)),
        ("means", POINTER(c_void_p)),
        ("squares", POINTER(c_void_p)),
        ("steps", POINTER(c_void_p)),
        ("rate", c_double),
        ("mean_decay", c_double),
        ("square_decay", c_double),
        ("epsilon", c_double),
    )


class Actor(ctypes.Structure):
    """`litmus_actor`."""

    _fields_ = (
        ("shape", Shape),
        ("params", c_void_p),
        ("squashing", SquashingCall),
        ("distribution", c_int64),
        ("half_range", c_void_p),
        ("low", c_void_p),
        ("high", c_void_p),
        ("mean", c_void_p),
        ("inverse_std", c_void_p),
        ("inputs", c_void_p),
        ("scratch", c_void_p),
        ("outputs", c_void_p),
        ("drawn", c_void_p),
        ("steps_drawn", c_int64),
    )


class Part(ctypes.Structure):
    """`litmus_part`."""

    _fields_ = (
        ("values", c_void_p),
        ("minus", c_void_p),
        ("count", c_int64),
        ("bend", c_int64),
        ("low", c_double),
        ("high", c_double),
    )


class Row(ctypes.Structure):
    """`litmus_row`."""

    _fields_ = (("parts", c_int64), ("part", POINTER(Part)), ("size", c_int64))


class Body(ctypes.Structure):
    """`litmus_body`."""

    _fields_ = (
        ("step", c_void_p),
        ("find_forces", c_void_p),
        ("model", c_void_p),
        ("data", c_void_p),
        ("control", c_void_p),
        ("num_controls", c_int64),
        ("frames", c_int64),
        ("limit", c_int64),
        ("seen", Row),
        ("recorded", Row),
        ("bounds", c_int64),
        ("bound", POINTER(Part)),
        ("observations", c_void_p),
        ("actions", c_void_p),
        ("records", c_void_p),
    )


class ExplorationCall(ctypes.Structure):
    """`litmus_exploration`."""

    _fields_ = (
        ("given", c_int64),
        ("rows", c_void_p),
        ("low", c_void_p),
        ("high", c_void_p),
    )


def find_address(array: NDArray[Any]) -> int:
    """Where an array's numbers lie; it must be kept for as long as that is used."""
    address: int = array.__array_interface__["data"][0]
    return address


class Library:
    """The functions of the compiled kernels; a call releases the interpreter's lock."""

    def __init__(self, path: Path, lanes: int = MOST_LANES) -> None:
        library = ctypes.CDLL(str(path))
        declare = (
            ("litmus_interface", c_int64, ()),
            ("litmus_choose_kernels", c_int64, (c_int64,)),
            ("litmus_memory_size", c_int64, (POINTER(PopulationCall), c_int)),
            ("litmus_forward", None, (POINTER(PopulationCall), c_void_p)),
            ("litmus_backward", None, (POINTER(PopulationCall), c_void_p, c_void_p, c_void_p)),
            (
                "litmus_fit",
                c_float,
                (POINTER(EvaluatorCall), c_void_p, c_void_p, c_void_p, c_void_p),
            ),
            ("litmus_climb", c_float, (POINTER(EvaluatorCall), c_void_p)),
            ("litmus_ask", None, (POINTER(MeritCall),)),
            ("litmus_find_uphill", None, (POINTER(MeritCall), c_void_p, c_void_p)),
            ("litmus_adam_step", None, (POINTER(AdamCall), c_void_p, c_int, c_int64)),
            ("litmus_scratch_size", c_int64, (POINTER(Shape),)),
            ("litmus_act", None, (POINTER(Actor),)),
            ("litmus_choose", c_int64, (POINTER(Actor), c_void_p)),
            ("litmus_bend", None, (c_int64, c_int64, c_void_p, c_void_p)),
            (
                "litmus_run_steps",
                c_int64,
                (POINTER(Body), POINTER(Actor), POINTER(ExplorationCall)),
            ),
            ("litmus_clip", None, (c_int64, c_void_p, c_void_p, c_void_p, c_void_p)),
            (
                "litmus_perturb",
                None,
                (c_uint64, c_uint64, c_void_p, c_float, c_int64, c_void_p),
            ),
        )
        for name, result, arguments in declare:
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments
        self.choose_kernels = library.litmus_choose_kernels
        self.memory_size = library.litmus_memory_size
        self.forward = library.litmus_forward
        self.backward = library.litmus_backward
        self.fit = library.litmus_fit
        self.climb = library.litmus_climb
        self.ask = library.litmus_ask
        self.find_uphill = library.litmus_find_uphill
        self.adam_step = library.litmus_adam_step
        self.scratch_size = library.litmus_scratch_size
        self.act = library.litmus_act
        self.choose = library.litmus_choose
        self.bend = library.litmus_bend
        self.run_steps = library.litmus_run_steps
        self.clip = library.litmus_clip
        self.perturb = library.litmus_perturb
        is_current = library.litmus_interface() == INTERFACE
        self.lanes = int(self.choose_kernels(lanes)) if is_current else 0


def are_switched_off() -> bool:
    return os.environ.get("LITMUS_NATIVE") == "0"


@lru_cache(maxsize=1)
def find_library() -> Library | None:
    """The compiled kernels, or None where they are missing, unusable or switched off."""
    if are_switched_off():
        return None
    built = sorted(Path(__file__).parent.glob("_kernels*.so"))
    own = f"_kernels{sysconfig.get_config_var('EXT_SUFFIX')}"
    for path in sorted(built, key=lambda path: path.name != own):
        try:
            library = Library(path)
        except (OSError, AttributeError):  # for another platform, or of another version
            continue
        if library.lanes:
            return library
    return None
