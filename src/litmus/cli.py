"""The command `litmus`: parse, call, print. Torch is imported only by the commands that need it."""

from __future__ import annotations

import argparse
import importlib.metadata
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from litmus.algorithms import ALGORITHMS
from litmus.errors import BadInput, RunFailed
from litmus.options import OneLineParser, add_fields
from litmus.presets import PRESETS

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

DESCRIPTION = """\
litmus learns to tell how good any policy network is from what it does in a few
learned states, and makes policies better through that judgement."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    if isinstance(sys.stdout, io.TextIOWrapper):  # θ and ± on a terminal that lacks them
        sys.stdout.reconfigure(errors="replace")
    parser = build_parser()
    try:
        options = parser.parse_args(arguments)
        run: Callable[[argparse.Namespace], None] = options.run
        run(options)
        sys.stdout.flush()  # here, where a closed pipe is no error
    except BadInput as error:
        print(f"litmus: {error}", file=sys.stderr)
        return BAD_INPUT
    except RunFailed as error:
        print(f"litmus: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `litmus list tasks | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return DONE


def build_parser() -> OneLineParser:
    parser = OneLineParser("litmus", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=_read_version())
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    _add_train(commands)
    _add_resume(commands)
    _add_evaluate(commands)
    _add_report(commands)
    _add_watch(commands)
    _add_list(commands)
    return parser


def _add_train(commands: Any) -> None:
    summary = "train a policy and its evaluator"
    parser = commands.add_parser("train", help=summary, description=summary.capitalize() + ".")
    algorithms = parser.add_subparsers(metavar="ALGORITHM", required=True, dest="algorithm")
    for name, entry in ALGORITHMS.items():
        one = algorithms.add_parser(
            name,
            help=entry.summary,
            description=entry.config.__doc__,
            usage=f"litmus train {name} --task ID [options]",  # all of them would fill the screen
        )
        one.add_argument(
            "--preset",
            metavar="NAME",
            default="default",
            help="named configuration [default]; see 'litmus list presets'",
        )
        one.add_argument(
            "--config",
            metavar="FILE",
            help="configuration file, as a run's config.json; options override it",
        )
        one.add_argument(
            "--out",
            metavar="DIR",
            help="run directory, which must not exist [runs/TASK-ALGORITHM-seedN]",
        )
        add_fields(one, entry.config)
        one.set_defaults(run=run_train, _parser=one)


def _add_resume(commands: Any) -> None:
    summary = "go on with an interrupted run, exactly where it was"
    parser = commands.add_parser("resume", help=summary, description=summary.capitalize() + ".")
    parser.add_argument("path", metavar="RUN", help="run directory")
    parser.add_argument(
        "--steps",
        type=_whole("steps"),
        metavar="N",
        help="make the run longer: train until N steps",
    )
    parser.add_argument(
        "--workers",
        type=_whole("workers"),
        metavar="N",
        help="processes that run episodes from now on",
    )
    parser.set_defaults(run=run_resume, _parser=parser)


def _add_evaluate(commands: Any) -> None:
    summary = "measure the return of a run's policy"
    parser = commands.add_parser("evaluate", help=summary, description=summary.capitalize() + ".")
    parser.add_argument("path", metavar="RUN", help="run directory")
    parser.add_argument(
        "--episodes", type=_whole("episodes"), default=10, metavar="N", help="episodes to run [10]"
    )
    parser.add_argument(
        "--seed", type=_whole("seed"), default=0, metavar="N", help="decides the start states [0]"
    )
    parser.add_argument(
        "--workers", type=_whole("workers"), metavar="N", help="processes (default: one a core)"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=run_evaluate, _parser=parser)


def _add_report(commands: Any) -> None:
    summary = "write one page that shows runs: curves, probing states, what the evaluator knows"
    parser = commands.add_parser("report", help=summary, description=summary.capitalize() + ".")
    parser.add_argument("paths", metavar="RUN", nargs="+", help="run directories")
    parser.add_argument(
        "--out", metavar="FILE", help="the page [report.html in the run, or beside several runs]"
    )
    parser.add_argument(
        "--figures", metavar="DIR", help="also write each figure there, as PNG and SVG"
    )
    parser.set_defaults(run=run_report, _parser=parser)


def _add_watch(commands: Any) -> None:
    summary = "serve that page on this machine while the runs go on"
    parser = commands.add_parser("watch", help=summary, description=summary.capitalize() + ".")
    parser.add_argument("paths", metavar="RUN", nargs="+", help="run directories")
    parser.add_argument(
        "--port", type=_whole("port"), default=8008, metavar="N", help="0 finds a free one [8008]"
    )
    parser.set_defaults(run=run_watch, _parser=parser)


def _add_list(commands: Any) -> None:
    summary = "show what there is to choose from"
    parser = commands.add_parser("list", help=summary, description=summary.capitalize() + ".")
    parser.add_argument(
        "list", metavar="tasks|presets|algorithms|experiments", choices=tuple(LISTS)
    )
    parser.set_defaults(run=run_list, _parser=parser)


def run_train(options: argparse.Namespace) -> None:
    from litmus.training.api import default_out, make_config, train

    given = dict(vars(options))
    for name in ("run", "_parser", "command"):
        del given[name]
    algorithm, preset = given.pop("algorithm"), given.pop("preset")
    config_file, out = given.pop("config"), given.pop("out")
    if out is None:
        out = default_out(make_config(algorithm, given, preset, config_file))
    with _offering_resume(Path(out)):
        run = train(algorithm, out=out, preset=preset, config=config_file, **given)
    _print_result(run)


def run_resume(options: argparse.Namespace) -> None:
    from litmus.training.api import resume

    with _offering_resume(Path(options.path)):
        run = resume(options.path, steps=options.steps, workers=options.workers)
    _print_result(run)


def run_evaluate(options: argparse.Namespace) -> None:
    from litmus.runs.metrics import finite_or_none
    from litmus.training.api import evaluate

    measured = evaluate(
        options.path, episodes=options.episodes, seed=options.seed, workers=options.workers
    )
    if options.json:
        print(
            json.dumps(
                {
                    "run": str(options.path),
                    "episodes": len(measured.returns),
                    "mean": finite_or_none(measured.mean),
                    "std": finite_or_none(measured.std),
                    "standard_error": finite_or_none(measured.standard_error),
                    "returns": finite_or_none(measured.returns),
                    "steps": measured.steps,
                }
            )
        )
        return
    if len(measured.returns) == 1:
        print(f"return {measured.mean:.1f} (one episode)")
        return
    print(
        f"return {measured.mean:.1f} ± {measured.standard_error:.1f} "
        f"(mean of {len(measured.returns)} episodes ± standard error; "
        f"from {min(measured.returns):.1f} to {max(measured.returns):.1f})"
    )


def run_report(options: argparse.Namespace) -> None:
    from litmus.reports.extra import require_packages

    require_packages("PIL", *(["matplotlib"] if options.figures else []))
    from litmus.analysis.records import read_showable

    read_showable(options.paths)  # a wrong path is told before torch is imported
    from litmus.reports.report import build_report, choose_out

    report = build_report(options.paths)
    print(f"report   {report.write(options.out or choose_out(options.paths))}")
    if options.figures:
        written = report.write_figures(options.figures)
        print(f"figures  {options.figures} ({len(written)} files)")


def run_watch(options: argparse.Namespace) -> None:
    from litmus.reports.extra import require_packages

    require_packages("PIL")
    from litmus.analysis.records import read_showable

    read_showable(options.paths)
    from litmus.reports.watch import start_watching

    server = start_watching(options.paths, options.port)
    print(f"watching at {server.address} (Ctrl-C ends)", flush=True)
    try:
        server.serve_forever()
    finally:
        server.close()


def run_list(options: argparse.Namespace) -> None:
    for line in LISTS[options.list]():
        print(line)


def _list_tasks() -> list[str]:
    from litmus.tasks import TASKS
    from litmus.tasks.gymnasium_registry import list_environments

    return [*sorted(TASKS), *list_environments()]


def _list_table(rows: dict[str, str]) -> list[str]:
    width = max(map(len, rows), default=0)
    return [f"{name:<{width}}  {text}" for name, text in rows.items()]


LISTS: dict[str, Callable[[], list[str]]] = {
    "tasks": _list_tasks,
    "presets": lambda: _list_table({name: p.summary for name, p in PRESETS.items()}),
    "algorithms": lambda: _list_table({name: a.summary for name, a in ALGORITHMS.items()}),
    "experiments": lambda: ["no experiments are built in yet"],
}


class _offering_resume:  # noqa: N801 - reads as a statement
    """On Ctrl-C, print how to go on."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if (
            kind is not None
            and issubclass(kind, KeyboardInterrupt)
            and (self.path / "config.json").exists()  # else it was stopped before it began
        ):
            print(f"interrupted; go on with: litmus resume {self.path}", file=sys.stderr)


def _print_result(run: Any) -> None:
    last = run.metrics[-1]
    minutes, seconds = divmod(round(last["wall_s"]), 60)
    shown = "" if last["mean"] is None else f", return {last['mean']:.1f}"
    print(
        f"trained {last['steps']:,} steps in {last['episodes_done']:,} episodes, "
        f"{minutes} min {seconds} s{shown}"
    )
    print(f"run        {run.path}")
    print(f"policy     {run.policy_path}")
    print(f"evaluator  {run.evaluator_path}")


def _whole(name: str) -> Callable[[str], int]:
    from litmus.options import parse_whole

    return lambda text: parse_whole(name, text)


def _read_version() -> str:
    try:
        return f"litmus {importlib.metadata.version('litmus-rl')}"
    except importlib.metadata.PackageNotFoundError:
        return "litmus (not installed)"


if __name__ == "__main__":
    sys.exit(main())
