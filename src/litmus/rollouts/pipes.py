"""Whole lines through a pipe."""

from __future__ import annotations

import os


def write_all(descriptor: int, data: bytes) -> None:
    """However long: a signal may cut a write short."""
    while data:
        data = data[os.write(descriptor, data) :]


def read_line(descriptor: int) -> bytes:
    """Up to its end and no further; what came before the other side closed, without one."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(descriptor, 1)
        if not piece:
            break
        line += piece
    return line
