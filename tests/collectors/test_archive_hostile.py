"""Hostile archives are refused or contained, each with its sentence, and the rest of the archive is read."""

from __future__ import annotations

import io
import itertools
import os
import random
import resource
import struct
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from collectors.archive_limits import ArchiveLimits
from collectors.archive_names import shown
from collectors.inputs import Status
from collectors.scan import scan_file
from tests.collectors.archives import PACKERS, TAR_END, opened, tar_entry, tar_file, tar_of, zip_of

GOOD = tar_file("good", b"good\n")


@pytest.mark.parametrize("name", ["../x", "a/../../x", "..", "a/..", "../../etc/passwd"])
def test_parent_paths_are_refused(name: str) -> None:
    for found in (opened(tar_file(name, b"x\n") + GOOD + TAR_END), opened(zip_of({name: b"x\n", "good": b"good\n"}))):
        assert found.files == {"a!good": b"good\n"}
        assert "lead out of the archive" in found.said
        assert name in found.said


@pytest.mark.parametrize("name", ["..\\..\\x", "a\\..\\..\\x", "C:..\\x"])
def test_parent_paths_with_backslashes_are_refused(name: str) -> None:
    found = opened(zip_of({name: b"x\n", "good": b"good\n"}))
    assert found.files == {"a!good": b"good\n"}


@pytest.mark.parametrize(
    ("name", "path"),
    [("/etc/x", "etc/x"), ("//x", "x"), ("C:\\logs\\x", "logs/x"), ("c:/x", "x"), ("\\\\host\\s\\x", "host/s/x")],
)
def test_absolute_paths_and_drive_letters_are_taken_as_relative_and_reported(name: str, path: str) -> None:
    found = opened(zip_of({name: b"x\n", "good": b"good\n"}))
    assert f"a!{path}" in found.files
    assert "Absolute paths are taken as paths within the archive" in found.said


def test_nothing_is_written_where_a_member_points(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    target = tmp_path / "victim"
    data = (
        tar_entry("link", tarfile.SYMTYPE, str(tmp_path))
        + tar_file("link/victim", b"x\n")
        + tar_file(str(target), b"x\n")
        + tar_file("../victim", b"x\n")
        + TAR_END
    )
    opened(data)
    assert list(tmp_path.iterdir()) == []


LINK_PARTS = {
    "link": tar_entry("d", tarfile.SYMTYPE, "/etc"),
    "hard": tar_entry("hard", tarfile.LNKTYPE, "../../etc/passwd"),
    "through": tar_file("d/passwd", b"through\n"),
    "same": tar_file("d", b"same\n"),
    "good": GOOD,
}


@pytest.mark.parametrize("order", list(itertools.permutations(LINK_PARTS)), ids="-".join)
def test_links_are_never_followed_in_whatever_order_they_come(order: tuple[str, ...]) -> None:
    found = opened(b"".join(LINK_PARTS[name] for name in order) + TAR_END)
    assert found.files["a!good"] == b"good\n"
    assert set(found.files.values()) <= {b"good\n", b"through\n", b"same\n"}
    assert "Links are not followed" in found.said
    if order.index("link") < order.index("through"):
        assert "a!d/passwd" not in found.files
        assert "go through a link" in found.said
    if order.index("link") < order.index("same"):
        assert "a!d" not in found.files


def test_links_in_zip_archives_are_not_followed() -> None:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        info = zipfile.ZipInfo("link")
        info.create_system, info.external_attr = 3, 0o120777 << 16
        archive.writestr(info, "/etc")
        archive.writestr("link/passwd", b"x\n")
    found = opened(target.getvalue())
    assert found.files == {}
    assert "go through a link" in found.said


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        (tarfile.CHRTYPE, "Devices"),
        (tarfile.BLKTYPE, "Devices"),
        (tarfile.FIFOTYPE, "Named pipes"),
        (b"Z", "unknown types"),
    ],
)
def test_devices_and_pipes_are_refused(kind: bytes, words: str) -> None:
    found = opened(tar_entry("x", kind) + GOOD + TAR_END)
    assert found.files == {"a!good": b"good\n"}
    assert words in found.said


