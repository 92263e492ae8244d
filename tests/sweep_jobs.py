"""Jobs that take a moment, for the tests of executors. Their processes import this module."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

from litmus.errors import RunFailed
from litmus.experiments.jobs import Standing


@dataclass(frozen=True)
class CountJob:
    """Counts to `steps`, one file each; goes on where it was."""

    folder: str
    steps: int = 3
    seconds: float = 0.0
    fails: str = ""
    """'raises', 'errs' or 'dies': at the last step."""

    @property
    def name(self) -> str:
        return f"count {self.folder}"

    @property
    def group(self) -> str:
        return "counts"

    def look(self, folder: Path) -> Standing:
        done = len(list(folder.glob("step-*")))
        state = "finished" if done >= self.steps else "unfinished" if done else "missing"
        return Standing(state, done, float(done))

    def check(self, folder: Path) -> None:
        pass

    def work(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "at-work").touch()
        try:
            for step in range(self.look(folder).done, self.steps):
                if self.fails and step == self.steps - 1:
                    self.fail()
                time.sleep(self.seconds)
                words = f"{os.getpid()} {os.environ['OMP_NUM_THREADS']}"
                (folder / f"step-{step}").write_text(words)
        finally:
            (folder / "at-work").unlink()

    def fail(self) -> None:
        if self.fails == "raises":
            raise RunFailed("it could\nnot go on")
        if self.fails == "errs":
            raise ZeroDivisionError("one by nothing")
        os._exit(7)
