"""Makes a bundle that names nobody of what `diagnose analyze` reads: a bundle, an archive, a folder, a file.

Two passes: the first gathers names from all files, the second replaces them everywhere, names of files included. What
is not text cannot be looked through and is left out; compressed files are written expanded.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from collectors.archive import Member, archive_format, open_archive
from collectors.archive_names import shown
from collectors.compression import READ_BYTES
from collectors.dispatch import Dispatch
from collectors.inputs import InputReport
from collectors.piece_reader import reader_of
from collectors.registry import BLOCK_COLLECTORS, LINE_COLLECTORS
from collectors.scan import scan_stream
from collectors.stream import TextStream
from collectors.walk import Found, walk
from diagnose.bundle.errors import BundleError
from diagnose.bundle.identifiers import Identifiers, Learner
from diagnose.bundle.manifest import MANIFEST_NAME, parse_manifest
from diagnose.bundle.name_places import NameKind
from diagnose.bundle.pseudonyms import Pseudonyms, random_key
from diagnose.bundle.redactor import Redactor, slices
from diagnose.bundle.write import Content, new_manifest, write_contents

NOT_REDACTED = (
    "Not redacted: the bundle holds host names, IP and hardware addresses, GUIDs, UUIDs, serial numbers, "
    "account names, home paths, command lines and environments as they were read, with any password or token in them."
)
"""What `--no-redact` says that it leaves in."""
_PACKED_ENDINGS = (".gz", ".xz", ".bz2", ".zst", ".zstd")


class Source(NamedTuple):
    """A file to redact, to be read before the next one is asked for."""

    path: str
    stream: TextStream


@dataclass(frozen=True, slots=True)
class Redacted:
    """What became of the files."""

    files: int
    left_out: list[tuple[str, str]]
    """Path, redacted, and why."""


def redact(
    source: Path, output: Path, key: bytes | None = None, progress: Callable[[str], None] | None = None
) -> Redacted:
    """Write the bundle `output` from `source`. Without a key the stand-ins are those of this bundle alone.

    Raises:
        BundleError: there is nothing to read.
        OSError: the output cannot be written.
    """
    tell = progress or (lambda _: None)
    redactor = Redactor(_learn(source, tell), Pseudonyms(key or random_key()))
    with tempfile.TemporaryFile() as store:
        writer = _Writer(store, redactor)
        for item in sources(source):
            tell(f"redacting {item.path}" if isinstance(item, Source) else "redacting")
            writer.add(item)
        if not writer.contents and writer.manifest is None:
            raise BundleError(
                f"{source}: nothing in it can be redacted: " + "; ".join(why for _, why in writer.left_out)
            )
        write_contents(output, writer.final_manifest(), writer.contents)
    return Redacted(len(writer.contents), writer.left_out)


def sources(source: Path) -> Iterator[Source | InputReport]:
    """All files of a folder or archive, paths relative to it; a report for each thing that is not read."""
    for found in walk([str(source)]):
        if isinstance(found, InputReport):
            yield found
        else:
            yield from _of_file(found, source)


def _of_file(found: Found, source: Path) -> Iterator[Source | InputReport]:
    if found.path is None:
        return
    inside = found.name.removeprefix(str(source)).lstrip("/")
    with found.path.open("rb") as opened:
        stream = TextStream(opened)
        if archive_format(stream) is None:
            yield Source(inside or shown(source.name), stream)
            return
        for item in open_archive(stream, inside):
            if isinstance(item, Member):
                yield Source(item.name.lstrip("!").replace("!", "/"), item.stream)
            else:
                yield item if item.path else item.model_copy(update={"path": shown(source.name)})


def _learn(source: Path, tell: Callable[[str], None]) -> Identifiers:
    """Names from the places where they stand, and the hosts that the collectors find."""
    identifiers = Identifiers()
    dispatch = Dispatch(BLOCK_COLLECTORS, LINE_COLLECTORS)
    for item in sources(source):
        if isinstance(item, InputReport) or item.stream.not_text is not None:
            continue
        tell(f"looking for names in {item.path}")
        item.stream.listener = _reading(Learner(identifiers, item.path))
        for fact in scan_stream(item.stream, item.path, dispatch).facts:
            if fact.subject.host is not None:
                identifiers.add(NameKind.HOST, fact.subject.host)
    return identifiers


def _reading(learner: Learner) -> Callable[[bytes], None]:
    def read(chunk: bytes) -> None:
        for piece in slices(_decoded(chunk)):
            learner.read(piece)

    return read


def _decoded(chunk: bytes) -> str:
    return chunk.decode("utf-8", "surrogateescape")


class _Writer:
    """Puts redacted files one behind another into a temporary file, until the manifest that goes first can be made.

    Attributes:
        manifest: of the source, as JSON and redacted; None while none was found.
        contents: redacted files.
        left_out: paths, redacted, and why.
    """

    def __init__(self, store: BinaryIO, redactor: Redactor) -> None:
        self.manifest: dict[str, Any] | None = None
        self.contents: list[Content] = []
        self.left_out: list[tuple[str, str]] = []
        self._store = store
        self._redactor = redactor
        self._paths: set[str] = {MANIFEST_NAME}

    def add(self, item: Source | InputReport) -> None:
        """Redact a file, or note why it is left out."""
        if isinstance(item, InputReport):
            self.left_out.append((self._redactor.text(item.path), self._redactor.text(item.detail or "")))
            return
        stream, path = item.stream, self._redactor.text(item.path)
        if stream.not_text is not None:
            self.left_out.append((path, stream.not_text.reason))
            return
        if item.path == MANIFEST_NAME and self.manifest is None:
            self._take_manifest(stream)
        else:
            self._take(path, stream)
        if stream.problems:
            self.left_out.append((path, "; ".join(stream.problems)))

    def final_manifest(self) -> dict[str, Any]:
        """The manifest of the new bundle but for its list of files."""
        left_out = [{"path": path, "why": why} for path, why in self.left_out]
        before = self.manifest or new_manifest()
        return {**before, "redacted": True, "left_out": [*before.get("left_out", []), *left_out]}

    def _take_manifest(self, stream: TextStream) -> None:
        text = "".join(self._redactor.pieces(map(_decoded, stream.chunks())))
        try:
            _, found = parse_manifest(text)
            self.manifest = self._redactor.named(found)
        except BundleError as error:
            self.left_out.append((MANIFEST_NAME, str(error)))

    def _take(self, path: str, stream: TextStream) -> None:
        path = self._free(_expanded_name(path) if stream.compressed else path)
        start = self._store.tell()
        digest = hashlib.sha256()
        for text in self._redactor.pieces(map(_decoded, stream.chunks())):
            data = text.encode("utf-8", "surrogateescape")
            digest.update(data)
            self._store.write(data)
        size = self._store.tell() - start
        self.contents.append(Content(path, size, digest.hexdigest(), lambda: self._stored(start, size)))

    def _free(self, path: str) -> str:
        """The path, with a number where another file has it already."""
        free, number = path, 1
        while free in self._paths:
            number += 1
            free = f"{path}.{number}"
        self._paths.add(free)
        return free

    def _stored(self, start: int, size: int) -> BinaryIO:
        return reader_of(self._stored_pieces(start, size))

    def _stored_pieces(self, start: int, size: int) -> Iterator[bytes]:
        self._store.seek(start)
        while size:
            data = self._store.read(min(size, READ_BYTES))
            size -= len(data)
            yield data


def _expanded_name(path: str) -> str:
    for ending in _PACKED_ENDINGS:
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path