def test_of_duplicate_names_the_first_is_read() -> None:
    found = opened(tar_file("x", b"first\n") + tar_file("./x", b"second\n") + GOOD + TAR_END)
    assert found.files == {"a!x": b"first\n", "a!good": b"good\n"}
    assert "only the first is read" in found.said


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("a\x1b[2Jb", "a\\x1b[2Jb"),
        ("a\nb", "a\\x0ab"),
        ("log\u202etxt.exe", "log\\u202etxt.exe"),
        ("a\udcff", "a\\xff"),
        ("日本", "日本"),
        ("x\u200b", "x\\u200b"),
    ],
)
def test_names_are_shown_without_what_does_not_print(name: str, seen: str) -> None:
    assert shown(name) == seen
    assert list(opened(tar_of({name: b"x\n"}, tarfile.GNU_FORMAT)).files) == [f"a!{seen}"]


def test_a_zip_name_in_an_old_code_page_is_decoded_and_one_that_is_no_utf_8_is_escaped() -> None:
    data = zip_of({"Gerxt": b"x\n"})
    assert list(opened(data.replace(b"Gerxt", b"Ger\x84t")).files) == ["a!Gerät"]
    flagged = zip_of({"xüy": b"x\n"})
    found = opened(flagged.replace("xüy".encode(), b"x\xff\xfey"))
    assert list(found.files) == ["a!x\\xff\\xfey"]


def test_a_very_long_name_is_refused() -> None:
    found = opened(tar_of({"x" * 5000: b"x\n", "good": b"good\n"}))
    assert found.files == {"a!good": b"good\n"}
    assert "4,096 bytes" in found.said
    assert max(map(len, found.said.splitlines())) < 1000


def test_too_many_members_end_the_reading_with_what_came_before() -> None:
    files = {str(number): b"x\n" for number in range(50)}
    for data in (tar_of(files), zip_of(files), tar_of({"in.tar": tar_of(files)})):
        found = opened(data, ArchiveLimits(members=20))
        assert 19 <= len(found.files) <= 20
        assert "more than 20 members" in found.said
        assert found.reports[-1].status is Status.PARTIAL


def test_a_hundred_thousand_empty_members_pass_and_more_do_not() -> None:
    data = tar_entry("x/", tarfile.DIRTYPE) * 100_001 + GOOD + TAR_END
    assert "more than 100,000 members" in opened(PACKERS["zst"](data)).said


def test_a_huge_member_is_left_out_and_the_rest_is_read() -> None:
    data = tar_file("big", bytes(100_000)) + GOOD + TAR_END
    found = opened(data, ArchiveLimits(member_bytes=50_000))
    assert found.files == {"a!good": b"good\n"}
    assert ("a!big", Status.UNREADABLE) in [(report.path, report.status) for report in found.reports]
    assert "claims to have 100,000 bytes" in found.said
    assert "claims to have" in opened(zip_of({"big": bytes(100_000)}), ArchiveLimits(member_bytes=50_000)).said


def test_a_member_that_claims_exabytes_is_named_with_what_is_missing() -> None:
    found = opened(GOOD + tar_file("big", b"x" * 512, size=1 << 60) + TAR_END)
    assert found.files == {"a!good": b"good\n"}
    assert "claims to have" in found.said
    assert "cut off" in found.said


def _memory_kilobytes() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XGLTYPE, tarfile.GNUTYPE_LONGLINK])
def test_extended_headers_of_absurd_size_take_no_memory(kind: bytes) -> None:
    info = tarfile.TarInfo("x")
    info.type, info.size = kind, 1 << 31
    before = _memory_kilobytes()
    bomb = PACKERS["zst"](GOOD + info.tobuf(tarfile.GNU_FORMAT) + bytes(300_000_000))
    found = opened(bomb)
    assert found.files == {"a!good": b"good\n"}
    assert "claims to have" in found.said or "bomb" in found.said
    assert _memory_kilobytes() - before < 700_000


