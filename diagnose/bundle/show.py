"""Says in a few lines what a bundle holds."""

from __future__ import annotations

from datetime import datetime
from typing import TextIO

from collectors.archive_names import shown
from collectors.compression import ReadError
from diagnose.bundle.manifest import Manifest
from diagnose.bundle.read import Bundle
from diagnose.bundle.write import measure


def write_summary(bundle: Bundle, stream: TextIO) -> None:
    """Manifest, recorders and files with their sizes."""
    manifest = bundle.manifest
    for word, value in _head(manifest):
        stream.write(f"{word:<10} {shown(value)}\n")
    if manifest.recorders:
        stream.write("\nRecorders\n")
    for recorder in manifest.recorders:
        seconds = f"{recorder.seconds:.1f} s" if recorder.seconds is not None else ""
        detail = f"  {shown(recorder.detail)}" if recorder.detail else ""
        stream.write(f"  {shown(recorder.name):<20} {shown(recorder.status):<12} {seconds:>9}{detail}\n")
        for sentence in recorder.lacked:
            stream.write(f"  {'':<20} lacked: {shown(sentence)}\n")
    stream.write("\nFiles\n")
    for file in bundle:
        try:
            size, _ = measure(file.content)
        except ReadError:
            continue
        stream.write(f"  {size:>13,}  {shown(file.path)}\n")
    for left_out in manifest.left_out:
        stream.write(f"  {'left out':>13}  {shown(left_out.path)}: {shown(left_out.why)}\n")
    if bundle.problem is not None:
        stream.write(f"\n{bundle.problem}\n")


def _head(manifest: Manifest) -> list[tuple[str, str]]:
    rows = [("Host", manifest.host or "not named"), ("Recorded", _period(manifest))]
    if manifest.simulated:
        rows.append(("Simulated", f"{manifest.simulated}: no real machine was read"))
    if manifest.privileges.user is not None or manifest.privileges.root is not None:
        rows.append(("As", "root" if manifest.privileges.root else f"{manifest.privileges.user or 'a user'}, not root"))
    rows.append(("Redacted", "yes" if manifest.redacted else "no: it holds names, addresses and serial numbers"))
    rows.append(("Schema", f"{manifest.schema_}, written by version {manifest.tool_version or 'unknown'}"))
    return rows


def _period(manifest: Manifest) -> str:
    if manifest.started_at is None:
        return "at an unknown time"
    begin = _time(manifest.started_at)
    if manifest.ended_at is None:
        return f"from {begin}; interrupted before its end"
    if manifest.duration_seconds is None:
        return f"from {begin} to {_time(manifest.ended_at)}"
    rate = f", every {manifest.interval_seconds:g} s" if manifest.interval_seconds else ""
    return f"from {begin} to {_time(manifest.ended_at)} ({manifest.duration_seconds:g} s{rate})"


def _time(value: datetime) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S %Z").strip()
