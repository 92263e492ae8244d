"""The packages of an extra, or one line that says how to get them."""

from __future__ import annotations

import importlib.util

from litmus.errors import BadInput

DISTRIBUTIONS = {"PIL": "Pillow", "sb3_contrib": "sb3-contrib"}


def require_packages(*modules: str, extra: str = "report") -> None:
    missing = [
        DISTRIBUTIONS.get(name, name) for name in modules if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise BadInput(
            f"this needs {' and '.join(missing)}, which is not installed: "
            f"pip install 'litmus-rl[{extra}]'"
        )
