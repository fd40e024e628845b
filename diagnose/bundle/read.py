"""Reads a bundle, packed or as the folder that a recording wrote, file by file and exactly as the files are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from collectors.archive_entry import EntryKind
from collectors.archive_limits import ArchiveLimits, Budget
from collectors.archive_tar import is_tar, tar_entries
from collectors.compression import ReadError
from collectors.stream import TextStream
from diagnose.bundle.errors import BundleError
from diagnose.bundle.manifest import MANIFEST_NAME, Manifest, parse_manifest

_MANIFEST_BYTES = 64 << 20


class File(NamedTuple):
    """A file of a bundle; its content must be read before the next one is asked for."""

    path: str
    content: BinaryIO


class Bundle:
    """A bundle that is being read. Iterating gives all files but the manifest; `problem` is known afterwards.

    Attributes:
        manifest: as the bundle has it.
        problem: why the end is missing, as a sentence.
    """

    def __init__(self, path: Path) -> None:
        """Open a bundle and read its manifest. Raises BundleError and OSError."""
        self.problem: str | None = None
        self._files = self._guarded(self._in_folder(path) if path.is_dir() else self._in_archive(path))
        self.manifest = self._first(path)

    def __iter__(self) -> Iterator[File]:
        return self._files

    def _first(self, path: Path) -> Manifest:
        first = next(self._files, None)
        if first is None or first.path != MANIFEST_NAME:
            raise BundleError(f"{path} is no bundle: it does not begin with {MANIFEST_NAME}")
        text = first.content.read(_MANIFEST_BYTES).decode("utf-8", "replace")
        return parse_manifest(text)[0]

    def _guarded(self, files: Iterator[File]) -> Iterator[File]:
        try:
            yield from files
        except ReadError as error:
            self.problem = str(error)

    def _in_folder(self, path: Path) -> Iterator[File]:
        names = sorted(item for item in path.rglob("*") if item.is_file() and not item.is_symlink())
        for item in sorted(names, key=lambda item: item != path / MANIFEST_NAME):
            with item.open("rb") as content:
                yield File(item.relative_to(path).as_posix(), content)

    def _in_archive(self, path: Path) -> Iterator[File]:
        limits = ArchiveLimits()
        budget = Budget(limits)
        with path.open("rb") as source:
            stream = TextStream(source, taken=budget.take_bytes)
            if not is_tar(stream.head):
                raise BundleError(f"{path} is no bundle: " + ("; ".join(stream.problems) or "it is no tar archive"))
            for entry in tar_entries(stream.raw(), limits):
                budget.take_member()
                if entry.kind is EntryKind.FILE and entry.content is not None:
                    yield File(entry.name, entry.content)
            if stream.problems:
                raise ReadError("; ".join(stream.problems))
