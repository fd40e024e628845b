"""`manifest.json` of a capture: which run it is, what was recorded in which order, and the hashes of its inputs."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from diagnose.capture.errors import CaptureError

FILE = "manifest.json"
SCHEMA = "diagnose.capture/1"
ROLES = ("reference", "low-bit", "second-reference")


@dataclass(slots=True)
class Manifest:
    """Everything but the tensors."""

    role: str
    model: str
    dtype: str | None = None
    """Type of most of the model's parameters."""
    format: str | None = None
    """What the model computes in, such as `fp8-e4m3`: the type of its parameters often does not tell."""
    device: str | None = None
    order: list[str] = field(default_factory=list)
    """Names of the tensors in the order of computation."""
    layers: list[str] = field(default_factory=list)
    """Patterns that chose the modules."""
    positions: int = 0
    """Tokens kept of each tensor, evenly spaced; 0 where all were kept."""
    inputs: list[dict[str, str]] = field(default_factory=list)
    """For each call the hash of each input."""
    files: list[str] = field(default_factory=list)
    stopped: str | None = None
    """Why the recording ended early."""
    versions: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write it as the last file, whole or not at all."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1)
        part = folder / f"{FILE}.part"
        part.write_text(text + "\n", encoding="utf-8")
        part.replace(folder / FILE)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a folder. Raises CaptureError where there is none."""
    try:
        content: Any = json.loads((folder / FILE).read_text(encoding="utf-8"))
    except OSError as error:
        raise CaptureError(f"{folder} is no capture: it has no {FILE}") from error
    except ValueError as error:
        raise CaptureError(f"{folder / FILE} is damaged") from error
    if not isinstance(content, dict) or content.pop("schema", None) != SCHEMA:
        raise CaptureError(f"{folder / FILE} is no manifest of a capture")
    known = Manifest.__dataclass_fields__
    try:
        return Manifest(**{name: value for name, value in content.items() if name in known})
    except TypeError as error:
        raise CaptureError(f"{folder / FILE} lacks fields") from error
