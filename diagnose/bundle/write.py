"""Writes a bundle: a tar archive packed by zstd, the manifest first, then all files in the order of their names.

Equal contents give equal bytes. The file appears under its name when it is whole, and only its owner may read it.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from diagnose import __version__
from diagnose.bundle.errors import BundleError
from diagnose.bundle.manifest import MANIFEST_NAME, SCHEMA, parse_manifest

_STEP_BYTES = 1 << 20
_LEVEL = 9


@dataclass(frozen=True, slots=True)
class Content:
    """A file to be put into a bundle."""

    path: str
    bytes: int
    sha256: str
    open: Callable[[], BinaryIO]


def new_manifest() -> dict[str, Any]:
    """The manifest of files that no recorder made."""
    return {"schema": SCHEMA, "tool_version": __version__, "recorders": []}


def write_bundle(folder: Path, output: Path) -> None:
    """Pack a recording folder. One that was interrupted is packed as it is.

    Raises:
        BundleError: the folder has no manifest that can be read.
        OSError: the output cannot be written.
    """
    try:
        _, manifest = parse_manifest((folder / MANIFEST_NAME).read_text(encoding="utf-8", errors="replace"))
    except FileNotFoundError as error:
        raise BundleError(f"{folder} has no {MANIFEST_NAME}: it is no recording") from error
    write_contents(output, manifest, list(_contents(folder)))


def write_contents(output: Path, manifest: Mapping[str, Any], contents: Sequence[Content]) -> None:
    """Write a bundle of a manifest, which gets the list of the contents, and the contents. Raises OSError."""
    ordered = sorted(contents, key=lambda content: content.path)
    members = [{"path": item.path, "bytes": item.bytes, "sha256": item.sha256} for item in ordered]
    text = json.dumps({**manifest, "members": members}, indent=1, ensure_ascii=False) + "\n"
    data = text.encode("utf-8", "backslashreplace")
    packer = zstandard.ZstdCompressor(level=_LEVEL)
    with (
        new_file(output) as target,
        packer.stream_writer(target, closefd=False) as packed,
        tarfile.open(fileobj=packed, mode="w|", format=tarfile.PAX_FORMAT) as archive,
    ):
        archive.addfile(_header(MANIFEST_NAME, len(data)), io.BytesIO(data))
        for item in ordered:
            with item.open() as source:
                archive.addfile(_header(item.path, item.bytes), source)


def _header(path: str, size: int) -> tarfile.TarInfo:
    """No times, owners or permissions of the machine: they say nothing about it and differ from run to run."""
    header = tarfile.TarInfo(path)
    header.size, header.mode = size, 0o600
    return header


def _contents(folder: Path) -> Iterator[Content]:
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink() or not path.is_file() or name == MANIFEST_NAME:
            continue
        with path.open("rb") as source:
            size, digest = measure(source)
        yield Content(name, size, digest, lambda path=path: path.open("rb"))  # type: ignore[misc]


def measure(source: BinaryIO) -> tuple[int, str]:
    """Size and SHA-256 of what is left to read."""
    digest = hashlib.sha256()
    size = 0
    while data := source.read(_STEP_BYTES):
        digest.update(data)
        size += len(data)
    return size, digest.hexdigest()


def _give_name(descriptor: int, path: Path) -> None:
    """Put a file that has no name into its folder."""
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        # With a folder given, Python uses the call that follows the link in /proc.
        os.link(f"/proc/self/fd/{descriptor}", path.name, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=True)
    finally:
        os.close(folder)


@contextmanager
def new_file(output: Path) -> Iterator[BinaryIO]:
    """A file that gets its name, in place of an older one, when the block ends well; otherwise nothing is left of it.

    Until then it has no name at all where the system can do that, so that nothing is left even when the program is
    killed.
    """
    unfinished = output.with_name(f".{output.name}.{os.getpid()}.unfinished")
    try:
        descriptor = os.open(output.parent, os.O_TMPFILE | os.O_RDWR, 0o600)
        named = False
    except (OSError, AttributeError):
        descriptor = os.open(unfinished, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600)
        named = True
    try:
        with os.fdopen(descriptor, "wb") as target:
            yield target
            target.flush()
            os.fsync(target.fileno())
            if not named:
                _give_name(target.fileno(), unfinished)
        unfinished.replace(output)
    finally:
        with suppress(FileNotFoundError):
            unfinished.unlink()
