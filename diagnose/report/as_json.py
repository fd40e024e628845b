"""The report as JSON."""

from __future__ import annotations

from typing import TextIO

from diagnose.report.model import Report


def write_json(report: Report, stream: TextIO, top: int | None) -> None:
    """Write the report; with `top` only that many causes. Nothing else goes to the stream."""
    shown = report if top is None else report.model_copy(update={"causes": report.causes[:top]})
    stream.write(shown.model_dump_json(by_alias=True, indent=1) + "\n")
