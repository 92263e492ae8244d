"""Files from the public mirrors of a data set, checked before they are kept."""

from __future__ import annotations

import contextlib
import hashlib
import http.client
import urllib.request
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TaskID, TextColumn

from litmus.files import write_bytes

SECONDS_WITHOUT_ANSWER = 20.0
PIECE = 2**16
MOST_BYTES = 2**30


@dataclass(frozen=True)
class Source:
    """One file, and where it can be had."""

    name: str
    urls: tuple[str, ...]
    md5: str


def download(title: str, sources: Sequence[Source], folder: Path) -> None:
    """Put the files that are missing into `folder`; an OSError says why one could not be had."""
    folder.mkdir(parents=True, exist_ok=True)
    bar = Progress(
        TextColumn("downloading {task.description}"),
        BarColumn(),
        DownloadColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    try:
        with bar:
            for source in sources:
                if not (folder / source.name).exists():
                    write_bytes(folder / source.name, _fetch(title, source, bar))
    finally:
        with contextlib.suppress(OSError):
            folder.rmdir()  # where nothing came


def _fetch(title: str, source: Source, bar: Progress) -> bytes:
    """From the first mirror that gives the right bytes."""
    problems = []
    shown = bar.add_task(f"{title}: {source.name}", total=None)
    for url in source.urls:
        host = url.split("/")[2] or "file"
        try:
            data = _read(url, shown, bar)
        except (OSError, ValueError, http.client.HTTPException) as error:
            problems.append(f"{host}: {error}")
            continue
        if hashlib.md5(data, usedforsecurity=False).hexdigest() == source.md5:
            return data
        problems.append(f"{host}: the checksum of {source.name} does not match")
    raise OSError("; ".join(problems))


def _read(url: str, shown: TaskID, bar: Progress) -> bytes:
    pieces, size = [], 0
    with urllib.request.urlopen(url, timeout=SECONDS_WITHOUT_ANSWER) as answer:
        total = answer.headers.get("Content-Length")
        bar.update(shown, total=int(total) if total else None, completed=0)
        while piece := answer.read(PIECE):
            pieces.append(piece)
            size += len(piece)
            if size > MOST_BYTES:
                raise OSError("the file has no end")
            bar.update(shown, completed=size)
    return b"".join(pieces)
