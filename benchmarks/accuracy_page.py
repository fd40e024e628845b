"""docs/accuracy.md: measured accuracy, one section for each benchmark that writes it.

A section lies between two comments and is replaced as a whole; one that is not there yet is added at the end:

    <!-- measured: scenarios -->
    <!-- end of measured -->
"""

from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parent.parent / "docs" / "accuracy.md"
_SECTION = "<!-- measured: {name} -->\n{body}<!-- end of measured -->\n"


def write_section(name: str, title: str, command: str, about: str, table: str, page: Path = PAGE) -> None:
    """Put a section into the page: heading, what is measured and how, the command, and its output."""
    body = f"\n## {title}\n\n{about}\n\n    {command} --write\n\n```text\n{table.rstrip()}\n```\n\n"
    section = _SECTION.format(name=name, body=body)
    text = page.read_text(encoding="utf-8")
    old = re.compile(rf"<!-- measured: {re.escape(name)} -->\n.*?<!-- end of measured -->\n", re.DOTALL)
    replaced, count = old.subn(lambda _: section, text)
    page.write_text(replaced if count else f"{text.rstrip()}\n\n{section}", encoding="utf-8")
