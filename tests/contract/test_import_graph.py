"""Knowledge goes one way: what a package may import, and that no two modules import each other."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from pathlib import Path

import pytest

import litmus

SOURCE = Path(litmus.__file__).parent

ORDER = (
    *("counts", "errors", "registry", "fields", "option_list", "config", "options"),
    *("files", "streams", "seeding", "capture"),
    *("tasks", "policies", "rollouts", "evaluators", "algorithms", "presets", "runs"),
    *("training", "analysis", "judging", "reports", "experiments", "cli"),
)
"""Each knows those before it and none after it. `native` stands aside: its kernels are handed to
whoever can use them, under the contracts of that package."""

TORCH_FREE = ("litmus.cli", "litmus.rollouts.worker", "litmus.tasks.control")
"""Torch takes a second to import: the help, workers and tasks do without."""


def find_modules() -> dict[str, Path]:
    """Every module of litmus by its name."""
    modules = {}
    for path in SOURCE.rglob("*.py"):
        parts = ("litmus", *path.relative_to(SOURCE).with_suffix("").parts)
        modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return modules


MODULES = find_modules()
TREES = {name: ast.parse(path.read_text()) for name, path in MODULES.items()}


@functools.cache
def read_imports(module: str, *, at_import_only: bool = False) -> frozenset[str]:
    """What a module imports: anywhere in it, for type checking too; or only what is imported along
    with it."""
    return frozenset(_find_imports(module, at_import_only))


def _find_imports(module: str, at_import_only: bool) -> Iterator[str]:
    tree = TREES[module]
    for node in _walk_top(tree) if at_import_only else ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in MODULES else node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def _walk_top(tree: ast.AST) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        yield node
        yield from _walk_top(node)


@functools.cache
def build_graph() -> dict[str, set[str]]:
    # The package's own front door re-exports what users need; nothing inside goes through it.
    return {
        name: {found for found in read_imports(name) if found in MODULES and found != name}
        for name in MODULES
        if name != "litmus"
    }


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Some cycle, or nothing."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for following in sorted(graph.get(name, ())):
            if cycle := visit(following, [*path, name]):
                return cycle
        done.add(name)
        return []

    return next((cycle for name in sorted(graph) if (cycle := visit(name, []))), [])


def room_of(module: str) -> str:
    return module.split(".")[1]


def test_a_cycle_would_be_found() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_modules_import_each_other_not_even_lazily() -> None:
    assert find_cycle(build_graph()) == []


def test_nothing_inside_goes_through_the_front_door() -> None:
    through = [name for name in MODULES if "litmus" in read_imports(name)]
    assert through == []


@pytest.mark.parametrize("module", sorted(set(MODULES) - {"litmus"}))
def test_a_package_knows_only_those_before_it(module: str) -> None:
    room = room_of(module)
    if room == "native":
        return
    known = {room_of(found) for found in build_graph()[module]} - {"native"}
    allowed = ORDER[: ORDER.index(room) + 1]
    assert known <= set(allowed), f"{module} imports {sorted(known - set(allowed))}"


def test_what_reads_runs_does_not_reach_into_training() -> None:
    reading = [name for name in MODULES if name.startswith(("litmus.analysis", "litmus.reports"))]
    assert reading
    for name in reading:
        assert "training" not in {room_of(found) for found in build_graph()[name]}, name


def test_no_import_is_relative() -> None:
    """Those would not be seen here."""
    for name, tree in TREES.items():
        nodes = ast.walk(tree)
        assert not any(isinstance(node, ast.ImportFrom) and node.level for node in nodes), name


def test_every_room_has_its_place() -> None:
    assert {room_of(name) for name in MODULES if name != "litmus"} <= {*ORDER, "native"}


def test_nothing_outside_imports_a_type_of_the_kernels() -> None:
    """Functions are called; what they give back is used under a contract of ours."""
    found = [
        f"{name}: {alias.name}"
        for name, tree in TREES.items()
        if not name.startswith("litmus.native")
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("litmus.native")
        for alias in node.names
        if alias.name[:1].isupper()
    ]
    assert found == []


@pytest.mark.parametrize("module", TORCH_FREE)
def test_torch_is_not_imported_along_with(module: str) -> None:
    seen: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name in seen or name not in MODULES:
            continue
        seen.add(name)
        parents = [name.rpartition(".")[0]] if "." in name else []
        waiting += [*parents, *read_imports(name, at_import_only=True)]
    guilty = [
        name
        for name in sorted(seen)
        if "torch" in {found.split(".")[0] for found in read_imports(name, at_import_only=True)}
    ]
    assert guilty == []
