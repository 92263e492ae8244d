"""The command `litmus`: parse, call, print. Torch is imported only by the commands that need it."""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import io
import json
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from litmus.algorithms import ALGORITHMS, CHOICES, find_options
from litmus.errors import BadInput, RunFailed, spell_option
from litmus.experiments import EXPERIMENTS
from litmus.experiments.command import add_experiment
from litmus.files import read_json
from litmus.options import OneLineParser, add_options, parse_object, parse_whole
from litmus.presets import PRESETS, Preset
from litmus.registry import Entry
from litmus.streams import stdout_for_results

MOST_TEXT = 1000
DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

DESCRIPTION = """\
litmus learns to tell how good any policy network is from what it does in a few
learned states, and uses that judgement to make policies better."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; the exit code says how it went."""
    logging.basicConfig(format="%(levelname)s: %(message)s")
    if isinstance(sys.stdout, io.TextIOWrapper):  # θ and ± on a terminal that lacks them
        sys.stdout.reconfigure(errors="replace")
    words = list(sys.argv[1:] if arguments is None else arguments)
    with contextlib.suppress(FileNotFoundError):  # where the working directory is gone
        if os.getcwd() not in sys.path:  # noqa: PTH109 - `--task my_module:MyTask` of a file here
            sys.path.append(os.getcwd())  # noqa: PTH109
    try:
        options = build_parser(words).parse_args(words)
        run: Callable[[argparse.Namespace], None] = options.run
        run(options)
        sys.stdout.flush()  # here, where a closed pipe is no error
    except BadInput as error:
        print(f"litmus: {_in_one_line(error)}", file=sys.stderr)
        return BAD_INPUT
    except RunFailed as error:
        if error.traceback:  # of the user's own code
            print(error.traceback, file=sys.stderr)
        print(f"litmus: {_in_one_line(error)}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:  # `litmus list tasks | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return DONE


def build_parser(words: Sequence[str] = ()) -> OneLineParser:
    """`words` are what the user typed: what they choose by name brings options of its own."""
    parser = OneLineParser("litmus", description=DESCRIPTION)
    parser.add_argument("--version", action="version", version=_read_version())
    commands = parser.add_subparsers(metavar="COMMAND", required=True, dest="command")
    _add_train(commands, words)
    _add_resume(commands)
    _add_evaluate(commands)
    add_experiment(commands)
    _add_report(commands)
    _add_watch(commands)
    _add_list(commands)
    return parser


def _add_train(commands: Any, words: Sequence[str]) -> None:
    summary = "train a policy and its evaluator"
    parser = commands.add_parser("train", help=summary, description=_sentence(summary))
    algorithms = parser.add_subparsers(metavar="ALGORITHM", required=True, dest="algorithm")
    chosen = words[1] if words[:1] == ["train"] and len(words) > 1 else ""
    own = [chosen] if ":" in chosen else []
    for name in (*ALGORITHMS, *own):
        entry = ALGORITHMS.find(name)
        one = algorithms.add_parser(
            name,
            help=entry.summary,
            description=_sentence(entry.summary),
            usage=f"litmus train {name} --task ID [options]",  # all of them would fill the screen
        )
        if name == chosen:
            _add_training_options(one, name, words)
        one.set_defaults(run=run_train, _parser=one)


def _add_training_options(parser: OneLineParser, algorithm: str, words: Sequence[str]) -> None:
    parser.add_argument(
        "--preset",
        metavar="NAME",
        default="default",
        help="named configuration [default]; see 'litmus list presets'",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="configuration file, such as a run's config.json; options given here take precedence",
    )
    parser.add_argument(
        "--out",
        metavar="DIR",
        help="run directory; it must not exist yet [runs/TASK-ALGORITHM-seedN]",
    )
    parser.add_argument(
        "--resume-if-exists",
        action="store_true",
        help="go on with a run that is in the run directory already; if it is finished, do nothing",
    )
    chosen = _find_choices(words)
    defaults = {**ALGORITHMS.find(algorithm).defaults, **chosen}
    add_options(parser, find_options(algorithm, chosen), defaults)


def _find_choices(words: Sequence[str]) -> dict[str, Any]:
    """What is chosen by name, on the command line or in a configuration file."""
    names = OneLineParser(add_help=False, exit_on_error=False)
    for choice in ("config", *CHOICES):
        names.add_argument(spell_option(choice))
    try:
        given = vars(names.parse_known_args(words)[0])
    except argparse.ArgumentError as error:  # an option without its value
        raise BadInput(str(error)) from error
    path = given.pop("config")
    from_file = {} if path is None else read_json(Path(path))
    chosen = {name: given[name] or from_file.get(name) for name in CHOICES}
    return {name: value for name, value in chosen.items() if value is not None}


def _add_resume(commands: Any) -> None:
    summary = "continue an interrupted run exactly where it stopped"
    parser = commands.add_parser("resume", help=summary, description=_sentence(summary))
    parser.add_argument("path", metavar="RUN", help="run directory")
    parser.add_argument(
        "--steps",
        type=_whole("steps"),
        metavar="N",
        help="make the run longer: train until N steps are done",
    )
    parser.add_argument(
        "--workers",
        type=_whole("workers"),
        metavar="N",
        help="worker processes from now on",
    )
    parser.set_defaults(run=run_resume, _parser=parser)


def _add_evaluate(commands: Any) -> None:
    summary = "measure a policy: run new episodes with it"
    parser = commands.add_parser("evaluate", help=summary, description=_sentence(summary))
    parser.add_argument("path", metavar="RUN|POLICY", help="run directory, or policy.safetensors")
    parser.add_argument(
        "--task", metavar="ID", help="task to measure it in; a run knows its own, a policy does not"
    )
    parser.add_argument(
        "--env-kwargs",
        type=_json("env_kwargs"),
        metavar="JSON",
        help="options of the task, as a JSON object",
    )
    parser.add_argument(
        "--episodes", type=_whole("episodes"), default=10, metavar="N", help="episodes to run [10]"
    )
    parser.add_argument(
        "--seed",
        type=_whole("seed"),
        default=0,
        metavar="N",
        help="of start states and random choices [0]",
    )
    parser.add_argument(
        "--workers",
        type=_whole("workers"),
        metavar="N",
        help="worker processes (default: one per core)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument(
        "--video", metavar="FILE", help="film the first episode: a file ending in .webp or .mp4"
    )
    parser.set_defaults(run=run_evaluate, _parser=parser)


def _add_report(commands: Any) -> None:
    summary = "write one HTML page about runs: curves, probing states, what the evaluator knows"
    parser = commands.add_parser("report", help=summary, description=_sentence(summary))
    parser.add_argument("paths", metavar="RUN", nargs="+", help="run directories")
    parser.add_argument(
        "--out",
        metavar="FILE",
        help="file to write [report.html in the run directory, or beside several]",
    )
    parser.add_argument(
        "--figures", metavar="DIR", help="also write each figure there, as PNG and SVG"
    )
    parser.set_defaults(run=run_report, _parser=parser)


def _add_watch(commands: Any) -> None:
    summary = "serve the report page on this machine while the runs go on"
    parser = commands.add_parser("watch", help=summary, description=_sentence(summary))
    parser.add_argument("paths", metavar="RUN", nargs="+", help="run directories")
    parser.add_argument(
        "--port",
        type=_port,
        default=8008,
        metavar="N",
        help="port; 0 finds a free one [8008]",
    )
    parser.set_defaults(run=run_watch, _parser=parser)


def _add_list(commands: Any) -> None:
    summary = "show what there is to choose from"
    parser = commands.add_parser("list", help=summary, description=_sentence(summary))
    parser.add_argument("list", metavar="|".join(LISTS), choices=tuple(LISTS), help="what to list")
    parser.set_defaults(run=run_list, _parser=parser)


def run_train(options: argparse.Namespace) -> None:
    from litmus.training.api import default_out, make_config, train

    given = dict(vars(options))
    for name in ("run", "_parser", "command"):
        del given[name]
    algorithm, preset = given.pop("algorithm"), given.pop("preset")
    config_file, out = given.pop("config"), given.pop("out")
    goes_on = given.pop("resume_if_exists")
    if out is None:
        out = default_out(make_config(algorithm, given, preset, config_file))
    with _offering_resume(Path(out)), stdout_for_results():
        run = train(
            algorithm, out=out, preset=preset, config=config_file, resume_if_exists=goes_on, **given
        )
    _print_result(run)


def run_resume(options: argparse.Namespace) -> None:
    from litmus.training.api import resume

    with _offering_resume(Path(options.path)), stdout_for_results():
        run = resume(options.path, steps=options.steps, workers=options.workers)
    _print_result(run)


def run_evaluate(options: argparse.Namespace) -> None:
    from litmus.training.measuring import find_subject, measure

    if options.video is not None:
        from litmus.reports.video import check_video

        check_video(options.video)
    with stdout_for_results():
        subject = find_subject(options.path, options.task, options.env_kwargs)
        measured = measure(subject, options.episodes, options.seed, options.workers)
    if options.json:
        print(json.dumps(_describe_measurement(options.path, subject, measured)))
    else:
        _print_measurement(measured)
        if subject.run is not None and options.task is None and options.env_kwargs is None:
            _print_final_return(options.path)
    if options.video is not None:
        from litmus.reports.video import record_video

        video = record_video(Path(options.video), subject.task, subject.policy, options.seed)
        if not options.json:
            part = "" if video.is_whole else "the beginning of "
            print(
                f"video      {video.path} ({part}the first episode, {video.seconds:.1f} s, "
                f"return {video.return_:.1f})"
            )


def _describe_measurement(path: str, subject: Any, measured: Any) -> dict[str, Any]:
    from litmus.runs.metrics import finite_or_none

    return {
        "path": str(path),
        "task": subject.task_name,
        "episodes": len(measured.returns),
        "mean": finite_or_none(measured.mean),
        "std": finite_or_none(measured.std),
        "standard_error": finite_or_none(measured.standard_error),
        "returns": finite_or_none(measured.returns),
        "training_returns": finite_or_none(measured.training_returns),
        "steps": measured.steps,
        "final_return": None if subject.run is None else subject.run.final_return,
    }


def _print_measurement(measured: Any) -> None:
    if len(measured.returns) == 1:
        print(f"return {measured.mean:.1f} (one episode)")
    else:
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
    from litmus.reports.report import build_report, check_folder, check_out, choose_out

    out = options.out or choose_out(options.paths)
    check_out(out)
    if options.figures:
        check_folder(options.figures)
    with stdout_for_results():
        report = build_report(options.paths)
    print(f"report   {report.write(out)}")
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
    from litmus.tasks.gymnasium_registry import find_needed, list_environments

    names = list_environments()
    width = max(map(len, names), default=0)
    return [f"{name:<{width}}  {find_needed(name)}".rstrip() for name in names]


def _list_table(rows: Mapping[str, Preset | Entry]) -> list[str]:
    width = max(map(len, rows), default=0)
    return [f"{name:<{width}}  {one.summary}" for name, one in rows.items()]


LISTS: dict[str, Callable[[], list[str]]] = {
    "tasks": _list_tasks,
    "presets": lambda: _list_table(PRESETS),
    "algorithms": lambda: _list_table(ALGORITHMS),
    "architectures": lambda: _list_table(CHOICES["architecture"]),
    "evaluators": lambda: _list_table(CHOICES["evaluator"]),
    "experiments": lambda: _list_table(EXPERIMENTS),
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


def _in_one_line(error: BadInput | RunFailed) -> str:
    """Whatever the user typed is repeated in it: line breaks and pages of text, too."""
    text = " ".join(error.for_shell.split())
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]} …"


