"""Work on a GPU as a CUDA graph: recorded once, then replayed without launch costs."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

Step = Callable[..., Tensor]


def is_ours(*parts: object) -> bool:
    """Whether none is of a user's own class. A graph replays what was recorded: whatever such a
    class decides in Python would silently be decided once and for all."""
    return all(type(part).__module__.startswith("litmus.") for part in parts)


class CapturedStep:
    """Calls `step(*inputs)`; from the second call with the same memory on, by replaying a graph.

    The first call runs as it is: it warms up the libraries and creates the optimisers' state, which
    must exist before a graph can be recorded. `step` may not read values back from the device, nor
    copy any to it. Inputs are tensors on the device, of the same shapes in every call.
    """

    def __init__(self, step: Step) -> None:
        self._step = step
        self._is_warm = False
        self._version: int | None = None
        self._graph: torch.cuda.CUDAGraph | None = None
        self._inputs: tuple[Tensor, ...] = ()
        self._outputs = torch.empty(0)

    def __call__(self, *inputs: Tensor, version: int = 0) -> Tensor:
        """`version` says which memory the step works on: another one makes a new graph."""
        if not self._is_warm:
            self._is_warm = True
            return self._run_aside(*inputs)
        if self._graph is None or self._version != version:
            self._record(inputs, version)
        assert self._graph is not None
        for kept, given in zip(self._inputs, inputs, strict=True):
            kept.copy_(given)
        self._graph.replay()
        return self._outputs.clone()

    @property
    def is_recorded(self) -> bool:
        return self._graph is not None

    def _run_aside(self, *inputs: Tensor) -> Tensor:
        """On a side stream, as a recording will run."""
        stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            outputs = self._step(*inputs)
        torch.cuda.current_stream().wait_stream(stream)
        return outputs

    def _record(self, inputs: tuple[Tensor, ...], version: int) -> None:
        self._inputs = tuple(one.clone() for one in inputs)
        self._graph = None  # frees the memory of the graph before
        graph = torch.cuda.CUDAGraph()
        # What other threads do on the GPU meanwhile is none of this graph.
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self._outputs = self._step(*self._inputs)
        self._graph, self._version = graph, version
