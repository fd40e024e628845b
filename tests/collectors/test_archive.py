"""Archives of every kind are read member by member, nested ones too, without a trace on the disk."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from collectors.archive import Member, open_archive
from collectors.inputs import Status
from collectors.scan import read_inputs, scan_file
from collectors.stream import TextStream
from tests.collectors.archives import PACKERS, TAR_END, opened, tar_entry, tar_of, zip_of

FILES = {"logs/dmesg.txt": b"[    1.0] one\n", "logs/deep/er/x": b"two\n", "empty": b""}
NAMED = {f"a!{name}": content for name, content in FILES.items()}
XID = b"[86412.771034] NVRM: Xid (PCI:0000:3b:00): 79, pid=41220, name=train, GPU has fallen off the bus.\n"


@pytest.mark.parametrize("packing", PACKERS)
@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_tar_archives_are_read_whatever_packs_them(packing: str, form: int) -> None:
    found = opened(PACKERS[packing](tar_of(FILES, form)))
    assert (found.files, found.reports) == (NAMED, [])


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_zip_archives_are_read(method: int) -> None:
    found = opened(zip_of(FILES, method))
    assert (found.files, found.reports) == (NAMED, [])


def test_zip_archives_that_cannot_be_read_backwards_are_read() -> None:
    class Pipe(io.BytesIO):
        def seekable(self) -> bool:
            return False

        def seek(self, *_: int) -> int:
            raise io.UnsupportedOperation

    result = scan_file(None, "-", stdin=Pipe(zip_of({"dmesg": XID})))
    assert [(report.path, report.kind) for report in result.reports] == [("-!dmesg", "kernel-log")]


def test_an_old_tar_archive_without_magic_is_read() -> None:
    data = bytearray(tar_of({"x": b"one\n"}, tarfile.USTAR_FORMAT))
    data[257:265] = bytes(8)
    data[148:156] = b" " * 8
    data[148:156] = b"%06o\0 " % sum(data[:512])
    assert opened(bytes(data)).files == {"a!x": b"one\n"}


@pytest.mark.parametrize("form", [tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_are_kept(form: int) -> None:
    name = "/".join(["folder" * 10] * 5)
    assert list(opened(tar_of({name: b"x\n", "y": b"y\n"}, form)).files.values()) == [b"x\n", b"y\n"]
    path = read_name(tar_of({name: b"x\n"}, form))
    assert path == name


def read_name(data: bytes) -> str:
    (member,) = open_archive(TextStream(io.BytesIO(data)), "a")
    assert isinstance(member, Member)
    return member.path


def test_archives_within_archives_are_opened_to_the_limit() -> None:
    data = tar_of({"x": b"deep\n"})
    for level in range(4):
        data = tar_of({f"{level}.tar.gz": PACKERS["gz"](data), f"{level}.txt": b"beside\n"})
    found = opened(data)
    assert list(found.files) == ["a!3.tar.gz!2.tar.gz!1.txt", "a!3.tar.gz!2.txt", "a!3.txt"]
    (report,) = found.reports
    assert (report.path, report.status) == ("a!3.tar.gz!2.tar.gz!1.tar.gz", Status.SKIPPED)
    assert "3 levels deep" in (report.detail or "")


@pytest.mark.parametrize("outer", [tar_of, zip_of])
def test_a_zip_archive_in_another_archive_is_opened(outer: object) -> None:
    make = tar_of if outer is tar_of else zip_of
    assert opened(make({"in.zip": zip_of({"x": b"one\n"})})).files == {"a!in.zip!x": b"one\n"}


def test_ttar_trees_are_read() -> None:
    text = (
        "# Archive created by ttar -c -f sys.ttar sys\nDirectory: sys\nMode: 755\n"
        "# ttar - - - - -\nPath: sys/a/mtu\nLines: 1\n1500\nMode: 644\n"
        "# ttar - - - - -\nPath: sys/a/link\nSymlinkTo: ../b\n"
        "# ttar - - - - -\nPath: sys/a/uuid\nLines: 1\nabcEOF\nMode: 444\n"
        "# ttar - - - - -\nPath: sys/a/none\nLines: 0\nMode: 444\n"
    )
    found = opened(text.encode())
    assert found.files == {"a!sys/a/mtu": b"1500\n", "a!sys/a/uuid": b"abc\n", "a!sys/a/none": b""}
    assert "Links are not followed" in found.said
    assert "cut off" in opened(text.encode()[: text.index("1500")]).said


def test_facts_and_sources_of_members_name_archive_and_member(tmp_path: Path) -> None:
    path = tmp_path / "node.tar.zst"
    path.write_bytes(PACKERS["zst"](tar_of({"node/dmesg": XID, "node/notes": b"hello\n"})))
    readings = read_inputs([str(path)])
    assert {fact.sources[0].path for fact in readings.facts} == {f"{path}!node/dmesg"}
    assert [(report.path, report.status) for report in readings.inputs] == [
        (f"{path}!node/dmesg", Status.PARSED),
        (f"{path}!node/notes", Status.UNRECOGNISED),
    ]


def test_the_parts_of_a_large_archive_in_no_known_format_are_counted_beyond_a_hundred(tmp_path: Path) -> None:
    path = tmp_path / "x.tar"
    path.write_bytes(tar_of({str(number): b"hello\n" for number in range(150)} | {"dmesg": XID}))
    reports = read_inputs([str(path)]).inputs
    assert len(reports) == 102
    assert reports[-1].detail == "50 more parts are in no known format"
    assert any(report.kind == "kernel-log" for report in reports)


@pytest.mark.parametrize("data", [tar_entry("x/", tarfile.DIRTYPE) + TAR_END, zip_of({"x/": b""})])
def test_an_archive_without_files_says_so(data: bytes) -> None:
    (report,) = opened(data).reports
    assert (report.status, report.detail) == (Status.SKIPPED, "The archive is empty")


def test_field_archives_are_read_whole(corpus: Path) -> None:
    counts = {}
    for name in (
        "sysfs-snapshot-tar/hwloc-nvidiagpunumanodes.tar.bz2",
        "sysfs-snapshot-tar/hwloc-40intel64-2g2n4c+pcilocality.tar.bz2",
        "pytorch-trace/param-dlrm-kineto.tar.gz",
        "sysfs-proc/nodeexp-sys.ttar",
    ):
        found = opened((corpus / "files" / name).read_bytes())
        counts[name.split("/")[1]] = len(found.files)
        assert all(report.status is Status.SKIPPED for report in found.reports)
    assert counts == {
        "hwloc-nvidiagpunumanodes.tar.bz2": 1240,
        "hwloc-40intel64-2g2n4c+pcilocality.tar.bz2": 5895,
        "param-dlrm-kineto.tar.gz": 8,
        "nodeexp-sys.ttar": 1976,
    }


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="temporary files have a name for a moment here")
@pytest.mark.parametrize("signal_number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_on_the_disk_when_reading_is_ended_by_a_signal(tmp_path: Path, signal_number: int) -> None:
    program = (
        "import sys, io\nfrom collectors.scan import read_inputs\n"
        "print('ready', flush=True)\nread_inputs(['-'], stdin=sys.stdin.buffer)"
    )
    environment = os.environ | {
        "TMPDIR": str(tmp_path),
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }
    with subprocess.Popen(
        [sys.executable, "-c", program],
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=Path(__file__).parents[2],
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.write(zip_of({"x": os.urandom(3_000_000)})[:-100])
        process.stdin.flush()
        time.sleep(0.3)
        process.send_signal(signal_number)
        assert process.wait(20) != 0
        process.stdin.close()
    assert list(tmp_path.iterdir()) == []
