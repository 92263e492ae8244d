"""Makes a second set of images out of MNIST: dark digits on white, a quarter turned.

    .venv/bin/python docs/make_turned_digits.py turned-digits
    .venv/bin/litmus train pssvf --task images --data turned-digits --preset quick

The digits are read from where `--task mnist` finds them.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from litmus.errors import BadInput
from litmus.tasks.idx import read_idx, write_idx
from litmus.tasks.image_sets import find_folder
from litmus.tasks.known_images import PARTS


def turn(part: str, source: Path, folder: Path) -> None:
    path = next(path for path in (source / part, source / f"{part}.gz") if path.exists())
    values = read_idx(path)
    if values.ndim == 3:
        values = 255 - np.rot90(values, axes=(1, 2))
    write_idx(folder / f"{part}.gz", values)


def main(folder: Path) -> None:
    source = find_folder("mnist")
    folder.mkdir(parents=True)
    for part in PARTS:
        turn(part, source, folder)
    print(f"turned digits in {folder}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("name one folder for the turned digits, such as turned-digits")
    try:
        main(Path(sys.argv[1]))
    except (BadInput, OSError) as error:
        sys.exit(str(error))
