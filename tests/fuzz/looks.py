"""Ways to look at a run: what comes out of each is compared with what came out of the whole run."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import litmus
from litmus.cli import main
from litmus.errors import BadInput
from litmus.training.trainer import Trainer

MOST_ROUNDS = 40
"""A forged number of steps may make a run as long as it says."""


class Enough(BaseException):
    """The run goes on, and on."""


class Refused(Exception):
    """Exit code 1 or 2, with one line."""


class Odd(Exception):
    """Not what a command may do."""


def digest(data: Any) -> str:
    """Of nested lists and objects; the order of keys does not count."""
    text = json.dumps(data, sort_keys=True, default=repr)
    return hashlib.sha256(text.encode()).hexdigest()


def digest_module(module: Any) -> str:
    return digest([(name, t.numpy().tobytes()) for name, t in module.state_dict().items()])


def look_with_library(run: Path) -> Any:
    one = litmus.Run(run)
    # A run whose last word was lost is as one that was stopped before it: both can be resumed.
    events = [event for event in one.metrics if event["event"] != "finished"]
    found = [one.config.to_dict(), events]
    found += [digest_module(one.policy), digest_module(one.evaluator)]
    steps, states = one.read_probing_snapshots()
    return digest([*found, steps.tolist(), states.tolist()])


def look_at_policy(run: Path) -> Any:
    return digest_module(litmus.Policy.load(run / "policy.safetensors"))


def look_at_evaluator(run: Path) -> Any:
    return digest_module(litmus.load_evaluator(run / "evaluator.safetensors"))


def look_by_evaluating(run: Path) -> Any:
    shown = command("evaluate", run, "--episodes", "2", "--workers", "0", "--json")
    return {name: value for name, value in json.loads(shown).items() if name != "path"}


def look_by_resuming(run: Path) -> Any:
    with counting_rounds():
        command("resume", run, "--steps", "64", "--workers", "0")
    one = litmus.Run(run)
    files = [one.policy_path, one.evaluator_path, run / "history" / "rounds.bin"]
    lines = (run / "history" / "rounds.jsonl").read_text().splitlines()
    rounds = [json.loads(line) for line in lines]  # a space less between two words is no matter
    events = [{k: v for k, v in event.items() if k != "wall_s"} for event in one.metrics]
    return digest([*(path.read_bytes() for path in files), rounds, events])


def look_at_report(run: Path) -> Any:
    """The page's content, and what it says is the matter."""
    from litmus.reports import details
    from litmus.reports.report import build_report

    fresh = details.measure_fresh
    details.measure_fresh = refuse  # type: ignore[assignment]
    try:
        report = build_report([run])
        page = report.to_html()
    finally:
        details.measure_fresh = fresh
    problems = [*report.records[0].problems]
    for one in report.details:
        problems += [note for note in one.notes if "too slow here" not in note]
    for problem in problems:
        logging.getLogger("litmus").warning("report: %s", problem)
    assert "<html" in page
    record = report.records[0]
    events = [event for event in record.events if event["event"] != "finished"]
    probing = [one.probing.importance.tolist() for one in report.details if one.probing]
    return digest([record.config, events, probing])


def refuse(*_: Any, **__: Any) -> Any:
    raise BadInput("too slow here")


LOOKS: dict[str, Callable[[Path], Any]] = {
    "Run": look_with_library,
    "Policy.load": look_at_policy,
    "load_evaluator": look_at_evaluator,
    "evaluate": look_by_evaluating,
    "resume": look_by_resuming,
    "report": look_at_report,
}


def command(*arguments: object) -> str:
    """Run a command in this process; what it printed, or Refused."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(one) for one in arguments])
    last = err.getvalue().strip().splitlines()[-1:]
    if code == 0:
        return out.getvalue()
    if code not in (1, 2) or not last or not last[0].startswith("litmus: "):
        raise Odd(f"exit code {code}: {err.getvalue()[-300:]}")
    if code == 2 and "Traceback" in err.getvalue():
        raise Odd(f"a traceback: {err.getvalue()[-300:]}")
    raise Refused(last[0])


@contextlib.contextmanager
def counting_rounds() -> Iterator[None]:
    iterate, done = Trainer._iterate, [0]

    def counted(trainer: Any) -> None:
        done[0] += 1
        if done[0] > MOST_ROUNDS:
            raise Enough
        iterate(trainer)

    Trainer._iterate = counted  # type: ignore[method-assign]
    try:
        yield
    finally:
        Trainer._iterate = iterate  # type: ignore[method-assign]
