"""The report as JSON."""

from __future__ import annotations

import json
from typing import TextIO

from pydantic import BaseModel

from diagnose.report.model import Report


def write_json(report: Report, stream: TextIO, top: int | None) -> None:
    """Write the report; with `top` only that many causes. Nothing else goes to the stream."""
    write_model(report if top is None else report.model_copy(update={"causes": report.causes[:top]}), stream)


def write_model(model: BaseModel, stream: TextIO) -> None:
    """Write a part of the report. ASCII alone, so that it stays valid in every encoding and with any file's name."""
    stream.write(json.dumps(model.model_dump(mode="json", by_alias=True), indent=1) + "\n")
