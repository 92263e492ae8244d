"""The packages of the `[report]` extra, or one line that says how to get them."""

from __future__ import annotations

import importlib.util

from litmus.errors import BadInput

DISTRIBUTIONS = {"PIL": "Pillow"}


def require_packages(*modules: str) -> None:
    missing = [
        DISTRIBUTIONS.get(name, name) for name in modules if importlib.util.find_spec(name) is None
    ]
    if missing:
        raise BadInput(
            f"this needs {' and '.join(missing)}, which is not installed: "
            "pip install 'litmus-rl[report]'"
        )
