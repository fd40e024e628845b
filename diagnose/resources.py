"""Where the files lie that come with the program: inside the package once installed, beside it in a checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def bundled(name: str) -> Path:
    """The folder `rules` or `fixtures` of this installation; hatch_build.py puts a `_` before the name in wheels."""
    inside = _PACKAGE / f"_{name}"
    return inside if inside.is_dir() else _PACKAGE.parent / name
