"""Labelled images by name or by folder: where their files are looked for, and what they hold.

In this order: the folder that the user names, `LITMUS_DATA`, the user's cache; a set that is known
by name is downloaded into the cache where it is nowhere else.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from litmus.errors import BadInput, option
from litmus.tasks.idx import read_idx
from litmus.tasks.known_images import IMAGE_SETS, PARTS, ImageSet

VARIABLE = "LITMUS_DATA"


@dataclass(frozen=True)
class Labelled:
    """Images [N, *state] and the class of each [N]."""

    images: NDArray[Any]
    labels: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.images)

    def select(self, places: NDArray[np.int64]) -> Labelled:
        return Labelled(self.images[places], self.labels[places])


def read_image_set(name: str, data: str | None = None) -> tuple[Labelled, Labelled]:
    """Training and test images of a set; BadInput says what is missing or wrong, and where."""
    return _read_folder(name, find_folder(name, data))


def find_folder(name: str, data: str | None = None) -> Path:
    """The folder that holds the set; a known one is downloaded where it is nowhere."""
    return look_for(name, data) or _download(name, IMAGE_SETS[name])


def describe_place(name: str, data: str | None = None) -> str:
    """Where a set lies or would come from, in words."""
    found = look_for(name, data)
    if found is not None:
        return f"{name} lies in {found}"
    mirrors = " or ".join(IMAGE_SETS[name].mirrors)
    return (
        f"{name} is not on this machine: it would be downloaded from {mirrors} into "
        f"{find_cache() / name}"
    )


def look_for(name: str, data: str | None = None) -> Path | None:
    """The folder that holds the set; None for a known one that would have to be downloaded."""
    if data is not None:
        given = Path(data).expanduser()
        found = _look_into(given, name)
        if found is None:
            raise BadInput(f"{option('data', data)}: {describe_missing(given)}")
        return found
    places = [Path(value).expanduser()] if (value := os.environ.get(VARIABLE)) else []
    known = IMAGE_SETS[name]
    for place in (*places, find_cache()):
        # What a download left unfinished in the cache is gone on with.
        may_lack = place == find_cache() and bool(known.mirrors)
        if (found := _look_into(place, name, may_lack)) is not None:
            return found
    if not known.mirrors:
        raise BadInput(
            f"task '{name}' needs a folder with {', '.join(f'{part}.gz' for part in PARTS)}: name "
            f"it with {option('data')} or {VARIABLE}"
        )
    return None


def find_cache() -> Path:
    """Where downloads are kept."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "litmus"


def describe_missing(folder: Path) -> str:
    """Which of the four files a folder lacks, in words."""
    if not folder.is_dir():
        return f"there is no folder {folder}"
    missing = [part for part in PARTS if _find_part(folder, part) is None]
    return f"{folder} holds no {' and no '.join(missing)} (with or without .gz)"


def _look_into(folder: Path, name: str, may_lack: bool = False) -> Path | None:
    """The folder in it that is named as the set, or the folder itself; None where neither has any
    of the files, BadInput where some are missing and may not be."""
    for place in (folder / name, folder):
        found = [part for part in PARTS if _find_part(place, part) is not None]
        if len(found) == len(PARTS):
            return place
        if found and not may_lack:
            raise BadInput(f"task '{name}': {describe_missing(place)}")
    return None


def _find_part(folder: Path, part: str) -> Path | None:
    for path in (folder / part, folder / f"{part}.gz"):
        if path.exists():
            return path
    return None


def _download(name: str, known: ImageSet) -> Path:
    from litmus.tasks.download import Source, download

    folder = find_cache() / name
    sources = [
        Source(f"{part}.gz", tuple(mirror + f"{part}.gz" for mirror in known.mirrors), md5)
        for part, md5 in known.md5.items()
    ]
    try:
        download(name, sources, folder)
    except OSError as error:
        reason = " ".join(str(error).split())
        raise BadInput(
            f"'{name}' is not on this machine and cannot be downloaded ({reason}); put "
            f"{', '.join(source.name for source in sources)} into {folder}, or name their folder "
            f"with {option('data')} or {VARIABLE}"
        ) from error
    return folder


@lru_cache(maxsize=2)
def _read_folder(name: str, folder: Path) -> tuple[Labelled, Labelled]:
    _refuse_another(name, folder)
    train, test = (_read_labelled(folder, *PARTS[i : i + 2]) for i in (0, 2))
    wanted = IMAGE_SETS[name].shape
    if wanted is not None and train.images.shape != wanted:
        raise BadInput(
            f"{folder} does not hold {name}, but {len(train):,} images of "
            f"{_show(train.images.shape[1:])} pixels; {option('task', 'images')} reads any set"
        )
    if train.images.shape[1:] != test.images.shape[1:]:
        raise BadInput(
            f"{folder} holds training images of {_show(train.images.shape[1:])} pixels and test "
            f"images of {_show(test.images.shape[1:])}"
        )
    return train, test


def _refuse_another(name: str, folder: Path) -> None:
    """BadInput where the folder holds another set that is known by name: the names of their files
    are the same, and so are the shapes of their images."""
    labels = _find_part(folder, PARTS[1])
    if labels is None or not IMAGE_SETS[name].md5:
        return
    checksum = hashlib.md5(labels.read_bytes(), usedforsecurity=False).hexdigest()
    for other, known in IMAGE_SETS.items():
        if other != name and known.md5.get(PARTS[1]) == checksum:
            raise BadInput(f"{folder} does not hold {name}, but {other}")


def _read_labelled(folder: Path, images_part: str, labels_part: str) -> Labelled:
    images_path, labels_path = (_find_part(folder, part) for part in (images_part, labels_part))
    assert images_path is not None
    assert labels_path is not None
    images, labels = read_idx(images_path), read_idx(labels_path)
    if images.ndim not in (3, 4) or 0 in images.shape:
        raise BadInput(f"{images_path} holds no images: {_show(images.shape)} values")
    if labels.ndim != 1 or labels.dtype.kind not in "iu" or len(labels) != len(images):
        raise BadInput(
            f"{labels_path} does not hold one class for each of the {len(images):,} images in "
            f"{images_path.name}"
        )
    if labels.min() < 0:
        raise BadInput(f"{labels_path} holds negative numbers: classes are counted from 0")
    if images.dtype.kind == "f" and not np.isfinite(images).all():
        raise BadInput(f"{images_path} holds pixels that are no finite numbers")
    return Labelled(images, labels.astype(np.int64))


def _show(shape: tuple[int, ...]) -> str:
    return " × ".join(map(str, shape))
