"""Loading the compiled kernels. Pointers and numbers only: no torch, no policies."""

from __future__ import annotations

import ctypes
import os
import sysconfig
from collections.abc import Sequence
from ctypes import POINTER, c_double, c_float, c_int, c_int64, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

INTERFACE = 3
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


class EvaluatorCall(ctypes.Structure):
    """`litmus_evaluator`."""

    _fields_ = (
        ("policies", PopulationCall),
        ("center", c_void_p),
        ("half_range", c_void_p),
        ("head", PopulationCall),
        ("answers", c_void_p),
        ("slopes", c_void_p),
        ("values", c_void_p),
        ("values_gradient", c_void_p),
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
        ("center", c_void_p),
        ("half_range", c_void_p),
        ("scratch", c_void_p),
        ("outputs", c_void_p),
    )


class CompiledActor(NamedTuple):
    """A policy of raw observations, in the hands of the kernels."""

    actor: Actor
    mean: NDArray[np.float64]  # [D]
    inverse_std: NDArray[np.float64]  # [D]
    num_actions: int
    owner: object  # of what `actor` points to


class Health(ctypes.Structure):
    """`litmus_health`."""

    _fields_ = (
        ("checks_posture", c_int64),
        ("checks_state", c_int64),
        ("z", c_double * 2),
        ("angle", c_double * 2),
        ("state", c_double * 2),
    )


class PlanarBody(ctypes.Structure):
    """`litmus_body`."""

    _fields_ = (
        ("step", c_void_p),
        ("model", c_void_p),
        ("data", c_void_p),
        ("positions", c_void_p),
        ("velocities", c_void_p),
        ("control", c_void_p),
        ("num_positions", c_int64),
        ("num_velocities", c_int64),
        ("num_controls", c_int64),
        ("frames", c_int64),
        ("limit", c_int64),
        ("skipped", c_int64),
        ("velocity_bound", c_double),
        ("health", Health),
        ("observations", c_void_p),
        ("actions", c_void_p),
        ("x", c_void_p),
        ("normalized", c_void_p),
    )


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
            ("litmus_adam_step", None, (POINTER(AdamCall), c_void_p, c_int, c_int64)),
            ("litmus_scratch_size", c_int64, (POINTER(Shape),)),
            ("litmus_act", None, (POINTER(Actor), c_void_p)),
            (
                "litmus_run_episode",
                c_int64,
                (POINTER(PlanarBody), POINTER(Actor), c_void_p, c_void_p),
            ),
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
        self.adam_step = library.litmus_adam_step
        self.scratch_size = library.litmus_scratch_size
        self.act = library.litmus_act
        self.run_episode = library.litmus_run_episode
        self.perturb = library.litmus_perturb
        is_current = library.litmus_interface() == INTERFACE
        self.lanes = int(self.choose_kernels(lanes)) if is_current else 0


@lru_cache(maxsize=1)
def find_library() -> Library | None:
    """The compiled kernels, or None where they are missing, unusable or switched off."""
    if os.environ.get("LITMUS_NATIVE") == "0":
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
