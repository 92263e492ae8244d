"""Sets of images that are known by name: where they can be had, and what they look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

PARTS = (
    *("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    *("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
)
"""Names of the four files of a set, each perhaps followed by .gz."""


@dataclass(frozen=True)
class ImageSet:
    """A set that is known by name."""

    summary: str
    mirrors: tuple[str, ...] = ()
    md5: Mapping[str, str] = field(default_factory=dict)
    """Of the compressed files, as published."""
    shape: tuple[int, ...] | None = None
    """Of the training images; None where any will do."""


IMAGE_SETS = {
    "mnist": ImageSet(
        "handwritten digits, 28 × 28 pixels",
        (
            "https://ossci-datasets.s3.amazonaws.com/mnist/",
            "https://storage.googleapis.com/cvdf-datasets/mnist/",
        ),
        {
            PARTS[0]: "f68b3c2dcbeaaa9fbdd348bbdeb394d4",
            PARTS[1]: "d53e105ee54ea40749a09fcbcd1e9432",
            PARTS[2]: "9fb629c4189551a2d022fa330f9573f3",
            PARTS[3]: "ec29112dd5afa0611ce80d1b7f02629c",
        },
        (60_000, 28, 28),
    ),
    "fashion-mnist": ImageSet(
        "pictures of clothes, 28 × 28 pixels",
        (
            "https://fashion-mnist.s3.eu-central-1.amazonaws.com/",
            "https://github.com/zalandoresearch/fashion-mnist/raw/master/data/fashion/",
        ),
        {
            PARTS[0]: "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
            PARTS[1]: "25c81989df183df01b3e8a0aad5dffbe",
            PARTS[2]: "bef4ecab320f06d8554ea6380940ec79",
            PARTS[3]: "bb300cfdad3c16e7a12a480ee83cd310",
        },
        (60_000, 28, 28),
    ),
    "images": ImageSet("any four IDX files in the folder of --data"),
}
