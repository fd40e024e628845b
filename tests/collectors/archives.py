"""Archives for tests, good ones and hostile ones, made in memory."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import zstandard

from collectors.archive import Member, archive_format, open_archive
from collectors.archive_limits import ArchiveLimits
from collectors.inputs import InputReport
from collectors.stream import TextStream

PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "plain": bytes,
    "gz": gzip.compress,
    "zst": zstandard.ZstdCompressor().compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
}


def tar_of(files: Mapping[str, bytes], form: int = tarfile.PAX_FORMAT) -> bytes:
    """A tar archive of regular files."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=form) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def tar_entry(name: str, kind: bytes, target: str = "") -> bytes:
    """The header of an entry without content."""
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info.tobuf(tarfile.GNU_FORMAT)


def tar_file(name: str, content: bytes, size: int | None = None) -> bytes:
    """A regular file; `size` is what its header claims."""
    info = tarfile.TarInfo(name)
    info.size = len(content) if size is None else size
    return info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % 512)


TAR_END = bytes(1024)


def zip_of(files: Mapping[str, bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """A zip archive."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, compress_type=method)
    return target.getvalue()


@dataclass
class Opened:
    """All that an archive gave."""

    files: dict[str, bytes]
    problems: dict[str, list[str]]
    """Problems of members, by name."""
    reports: list[InputReport]

    @property
    def said(self) -> str:
        """All sentences of the reports."""
        return "\n".join(f"{report.path} {report.status.value} {report.detail}" for report in self.reports)


def opened(data: bytes, limits: ArchiveLimits | None = None, name: str = "a") -> Opened:
    """Read an archive to its end."""
    stream = TextStream(io.BytesIO(data))
    assert archive_format(stream) is not None
    found = Opened({}, {}, [])
    for item in open_archive(stream, name, limits):
        if isinstance(item, Member):
            assert item.name not in found.files
            found.files[item.name] = b"".join(item.stream.chunks())
            if item.stream.problems:
                found.problems[item.name] = item.stream.problems
        else:
            found.reports.append(item)
    return found
