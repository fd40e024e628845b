"""Tells what the machine lacks before pip starts and fails in its own words.

Runs on Pythons that are too old for the project, hence the plain syntax.
"""

import importlib.util
import os
import shlex
import shutil
import sys
import sysconfig
from pathlib import Path

OLDEST = (3, 11)


def complaint() -> "str | None":
    """The first thing that stands in the way, as one sentence with its cure; None where nothing does."""
    python, version = sys.executable, "{}.{}".format(*sys.version_info)
    if sys.version_info < OLDEST:
        return f"Python 3.11 or newer is needed, {python} is {version}: name one, as in `make setup PYTHON=python3.12`."
    if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
        return (
            f"{python} cannot create virtual environments: install its venv module (Debian, Ubuntu: "
            f"apt install python{version}-venv) or name another Python, as in `make setup PYTHON=python3.12`."
        )
    compiler = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc")[0]
    if shutil.which(compiler) is None:
        return (
            f"durable-rules is built from source and the C compiler `{compiler}` was not found: install one "
            "(Debian, Ubuntu: apt install build-essential; Fedora, RHEL: dnf install gcc) or name yours in CC."
        )
    header = Path(sysconfig.get_paths()["include"]) / "Python.h"
    if not header.exists():
        return (
            f"durable-rules is built from source and {header} is missing: install the headers of Python {version} "
            f"(Debian, Ubuntu: apt install python{version}-dev; Fedora, RHEL: dnf install python{version}-devel)."
        )
    return None


if __name__ == "__main__":
    sys.exit(complaint())
