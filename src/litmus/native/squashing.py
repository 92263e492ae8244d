"""What becomes of a network's outputs, as the kernels take it."""

from __future__ import annotations

from typing import NamedTuple

from litmus.native.library import SquashingCall, find_address
from litmus.policies.actions import BETWEEN, Squashing


class DescribedSquashing(NamedTuple):
    call: SquashingCall
    owner: object
    """Of what `call` points to."""


def describe_squashing(size: int, squashing: Squashing | None) -> DescribedSquashing:
    """`squashing`: None for a softmax of `size` outputs."""
    if squashing is None:
        return DescribedSquashing(SquashingCall(size, is_softmax=1), None)
    call = SquashingCall(
        size,
        is_softmax=0,
        all_between=bool((squashing.kinds == BETWEEN).all()),
        kinds=find_address(squashing.kinds),
        center=find_address(squashing.center),
        scale=find_address(squashing.scale),
    )
    return DescribedSquashing(call, squashing)
