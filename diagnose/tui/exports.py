"""Files that the operator asks for: reports, and words to copy."""

from __future__ import annotations

import io
from pathlib import Path

from diagnose.report.model import Report

_ENDINGS = {"markdown": "md", "html": "html", "json": "json"}


def write_report(report: Report, style: str, folder: Path) -> Path:
    """Write a report under a name that is not taken; its path. Raises OSError."""
    words = written(report, style)
    stamp = report.generated_at.strftime("%Y%m%d-%H%M%S")
    number = 1
    while True:
        tail = "" if number == 1 else f"-{number}"
        path = folder / f"diagnose-{stamp}{tail}.{_ENDINGS[style]}"
        try:
            with path.open("x", encoding="utf-8", errors="backslashreplace") as file:
                file.write(words)
        except FileExistsError:
            number += 1
            continue
        return path


def written(report: Report, style: str) -> str:
    """The report as text of a style: markdown, html or json."""
    if style == "json":
        from diagnose.report.as_json import write_json

        stream = io.StringIO()
        write_json(report, stream, None)
        return stream.getvalue()
    if style == "html":
        from diagnose.report.html import html

        return html(report)
    from diagnose.report.markdown import markdown

    return markdown(report)


def leave_copy(words: str, folder: Path | None) -> Path | None:
    """Put words into a file beside the session, for terminals that take no copy; None where that fails."""
    if folder is None:
        return None
    path = folder / "copied.txt"
    try:
        path.write_text(words + "\n", encoding="utf-8")
    except OSError:
        return None
    return path
