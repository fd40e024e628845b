"""Where the program keeps what is the user's: settings and sessions."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_NAME = "diagnose"


def settings_folder() -> Path:
    """Folder of the settings' file. XDG Base Directory Specification on Linux; macOS has a place of its own."""
    if sys.platform == "darwin" and "XDG_CONFIG_HOME" not in os.environ:
        return Path.home() / "Library" / "Application Support" / _NAME
    return _from_environment("XDG_CONFIG_HOME", Path.home() / ".config") / _NAME


def state_folder() -> Path:
    """Folder of sessions, which are no settings and no cache: nothing else brings them back."""
    if sys.platform == "darwin" and "XDG_STATE_HOME" not in os.environ:
        return Path.home() / "Library" / "Application Support" / _NAME
    return _from_environment("XDG_STATE_HOME", Path.home() / ".local" / "state") / _NAME


def _from_environment(variable: str, default: Path) -> Path:
    """The specification has relative paths ignored."""
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else default
