"""Builds the stand-in library with the system's C compiler, once for each version of its source."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import subprocess
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parent / "native"
LIBRARY = "libnvidia-ml.so.1"
_OPTIONS = ("-std=c11", "-O2", "-fPIC", "-shared", "-fvisibility=hidden", f"-Wl,-soname,{LIBRARY}")
_LIMIT_SECONDS = 60


class BuildError(Exception):
    """The library cannot be built; the text says why and what to do."""


def library_folder() -> Path:
    """The folder with the built library, for LD_LIBRARY_PATH. Raises BuildError."""
    compiler = _compiler()
    folder = _cache() / _key(compiler)
    if not (folder / LIBRARY).is_file():
        _build(compiler, folder)
    return folder


def _compiler() -> list[str]:
    named = os.environ.get("CC")
    words = shlex.split(named) if named else ["cc"]
    found = shutil.which(words[0]) or (None if named else shutil.which("gcc") or shutil.which("clang"))
    if found is None:
        raise BuildError(
            f"simulating a machine needs a C compiler, and {words[0]!r} was not found; install gcc or clang, or set CC"
        )
    return [found, *words[1:]]


def _cache() -> Path:
    """`diagnose` in the user's cache folder (XDG Base Directory Specification: relative paths there are ignored)."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else Path.home() / ".cache") / "diagnose" / "nvml-stand-in"


def _key(compiler: list[str]) -> str:
    """Tells builds apart: by source, compiler (path, size and time of change) and options."""
    status = Path(compiler[0]).stat()
    digest = hashlib.sha256(repr((compiler, status.st_size, status.st_mtime_ns, _OPTIONS)).encode())
    for path in sorted(SOURCE.iterdir()):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:20]


def _build(compiler: list[str], folder: Path) -> None:
    """Compile into a folder of our own and rename it, so that two builds at a time do no harm."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
            made = Path(temporary) / "made"
            made.mkdir()
            sources = [str(path) for path in sorted(SOURCE.glob("*.c"))]
            _compile([*compiler, *_OPTIONS, "-o", str(made / LIBRARY), *sources])
            if not (folder / LIBRARY).is_file():
                folder.mkdir(exist_ok=True)
                (made / LIBRARY).replace(folder / LIBRARY)
    except OSError as error:
        raise BuildError(f"the library that simulates a machine cannot be written: {error}") from error


def _compile(command: list[str]) -> None:
    try:
        result = subprocess.run(command, capture_output=True, text=True, timeout=_LIMIT_SECONDS, check=False)
    except subprocess.TimeoutExpired as error:
        raise BuildError(f"{command[0]} did not finish within {_LIMIT_SECONDS} seconds") from error
    if result.returncode != 0:
        reason = next((line for line in result.stderr.splitlines() if "error" in line), result.stderr.strip()[-300:])
        raise BuildError(f"{command[0]} could not build the library that simulates a machine: {reason}")
