"""Command-line options from dataclasses: field docstrings are the help, types are the parsers.

Every mistake is one line that names the problem and the nearest valid choice.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import inspect
import json
import re
import shutil
import textwrap
import typing
from collections.abc import Callable, Collection, Mapping
from functools import lru_cache, partial
from typing import Any, Literal, NoReturn

from litmus.errors import BadInput, option, spell_option, suggest
from litmus.option_list import Option, name_owner
from litmus.registry import Registry


class OneLineParser(argparse.ArgumentParser):
    """An argument parser whose errors are BadInput, with a suggestion."""

    registries: Mapping[str, Registry] = {}
    """By the option that chooses from it: what else could be chosen has options of its own."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(
            *args, **{"formatter_class": _make_formatter, "allow_abbrev": False, **options}
        )

    def error(self, message: str) -> NoReturn:
        for action in self._actions:
            if action.required and action.choices and message.endswith(f": {action.metavar}"):
                raise BadInput(f"no {action.metavar} given{suggest('', map(str, action.choices))}")
        raise BadInput(message)

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            parser = getattr(parsed, "_parser", self)
            word = unknown[0].partition("=")[0]
            kind = "option" if word.startswith("-") else "argument"
            known = parser.known_options()
            hint = name_owner(_to_name(word), [*map(_to_name, known)], parser.registries)
            hint = hint or suggest(word, known)
            raise BadInput(f"unknown {kind} '{word}'{hint}")
        return parsed

    def known_options(self) -> list[str]:
        return [name for action in self._actions for name in action.option_strings]

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:
        """Parse one value; argparse would put words of its own in the place of a BadInput's."""
        return action.type(arg_string) if callable(action.type) else arg_string

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices = [str(choice) for choice in action.choices or ()]
        if choices and str(value) not in choices:
            what = option(action.dest) if action.option_strings else action.dest
            raise BadInput(f"unknown {what} '{value}'{suggest(str(value), choices)}")


def _to_name(word: str) -> str:
    """Of the field that an option is typed for."""
    return word.removeprefix("--").replace("-", "_")


def add_options(
    parser: argparse.ArgumentParser,
    options: Mapping[str, Option],
    defaults: Mapping[str, Any],
    useless: Collection[str] = (),
) -> None:
    """Add each option of a configuration; those not given stay out of the namespace.

    `defaults` are shown in the place of the options' own; what is `useless` is not shown.
    """
    for name, one in options.items():
        if one.spec.metadata.get("is_argument"):
            continue
        text = field_docstrings(one.owner).get(name, f"Of the {_show_owner(one)}.")
        text = " ".join(text.split()).replace("%", "%%")
        text += _describe_default(defaults.get(name, one.default))
        text = argparse.SUPPRESS if name in useless else text
        common: dict[str, Any] = {"help": text, "default": argparse.SUPPRESS}
        hint = one.hint
        if hint is bool:
            parser.add_argument(spell_option(name), action=argparse.BooleanOptionalAction, **common)
            continue
        if type(None) in typing.get_args(hint):
            hint = typing.get_args(hint)[0]
        if typing.get_origin(hint) is Literal:
            common |= {"choices": typing.get_args(hint), "metavar": "|".join(typing.get_args(hint))}
        elif typing.get_origin(hint) is tuple:
            kind = typing.get_args(hint)[0]
            common |= {"nargs": "*", "metavar": METAVARS[kind]}
            common |= {"type": partial(PARSERS[kind], name)} if kind in PARSERS else {}
        elif typing.get_origin(hint) is dict:
            common |= {"type": partial(parse_object, name), "metavar": "JSON"}
        elif hint in PARSERS:
            common |= {"type": partial(PARSERS[hint], name), "metavar": METAVARS[hint]}
        else:
            common["metavar"] = NAMED.get(name, "TEXT")
        parser.add_argument(spell_option(name), **common)


def _show_owner(one: Option) -> str:
    return f"{(one.group or '').removesuffix('_options')} {one.owner.__name__}".strip()


@lru_cache(maxsize=32)
def field_docstrings(config: type) -> dict[str, str]:
    """The string under each field, base classes first."""
    docs: dict[str, str] = {}
    for owner in reversed(config.__mro__):
        if not dataclasses.is_dataclass(owner):
            continue
        try:
            source = inspect.getsource(owner)
        except (OSError, TypeError):  # typed into a notebook
            continue
        (tree,) = ast.parse(textwrap.dedent(source)).body
        assert isinstance(tree, ast.ClassDef)
        for field, below in zip(tree.body, tree.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
            ):
                docs[field.target.id] = str(below.value.value)
    return docs


def add_whole(
    parser: argparse.ArgumentParser, name: str, text: str, default: int | None = None
) -> None:
    """Add an option that is a whole number, with its help."""
    parse = partial(parse_whole, name)
    parser.add_argument(spell_option(name), type=parse, default=default, metavar="N", help=text)


def parse_whole(name: str, text: str) -> int:
    """'3000000', '3,000,000', '3_000_000' and '3e6' are the same whole number."""
    is_grouped = re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", text.strip())
    number = _parse_number(name, text.replace(",", "") if is_grouped else text)
    if not number.is_integer():
        raise BadInput(f"{option(name)} takes a whole number, not '{text}'")
    return int(number)


def _parse_number(name: str, text: str) -> float:
    try:
        number = float(text)
    except ValueError as error:
        raise BadInput(f"{option(name)} takes a number, not '{text}'") from error
    if number - number != 0:
        raise BadInput(f"{option(name)} takes a finite number, not '{text}'")
    return number


PARSERS: dict[type, Callable[[str, str], Any]] = {int: parse_whole, float: _parse_number}
NAMED = {"task": "ID", "architecture": "NAME", "evaluator": "NAME", "ray_address": "ADDRESS"}
METAVARS = {int: "N", float: "X", str: "TEXT"}


def parse_object(name: str, text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadInput(
            f"{option(name)} takes a JSON object such as '{{\"x\": 1}}', not '{text}'"
        ) from error


def _describe_default(value: Any) -> str:
    if value is None or value == {}:
        return ""
    if isinstance(value, tuple | list):
        value = " ".join(map(str, value)) or "none"
    if isinstance(value, bool):
        value = "on" if value else "off"
    return f" [{value}]"


def _make_formatter(prog: str) -> argparse.HelpFormatter:
    width = min(shutil.get_terminal_size().columns, 100) - 2
    return argparse.HelpFormatter(prog, max_help_position=30, width=width)
