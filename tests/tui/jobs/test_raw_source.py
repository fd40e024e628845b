"""What evidence was read from is opened as lines: plain, compressed, recoded, within archives."""

from __future__ import annotations

import gzip
import io
import tarfile
import threading
import zipfile
from pathlib import Path

import pytest

from diagnose.tui.jobs import raw_source
from diagnose.tui.jobs.raw_source import Found, RawSourceError, find_file, open_lines

TEXT = b"one\r\n\x1b[31mtwo\x1b[0m\nthree\n"


def lines(found: Found | None) -> list[bytes]:
    assert found is not None
    file = open_lines(found, threading.Event(), lambda _: None)
    while file.index_more():
        pass
    spans = [file.span(number) for number in range(file.lines)]
    return [file.read(span.start, span.end - span.start) for span in spans if span]


def tar(name: str, content: bytes) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        entry = tarfile.TarInfo(name)
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    return data.getvalue()


def test_a_plain_file_is_shown_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(TEXT)
    assert lines(find_file("log", tmp_path)) == [b"one\r", b"\x1b[31mtwo\x1b[0m", b"three"]


def test_a_compressed_file_is_expanded(tmp_path: Path) -> None:
    (tmp_path / "log.gz").write_bytes(gzip.compress(TEXT))
    assert lines(find_file("log.gz", tmp_path)) == [b"one", b"two", b"three"]


def test_utf_16_is_recoded(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes("eins\nzwei\n".encode("utf-16"))
    assert lines(find_file("log", tmp_path))[1] == b"zwei"


def test_a_part_of_an_archive_within_an_archive_is_found(tmp_path: Path) -> None:
    inner = gzip.compress(tar("logs/dmesg.txt", TEXT))
    with zipfile.ZipFile(tmp_path / "a!b.zip", "w") as archive:
        archive.writestr("inner.tar.gz", inner)
    found = find_file("a!b.zip!inner.tar.gz!logs/dmesg.txt", tmp_path)
    assert found == Found(tmp_path / "a!b.zip", "a!b.zip", "a!b.zip!inner.tar.gz!logs/dmesg.txt")
    assert lines(found) == [b"one", b"two", b"three"]


def test_a_part_that_is_gone_is_told_with_the_cure(tmp_path: Path) -> None:
    (tmp_path / "a.tar").write_bytes(tar("x.txt", TEXT))
    with pytest.raises(RawSourceError, match=r"has no a\.tar!y\.txt in it any more; r .* reads all again"):
        lines(find_file("a.tar!y.txt", tmp_path))


def test_a_file_that_is_gone_is_not_found(tmp_path: Path) -> None:
    assert find_file("gone", tmp_path) is None
    assert find_file("gone.tar!part", tmp_path) is None


def test_an_expansion_has_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raw_source, "_MOST_BYTES", 10)
    (tmp_path / "log.gz").write_bytes(gzip.compress(TEXT))
    with pytest.raises(RawSourceError, match="more than 10 bytes"):
        lines(find_file("log.gz", tmp_path))


def test_a_binary_part_is_shown_as_its_bytes(tmp_path: Path) -> None:
    content = bytes(range(256)) * 100
    (tmp_path / "a.tar").write_bytes(tar("blob", content))
    assert b"\n".join(lines(find_file("a.tar!blob", tmp_path))) == content
