"""Finding an environment by name, and saying clearly why one cannot be used."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import inspect
import io
import logging
import re
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any, cast

import gymnasium
from gymnasium.envs.registration import EnvSpec, load_env_creator, registry

from litmus.errors import BadInput, one_line, suggest
from litmus.registry import import_module_of
from litmus.tasks.known_images import IMAGE_SETS
from litmus.tasks.registrations import OnlyHere, describe_registration, register_again

logger = logging.getLogger("litmus")


@dataclass(frozen=True)
class EnvironmentDescription:
    registration: str | None
    """The registration in words, for processes that did not run the user's `gymnasium.register`."""
    only_here: str = ""
    """Why only this process can make it; empty where others can."""


def describe_environment(environment_id: str) -> EnvironmentDescription:
    """Look an id up in Gymnasium's registry, importing `module:` first where the id names one."""
    module, short_id = import_module_of(environment_id, "task")
    spec = registry.get(short_id)
    if spec is None:
        names = [*registry, *(list_candidates(module) if module else IMAGE_SETS)]
        raise BadInput(f"unknown task '{environment_id}'{suggest(short_id, names)}")
    try:
        return EnvironmentDescription(describe_registration(spec))
    except OnlyHere as why:
        is_imported = module is not None and module.__name__ != "__main__"
        return EnvironmentDescription(None, "" if is_imported else str(why))


def make_environment(
    environment_id: str,
    registration: str | None = None,
    env_kwargs: Mapping[str, Any] | None = None,
) -> gymnasium.Env[Any, Any]:
    """Make the environment; every failure that is the user's to mend is a BadInput."""
    _, short_id = import_module_of(environment_id, "task")
    if registration is not None:
        register_again(registration)
    describe_environment(environment_id)
    entry = registry[short_id].entry_point
    if "mujoco" in str(entry):
        _send_mujoco_warnings_to_the_log()
    make = functools.partial(gymnasium.make, environment_id, disable_env_checker=True)
    made = make_named(environment_id, make, env_kwargs or {}, entry)
    return cast("gymnasium.Env[Any, Any]", made)


def make_named(
    name: str, make: Callable[..., object], options: Mapping[str, Any], entry: object
) -> object:
    """Call what makes the environment or task `name`; a failure is one line that says why.

    `entry` is the class or function that gets the options in the end.
    """
    try:
        with _quiet():
            return make(**options)
    except gymnasium.error.DependencyNotInstalled as error:
        if needed := _find_family(entry):
            raise BadInput(f"task '{name}' needs {needed[0]}: {needed[1]}") from error
        raise BadInput(f"task '{name}' needs a package: {one_line(error)}") from error
    except ModuleNotFoundError as error:
        raise BadInput(
            f"task '{name}' needs the package '{error.name}', which is not installed"
        ) from error
    except SystemExit as error:
        raise BadInput(f"task '{name}' cannot be made: it calls sys.exit({error})") from error
    except Exception as error:
        wrong = re.search(r"unexpected keyword argument '(\w+)'", str(error))
        if isinstance(error, TypeError) and wrong and wrong[1] in options:
            near = suggest(wrong[1], _list_options(entry))
            raise BadInput(f"task '{name}' has no option '{wrong[1]}'{near}") from error
        raise BadInput(f"task '{name}' cannot be made: {one_line(error)}") from error


def list_environments() -> list[str]:
    """Ids that can be trained on: the newest two versions of each name, by name."""
    versions: dict[str, list[int]] = {}
    for spec in registry.values():
        if spec.namespace is None and spec.version is not None and _is_supported(spec):
            versions.setdefault(spec.name, []).append(spec.version)
    return [
        f"{name}-v{version}" for name in sorted(versions) for version in sorted(versions[name])[-2:]
    ]


NEEDED = {
    "gymnasium.envs.box2d": ("Box2D", "pip install 'litmus-rl[box2d]'"),
    "gymnasium.envs.mujoco": ("mujoco", "pip install 'gymnasium[mujoco]'"),
}
"""What environments of Gymnasium's import, and how it is installed."""


def find_needed(environment_id: str) -> str:
    """What must be installed before a listed environment can be used; empty where nothing."""
    entry = registry[environment_id].entry_point
    if family := _find_family(entry):
        package, command = family
        return "" if _is_installed(package) else f"needs {package}: {command}"
    package = str(entry).partition(".")[0].partition(":")[0]
    return "" if _is_installed(package) else f"needs {package}"


def _find_family(entry: object) -> tuple[str, str] | None:
    """What the environments of this one's package need, and how to get it."""
    return next((needed for start, needed in NEEDED.items() if str(entry).startswith(start)), None)


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):  # made while the program runs, as `__main__` is
        return True


def _is_supported(spec: EnvSpec) -> bool:
    entry = str(spec.entry_point)
    if spec.name in ("GymV21Environment", "GymV26Environment"):
        return False  # bridges to old gym, not tasks
    if ":mujoco" in entry or ".mujoco" in entry:
        return (spec.version or 0) >= 4  # older ones need mujoco-py
    return "toy_text" not in entry and "tabular" not in entry and "phys2d" not in entry


def list_candidates(module: ModuleType) -> list[str]:
    """What of a module might be meant as a task: its own classes and functions."""
    return [
        name
        for name, value in vars(module).items()
        if callable(value) and getattr(value, "__module__", None) == module.__name__
    ]


def _list_options(entry: object) -> list[str]:
    """The keywords of a class or function, or of what Gymnasium knows as 'module:Class'."""
    made_by: Any = load_env_creator(entry) if isinstance(entry, str) else entry
    try:
        named = inspect.signature(made_by).parameters.values()
    except (TypeError, ValueError):  # some that are written in C do not tell
        return []
    return [parameter.name for parameter in named if parameter.kind != parameter.VAR_KEYWORD]


def _send_mujoco_warnings_to_the_log() -> None:
    """By itself MuJoCo prints them and writes a MUJOCO_LOG.TXT wherever one happens to be."""
    with contextlib.suppress(ImportError):
        import mujoco

        mujoco.set_mju_user_warning(lambda message: logger.debug("MuJoCo: %s", message))


_QUIET = threading.RLock()
"""Warnings and standard error belong to the whole process, whichever thread makes it quiet."""


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Gymnasium warns about `-v4` ids on every make; they are supported here on purpose."""
    with _QUIET, warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        yield