@pytest.mark.parametrize("digits", ["9" * 30, "9" * 5000, "-5", "x"])
def test_pax_sizes_that_make_no_sense_are_contained(digits: str) -> None:
    record = f" size={digits}\n".encode()
    length = len(record) + len(str(len(record) + 4))
    info = tarfile.TarInfo("x")
    data = str(length).encode() + record
    info.type, info.size = tarfile.XHDTYPE, len(data)
    header = info.tobuf(tarfile.GNU_FORMAT) + data + bytes(-len(data) % 512)
    found = opened(GOOD + header + tar_file("y", b"y\n") + TAR_END)
    assert found.files["a!good"] == b"good\n"
    assert "no file can have" in found.said or found.files["a!y"] == b"y\n"


def test_sparse_members_are_left_out_and_the_rest_is_read() -> None:
    header = bytearray(tar_entry("x", tarfile.GNUTYPE_SPARSE))
    header[124:136] = b"%011o\0" % 512
    header[482] = 1
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    more = bytes(504) + b"\1" + bytes(7)
    old = bytes(header) + more + bytes(512) + b"d" * 512
    info = tarfile.TarInfo("y")
    info.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.name": "real"}
    info.size = 512
    new = info.tobuf(tarfile.PAX_FORMAT) + b"1\n0\n512\n".ljust(512, b"\0")
    found = opened(old + new + GOOD + TAR_END)
    assert found.files == {"a!good": b"good\n"}
    assert "Sparse files are not read: 2 members" in found.said


def test_an_endless_sparse_map_is_cut() -> None:
    header = bytearray(tar_entry("x", tarfile.GNUTYPE_SPARSE))
    header[482] = 1
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    more = bytes(504) + b"\1" + bytes(7)
    assert "too long" in opened(GOOD + bytes(header) + more * 5000).said


@pytest.mark.parametrize("packing", ["gz", "zst", "xz", "bz2"])
def test_an_expansion_bomb_is_stopped_and_what_came_before_is_kept(packing: str) -> None:
    data = PACKERS[packing](GOOD + tar_file("bomb", bytes(90_000_000)) + TAR_END)
    found = opened(tar_of({"in": data}), ArchiveLimits(ratio=100, ratio_free_bytes=40_000_000))
    assert found.files["a!in!good"] == b"good\n"
    assert len(found.files.get("a!in!bomb", b"")) < 80_000_000
    assert "bomb" in found.said


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_a_zip_bomb_is_stopped_at_the_ratio(method: int) -> None:
    data = zip_of({"bomb": bytes(100_000_000), "good": b"good\n"}, method)
    found = opened(data, ArchiveLimits(ratio=100, ratio_free_bytes=1_000_000))
    assert found.files["a!good"] == b"good\n"
    assert "bomb" in found.problems["a!bomb"][0]


def test_nested_bombs_share_one_total() -> None:
    data = zip_of({"bomb": bytes(10_000_000)})
    for _ in range(2):
        data = zip_of({str(number): data for number in range(10)})
    found = opened(data, ArchiveLimits(total_bytes=45_000_000))
    assert len(found.files) < 6
    assert "more than 45,000,000 bytes in all" in found.said


def _overlapping_zip() -> bytes:
    """Two names in the index for the same bytes."""
    data = zip_of({"x": bytes(1000), "y": b"y\n"})
    at = data.index(b"PK\x01\x02")
    second = data.index(b"PK\x01\x02", at + 1)
    entry = bytearray(data[second:])
    struct.pack_into("<L", entry, 42, 0)
    return data[:second] + bytes(entry)


def test_overlapping_members_of_a_zip_archive_are_refused() -> None:
    found = opened(_overlapping_zip())
    assert list(found.files) == ["a!x"]
    assert "shares its bytes" in found.said


def test_a_zip_index_that_fills_the_memory_is_refused() -> None:
    files = {f"{number:050}": b"" for number in range(2000)}
    found = opened(zip_of(files), ArchiveLimits(index_bytes=100_000))
    assert found.files == {}
    assert "index of the zip archive has more than 100,000 bytes" in found.said


