"""Opens archives that others made: every member as a stream, whatever the archive holds, and nothing on the disk.

Archives are hostile until proven otherwise. No member is ever written to a path of its choosing, no link is followed,
and `ArchiveLimits` bound what is read. What is not read is named in a report; the rest goes on where that is safe.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import BinaryIO, NamedTuple

from collectors.archive_entry import Entries, EntryKind
from collectors.archive_limits import ArchiveLimits, Budget
from collectors.archive_names import MemberPath, NameRefusedError, member_path, shown
from collectors.archive_refusals import Refusals
from collectors.archive_tar import is_tar, tar_entries
from collectors.archive_ttar import is_ttar, ttar_entries
from collectors.archive_zip import zip_entries
from collectors.compression import READ_BYTES, Limits, ReadError
from collectors.inputs import InputReport, Status
from collectors.stream import TextStream

Reader = Callable[[BinaryIO, ArchiveLimits], Entries]

_READERS: dict[str, Reader] = {"tar": tar_entries, "zip": zip_entries, "ttar": ttar_entries}
_REASONS = {
    EntryKind.LINK: "Links are not followed",
    EntryKind.DEVICE: "Devices are refused",
    EntryKind.PIPE: "Named pipes are refused",
    EntryKind.SPARSE: "Sparse files are not read",
    EntryKind.OTHER: "Entries of unknown types are not read",
}


class Member(NamedTuple):
    """A file in an archive, to be read before the next one is asked for."""

    name: str
    """As reports name it: `bundle.tar.zst!nvml/gpu-0.jsonl`, without anything that does not print."""
    archive: str
    """The archive that it lies in, as reports name it."""
    path: MemberPath
    stream: TextStream


def _with_folders(path: str) -> Iterator[str]:
    """The path and all folders above it."""
    end = len(path)
    while end > 0:
        yield path[:end]
        end = path.rfind("/", 0, end)


def archive_format(stream: TextStream) -> str | None:
    """`tar`, `zip` or `ttar` where the input is an archive that can be opened."""
    head = stream.head
    if is_tar(head):
        return "tar"
    if is_ttar(head):
        return "ttar"
    if stream.not_text is not None and stream.not_text.kind == "archive" and head.startswith(b"PK"):
        return "zip"
    return None


def open_archive(stream: TextStream, name: str, limits: ArchiveLimits | None = None) -> Iterator[Member | InputReport]:
    """Members of an archive and of all archives in it, and a report for each thing that was not read.

    `stream` is one for which `archive_format` gave a format, `name` what reports call it. Never raises on what it
    reads.
    """
    return _Opener(Budget(limits or ArchiveLimits())).members(stream, name, depth=1)


class _Opener:
    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self._limits = budget.limits

    def members(self, stream: TextStream, name: str, depth: int) -> Iterator[Member | InputReport]:
        kind = archive_format(stream) or "tar"
        refusals = Refusals(name)
        count = 0
        problem: str | None = None
        try:
            with ExitStack() as stack:
                source = self._seekable(stream, stack) if kind == "zip" else stream.raw()
                for content, path in self._accepted(_READERS[kind](source, self._limits), refusals, kind):
                    count += 1
                    yield from self._member(content, path, name, depth)
        except ReadError as error:
            problem = str(error)
        yield from refusals.reports()
        problems = [*stream.problems, *([problem] if problem is not None else [])]
        if problems:
            yield InputReport(
                path=shown(name),
                kind="archive",
                status=Status.PARTIAL if count else Status.UNREADABLE,
                detail="; ".join(problems),
            )
        elif not count and not refusals:
            yield InputReport(path=shown(name), kind="archive", status=Status.SKIPPED, detail="The archive is empty")

    def _accepted(self, entries: Entries, refusals: Refusals, kind: str) -> Iterator[tuple[BinaryIO, MemberPath]]:
        """Files that may be read; the others go to the refusals."""
        seen: set[str] = set()
        links: set[str] = set()
        for entry in entries:
            self._budget.take_member()
            if entry.kind is EntryKind.FOLDER:
                continue
            try:
                path, absolute = member_path(entry.name, self._limits.name_bytes, backslashes=kind == "zip")
            except NameRefusedError as why:
                refusals.add(str(why), entry.name)
                continue
            if absolute:
                refusals.remark("Absolute paths are taken as paths within the archive", entry.name)
            if entry.kind is EntryKind.LINK:
                links.add(path)
            if entry.kind is not EntryKind.FILE:
                refusals.add(_REASONS[entry.kind], path)
            elif entry.refusal is not None or entry.content is None:
                refusals.problem(path, entry.refusal or "It has no content")
            elif any(folder in links for folder in _with_folders(path)):
                refusals.add("Paths that go through a link of the same archive are refused", path)
            elif path in seen:
                refusals.add("Of several members with one name only the first is read", path)
            elif any(part.startswith(".") for part in path.parts):
                refusals.add("Hidden files are not read", path)
            else:
                seen.add(path)
                yield entry.content, path

    def _member(self, content: BinaryIO, path: MemberPath, archive: str, depth: int) -> Iterator[Member | InputReport]:
        limits = Limits(self._limits.member_bytes, self._limits.ratio, self._limits.ratio_free_bytes)
        inner = TextStream(content, limits, taken=self._budget.take_bytes)
        name = f"{archive}!{shown(path)}"
        if archive_format(inner) is None:
            yield Member(name, archive, path, inner)
        elif depth < self._limits.depth:
            yield from self.members(inner, name, depth + 1)
        else:
            sentence = f"Archives within archives are opened {self._limits.depth} levels deep; this one lies deeper"
            yield InputReport(path=name, kind="archive", status=Status.SKIPPED, detail=sentence)
        if self._budget.spent:
            # The member took note of it already; the archive says it once more, for all that follows.
            self._budget.take_bytes(0)

    def _seekable(self, stream: TextStream, stack: ExitStack) -> BinaryIO:
        """The archive as a file to move about in: itself where it is one, else a copy that has no name on the disk."""
        if stream.seekable_source is not None:
            stream.seekable_source.seek(0)
            return stream.seekable_source
        copy = stack.enter_context(tempfile.TemporaryFile())  # noqa: SIM115 - the stack closes it
        copied = 0
        source = stream.raw()
        while data := source.read(READ_BYTES):
            copied += len(data)
            if copied > self._limits.copied_bytes:
                raise ReadError(f"The zip archive has more than {self._limits.copied_bytes:,} bytes; it was not opened")
            copy.write(data)
        copy.seek(0)
        return copy
