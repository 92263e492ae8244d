"""What commands print of a run: where it ended, and how an interrupted one goes on."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from litmus.counts import say_count

if TYPE_CHECKING:
    from litmus.runs.run import Run


def print_result(run: Run) -> None:
    last = run.metrics[-1]
    minutes, seconds = divmod(round(last["wall_s"]), 60)
    print(
        f"trained {last['steps']:,} steps in {say_count(last['episodes_done'], 'episode')}, "
        f"{minutes} min {seconds} s"
    )
    print_final_return(run.path)
    print(f"run        {run.path}")
    print(f"policy     {run.policy_path}")
    if run.evaluator_path.exists():
        print(f"evaluator  {run.evaluator_path}")


def print_final_return(path: Path | str) -> None:
    """The same number wherever a run is spoken of: here, after training and in its report."""
    from litmus.runs.final import describe_final_return
    from litmus.runs.run import Run

    if final := describe_final_return(Run(path).metrics):
        print(final)


@contextlib.contextmanager
def offering_resume(path: Path) -> Iterator[None]:
    """On Ctrl-C, print how to go on."""
    try:
        yield
    except KeyboardInterrupt:
        if (path / "config.json").exists():  # else it was stopped before it began
            print(f"interrupted; go on with: litmus resume {path}", file=sys.stderr)
        raise
