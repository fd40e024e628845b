"""Keeps the program's output that the documents show equal to what it prints: `make docs`.

A document shows output between two comments. The first names the command, run in the repository's root; what stands
between them is replaced:

    <!-- output of: diagnose analyze fixtures/demo -->
    <!-- end of output -->
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path

from click.testing import CliRunner

from diagnose.cli.main import cli

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"(<!-- output of: diagnose (?P<arguments>.+?) -->\n).*?(<!-- end of output -->)", re.DOTALL)


def documents() -> list[Path]:
    """The documents that may show output."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def refreshed(text: str) -> str:
    """A document with all its output printed anew."""
    return BLOCK.sub(lambda match: f"{match[1]}\n```text\n{output(match['arguments'])}```\n\n{match[3]}", text)


def output(arguments: str) -> str:
    """What `diagnose` prints on standard output in the repository's root, where it is no terminal."""
    here = Path.cwd()
    os.chdir(ROOT)
    try:
        result = CliRunner().invoke(cli, shlex.split(arguments), standalone_mode=False)
    finally:
        os.chdir(here)
    if result.exception is not None:
        raise result.exception
    return result.stdout


def main() -> int:
    """Refresh the documents, or with `--check` say which ones are out of date."""
    stale = []
    for path in documents():
        text = path.read_text(encoding="utf-8")
        new = refreshed(text)
        if new == text:
            continue
        stale.append(path.relative_to(ROOT).as_posix())
        if "--check" not in sys.argv:
            path.write_text(new, encoding="utf-8")
    if stale and "--check" in sys.argv:
        sys.stderr.write(f"shows output that is out of date: {', '.join(stale)}; run `make docs`\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
