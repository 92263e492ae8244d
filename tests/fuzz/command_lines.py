"""Malformed command lines: each must be refused in one line, or work."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness import tiny, to_arguments

from fuzz.cases import HARMLESS, NAMED, WRONG, Outcome
from fuzz.judging_lines import make_judging_line
from fuzz.looks import Enough, counting_rounds
from litmus.cli import main

NUMBERS = [
    *(
        "",
        "x",
        "-1",
        "-0",
        "0",
        "2.5",
        "1e30",
        "1e400",
        "-1e30",
        "NaN",
        "inf",
        "-inf",
        "0x10",
        "1e",
    ),
    *(
        "1_0_",
        "½",
        "१२",
        "∞",
        "1 2",
        " 3 ",
        "3;",
        "--",
        "-",
        "999999999999999999999999",
        "[1]",
        "1,5",
    ),
    *("None", "true", "\u202e3", "🦊", "1e12", "'1'", "$(x)", "%s", "\n", "\t7", "a" * 5000),
]
NAMES = [
    *("", " ", ":", "::", "a:", ":a", "os:path", "os:nothing", "json:JSONDecoder", "toys:Walk:x"),
    *(
        "toys:HalfTask",
        "toys:np",
        "toys",
        "toys:",
        "nowhere:Class",
        "../toys:Walk",
        "1:2",
        "a.b.c:D",
    ),
    *("Swimmer", "Swimmer-v99", "swimmer-v5", "ÄÖ-v1", "🦊-v0", "a" * 3000, "Hopper-v5 ", "-v1"),
    *("toys:__doc__", "builtins:print", "builtins:exit", "sys:exit", "toys:make_scaled_walk"),
    *("misbehaving:ExitsWhenMade", "misbehaving:Wide", "\n", "%s", "toys:ToyDictWalk-v0"),
]
OBJECTS = [
    *("", "{", "{}", "[]", "null", "3", "'{}'", '{"a"}', '{"a": NaN}', '{"a": 1e999}', '{"": 1}'),
    *(
        '{"self": 1}',
        '{"x y": 1}',
        "[" * 99999,
    ),
    *('{"length": 3, "length": 2}', '{"é": {"é": []}}', '"\\ud800"', '{"render_mode": "human"}'),
]
PATHS = [
    *("", " ", ".", "..", "/", "nowhere", "nowhere/deeper", "file", "file/below", "folder", "fifo"),
    *(
        "/dev/null",
        "/dev/zero",
        "/proc/self",
        "/proc/x",
        "~",
        "a" * 300,
        "é/ü",
        "-",
        "binary",
        "link",
    ),
    *(
        "whole",
        "whole/",
        "whole/config.json",
        "whole/policy.safetensors",
        "empty",
        "deep.json",
        "\n",
    ),
]
TRAIN = (
    "train",
    "train",
    "train",
    "train",
    "evaluate",
    "resume",
    "report",
    "watch",
    "list",
    "judging",
    "judging",
    "judging",
    "other",
)


def make_folder(folder: Path, whole: Path) -> None:
    """What the odd paths lead to."""
    (folder / "file").write_text("text")
    (folder / "binary").write_bytes(bytes(range(256)))
    (folder / "deep.json").write_text("[" * 100_000)
    (folder / "folder").mkdir()
    (folder / "folder" / "something").touch()
    (folder / "empty").mkdir()
    os.mkfifo(folder / "fifo")
    (folder / "link").symlink_to("link")
    shutil.copytree(whole, folder / "whole")


def make_line(chance: random.Random) -> list[str]:
    kind = chance.choice(TRAIN)
    if kind == "train":
        return _make_train(chance)
    if kind == "judging":
        return make_judging_line(chance, [*NUMBERS, *NAMES, *PATHS])
    if kind == "list":
        return ["list", chance.choice([*NAMES, "tasks", "presets", "taks", "evaluators x"])]
    if kind == "other":
        odd = ["", "-", "--", "trian", "TRAIN", "--versio", "-h", "--version", "🦊", "help"]
        return chance.choice([[], [chance.choice(odd)], [chance.choice(odd), chance.choice(odd)]])
    path, number = chance.choice(PATHS), chance.choice(NUMBERS)
    if kind == "watch":  # never one that would serve
        return ["watch", *chance.choice([[f"nowhere{path[:50]}"], ["whole", "--port", "1e9"], []])]
    options = {
        "evaluate": ["--episodes", "--seed", "--workers", "--json", "--jsn", "--video"],
        "resume": ["--steps", "--workers", "--stepps", "--seed"],
        "report": ["--out", "--figures", "--ot"],
    }[kind]
    option = chance.choice(options)
    value = chance.choice(PATHS) if kind == "report" else number
    line = [
        kind,
        chance.choice([path, "whole"]),
        option,
        *([value] if chance.random() < 0.8 else []),
    ]
    return [*line, *line[1:]] if chance.random() < 0.1 else line


def _make_train(chance: random.Random) -> list[str]:
    """A tiny run with some words wrong."""
    algorithm = chance.choice(["pssvf", "pssvf", "vanilla-pssvf"])
    options = tiny(algorithm, task="toys:ToyWalk-v0", steps=16)
    pairs = {
        f"--{name.replace('_', '-')}": to_arguments({name: options[name]})[1:] for name in options
    }
    pairs |= {"--out": ["run"], "--noise": ["0.05"], "--env-kwargs": ['{"length": 3}']}
    pairs |= {"--architecture": ["mlp"], "--checkpoint-seconds": ["30"], "--preset": ["default"]}
    for _ in range(chance.choice((1, 1, 2, 3))):
        _spoil(pairs, chance)
    words = [word for option, values in pairs.items() for word in (option, *values)]
    if chance.random() < 0.05:
        words.insert(chance.randrange(len(words)), chance.choice(NUMBERS))
    if chance.random() < 0.05:
        algorithm = chance.choice(NAMES)
    return ["train", algorithm, *words]


def _spoil(pairs: dict[str, list[str]], chance: random.Random) -> None:
    option = chance.choice(list(pairs))
    how = chance.random()
    if how < 0.5:
        pairs[option] = [chance.choice(_list_odd_values(option))]
    elif how < 0.6:
        pairs[option] = []
    elif how < 0.7:
        pairs.pop(option)
    elif how < 0.8:
        pairs[option[:-1] + chance.choice("xyz-=")] = pairs.pop(option)
    elif how < 0.9:
        values = pairs[option]
        pairs[option] = [*values, option, *values]
    else:
        other = [
            "--probing-low",
            "--spread",
            "--tensorboard",
            "--no-overlap",
            "--config",
            "--recency",
        ]
        pairs[chance.choice(other)] = [chance.choice([*NUMBERS, *PATHS])]


def _list_odd_values(option: str) -> list[str]:
    if option in ("--task", "--architecture", "--evaluator", "--preset", "--device"):
        return NAMES
    if option == "--env-kwargs":
        return OBJECTS
    return PATHS if option in ("--out", "--config") else NUMBERS


@dataclass(frozen=True)
class CommandLines:
    seed: int
    whole: Path
    folder: Path

    def __call__(self, number: int) -> Outcome:
        line = make_line(random.Random(f"{self.seed} line {number}"))
        folder = self.folder / f"line-{number}"
        folder.mkdir()
        make_folder(folder, self.whole)
        before = Path.cwd()
        os.chdir(folder)
        try:
            kind, why = classify_line(line)
        finally:
            os.chdir(before)
            shutil.rmtree(folder, ignore_errors=True)
        return Outcome(number, kind, json.dumps(line)[:400], why)


def classify_line(line: list[str]) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), counting_rounds():
        try:
            code = main(line)
        except SystemExit as error:  # --help and --version
            code = int(error.code or 0)
        except Enough:
            return HARMLESS, "it runs"
    if code == 0:
        return HARMLESS, "it works"
    lines = [one for one in err.getvalue().splitlines() if not one.startswith("WARNING: ")]
    is_one_line = len(lines) == 1 and lines[0].startswith("litmus: ")
    if (code == 2 and is_one_line) or (code == 1 and lines and lines[-1].startswith("litmus: ")):
        return NAMED, f"exit code {code}: {lines[-1]}"
    return WRONG, f"exit code {code}: {err.getvalue()[-2000:]}"