def _print_result(run: Any) -> None:
    last = run.metrics[-1]
    minutes, seconds = divmod(round(last["wall_s"]), 60)
    print(
        f"trained {last['steps']:,} steps in {last['episodes_done']:,} episodes, "
        f"{minutes} min {seconds} s"
    )
    _print_final_return(run.path)
    print(f"run        {run.path}")
    print(f"policy     {run.policy_path}")
    if run.evaluator_path.exists():
        print(f"evaluator  {run.evaluator_path}")


def _print_final_return(path: Path | str) -> None:
    """The same number wherever a run is spoken of: here, after training and in its report."""
    from litmus.runs.final import describe_final_return
    from litmus.runs.run import Run

    if final := describe_final_return(Run(path).metrics):
        print(final)


def _whole(name: str) -> Callable[[str], int]:
    return lambda text: parse_whole(name, text)


def _json(name: str) -> Callable[[str], Any]:
    return lambda text: parse_object(name, text)


def _port(text: str) -> int:
    port = _whole("port")(text)
    if not 0 <= port <= 65535:
        raise BadInput(f"--port must be between 0 and 65535, not {port}")
    return port


def _sentence(summary: str) -> str:
    return summary[:1].upper() + summary[1:] + "."


def _read_version() -> str:
    try:
        return f"litmus {importlib.metadata.version('litmus-rl')}"
    except importlib.metadata.PackageNotFoundError:
        return "litmus (not installed)"


if __name__ == "__main__":
    sys.exit(main())