def test_a_zip_archive_too_large_to_copy_is_not_opened() -> None:
    inner = zip_of({"x": os.urandom(100_000)})
    found = opened(tar_of({"in.zip": inner, "good": b"good\n"}), ArchiveLimits(copied_bytes=50_000))
    assert found.files == {"a!good": b"good\n"}
    assert "was not opened" in found.said


def test_encrypted_and_unknown_members_of_zip_archives_are_named() -> None:
    data = bytearray(zip_of({"x": b"x\n", "y": b"y\n"}, zipfile.ZIP_STORED))
    at = data.index(b"PK\x01\x02")
    data[at + 8] |= 1
    second = data.index(b"PK\x01\x02", at + 1)
    data[second + 10] = 93
    found = opened(bytes(data))
    assert found.files == {}
    assert "It is encrypted" in found.said
    assert "Zstandard" in found.said


def test_a_wrong_checksum_is_reported_with_the_content() -> None:
    data = zip_of({"x": b"abcdef\n"}, zipfile.ZIP_STORED)
    found = opened(data.replace(b"abcdef\n", b"abcxef\n"))
    assert found.files == {"a!x": b"abcxef\n"}
    assert "checksum" in found.problems["a!x"][0]


@pytest.mark.parametrize("packing", PACKERS)
def test_of_a_cut_off_archive_everything_before_the_cut_is_kept(packing: str) -> None:
    noise = random.Random(5)
    files = {f"{number}": b"".join(b"%030x\n" % noise.getrandbits(120) for _ in range(3000)) for number in range(20)}
    data = PACKERS[packing](tar_of(files))
    found = opened(data[: len(data) * 2 // 3])
    whole = [name for name in found.files if name not in found.problems]
    assert len(whole) >= 8
    assert all(found.files[name] == files[name.removeprefix("a!")] for name in whole)
    assert found.reports[-1].status is Status.PARTIAL
    assert "cut off" in found.said


def test_of_a_cut_off_zip_archive_everything_before_the_cut_is_kept() -> None:
    files = {f"{number}": os.urandom(5000).hex().encode() + b"\n" for number in range(20)}
    data = zip_of(files)
    found = opened(data[: len(data) * 2 // 3])
    assert sum(found.files.get(f"a!{name}") == content for name, content in files.items()) >= 10
    assert found.reports[-1].status is Status.PARTIAL
    assert "index" in found.said


SAMPLES = {
    "tar": tar_of({"x": b"x\n" * 400, "long" * 50: b"y\n", "in.zip": zip_of({"z": b"z\n"})}),
    "gnu": tar_of({"x": b"x\n" * 400, "long" * 50: b"y\n"}, tarfile.GNU_FORMAT) + _overlapping_zip(),
    "zip": zip_of({"x": b"x\n" * 400, "y": b"y\n", "in.tar": tar_of({"z": b"z\n"})}),
    "gz": PACKERS["gz"](tar_of({"x": b"x\n" * 400})),
}


@pytest.mark.parametrize("kind", SAMPLES)
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_damage_anywhere_never_raises(kind: str, data: st.DataObject) -> None:
    sample = bytearray(SAMPLES[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        sample[data.draw(st.integers(0, len(sample) - 1))] = data.draw(st.integers(0, 255))
    end = data.draw(st.one_of(st.just(len(sample)), st.integers(0, len(sample))))
    result = scan_file(None, "a", stdin=io.BytesIO(bytes(sample[:end])))
    assert result.reports


def test_a_deflate_stream_that_ends_early_is_a_problem_of_its_member() -> None:
    data = zip_of({"x": os.urandom(3000).hex().encode()})
    at = data.index(b"PK\x01\x02")
    size = struct.unpack_from("<L", data, at + 20)[0]
    shorter = bytearray(data)
    struct.pack_into("<L", shorter, at + 20, size - 500)
    found = opened(bytes(shorter))
    assert "ends too early" in found.problems["a!x"][0]
