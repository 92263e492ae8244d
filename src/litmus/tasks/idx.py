"""IDX files, the format of MNIST: a magic number that tells type and dimensions, the sizes, the
values. A file that is not whole is refused by name, never read in part."""

from __future__ import annotations

import gzip
import math
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput
from litmus.files import read_plain

TYPES = {8: ">u1", 9: ">i1", 11: ">i2", 12: ">i4", 13: ">f4", 14: ">f8"}
"""What the third byte says; numbers are stored with their highest byte first."""
MOST_VALUES = 2**33


def read_idx(path: Path) -> NDArray[Any]:
    """The array in a file, which may be compressed by gzip."""
    try:
        data = read_plain(path)
    except OSError as error:
        raise BadInput(f"{path} cannot be read: {error.strerror}") from error
    if path.suffix == ".gz":
        try:
            data = gzip.decompress(data)
        except (OSError, EOFError, zlib.error) as error:
            raise BadInput(f"{path} is damaged or not whole: {error}") from error
    return parse_idx(data, path)


def parse_idx(data: bytes, path: Path) -> NDArray[Any]:
    """The array that these bytes hold; `path` is named where they hold none."""
    kind, dims = (data[2], data[3]) if len(data) >= 4 else (0, 0)
    start = 4 + 4 * dims
    if data[:2] != b"\0\0" or kind not in TYPES or dims == 0 or len(data) < start:
        raise BadInput(f"{path} is not an IDX file")
    shape = tuple(np.frombuffer(data, ">u4", dims, offset=4).tolist())
    count, dtype = math.prod(shape), np.dtype(TYPES[kind])
    found, expected = len(data) - start, count * dtype.itemsize
    if count > MOST_VALUES or found != expected:
        sizes = " × ".join(map(str, shape))
        raise BadInput(
            f"{path} is not whole: it should hold {sizes} values in {expected:,} bytes, and there "
            f"are {found:,}"
        )
    values = np.frombuffer(data, dtype, count, offset=start).reshape(shape)
    return values.astype(dtype.newbyteorder("="))


def write_idx(path: Path, values: NDArray[Any]) -> None:
    """Write an array so that `read_idx` reads it; compressed where the name ends in .gz."""
    big = values.dtype.newbyteorder(">") if values.dtype.itemsize > 1 else values.dtype
    kind = next((kind for kind, name in TYPES.items() if np.dtype(name) == big), None)
    if kind is None:
        raise BadInput(f"an IDX file cannot hold values of type {values.dtype}")
    header = bytes([0, 0, kind, values.ndim]) + np.array(values.shape, ">u4").tobytes()
    data = header + np.ascontiguousarray(values, big).tobytes()
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)
