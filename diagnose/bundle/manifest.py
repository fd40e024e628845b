"""The manifest of a bundle, schema `diagnose.bundle/1`.

The number goes up only when a reader of the old number would misread the new form. Everything else is added: readers
accept fields that they do not know, and all fields but the schema may be absent.
"""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from diagnose.bundle.errors import BundleError

SCHEMA = "diagnose.bundle/1"
MANIFEST_NAME = "manifest.json"


class _Part(BaseModel):
    """Unlike facts, parts of a manifest may come from a newer version: what is unknown is passed over."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class Privileges(_Part):
    """As whom the recording was made."""

    user: str | None = None
    root: bool | None = None


class Recorder(_Part):
    """How one recorder ended."""

    name: str
    status: str = Field("unknown", description="running, done, partial, timed-out, crashed, absent, skipped ...")
    seconds: float | None = None
    detail: str | None = None
    lacked: tuple[str, ...] = Field((), description="What could not be read for want of which privilege")
    files: tuple[str, ...] = Field((), description="Files that it wrote, relative to the manifest")


class Member(_Part):
    """A file of the bundle as it was when the bundle was written."""

    path: str
    bytes: int = Field(ge=0)
    sha256: str


class LeftOut(_Part):
    """A file that redaction left out."""

    path: str
    why: str


class Manifest(_Part):
    """What was recorded, where, when and how well."""

    schema_: str = Field(alias="schema")
    tool_version: str | None = None
    host: str | None = None
    started_at: datetime | None = None
    ended_at: datetime | None = Field(None, description="Absent in a recording that was interrupted")
    clock_offset_seconds: float | None = None
    privileges: Privileges = Privileges()
    simulated: str | None = Field(None, description="Name of the scenario, where no real machine was read")
    redacted: bool = False
    interval_seconds: float | None = None
    duration_seconds: float | None = None
    recorders: tuple[Recorder, ...] = ()
    members: tuple[Member, ...] = Field((), description="All other files; absent in a folder that is no bundle yet")
    left_out: tuple[LeftOut, ...] = ()


def parse_manifest(text: str) -> tuple[Manifest, dict[str, Any]]:
    """The manifest and the same as plain JSON, with all that this version does not know.

    Raises:
        BundleError: it is no manifest, or one of another schema.
    """
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BundleError(f"{MANIFEST_NAME} is cut off or damaged") from error
    schema = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(schema, str) or not schema.startswith("diagnose.bundle/"):
        raise BundleError(f"{MANIFEST_NAME} is none of a bundle")
    if schema != SCHEMA:
        raise BundleError(f"the bundle has the schema {schema}; this version reads {SCHEMA}")
    try:
        return Manifest.model_validate(content), content
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise BundleError(f"{MANIFEST_NAME}: {where}: {first['msg']}") from error
