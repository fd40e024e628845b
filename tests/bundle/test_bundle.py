"""Bundles are written the same every time, stay readable, and show what is wrong with them."""

from __future__ import annotations

import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
import zstandard

from collectors.scan import read_inputs
from diagnose.bundle.errors import BundleError
from diagnose.bundle.manifest import parse_manifest
from diagnose.bundle.read import Bundle
from diagnose.bundle.show import write_summary
from diagnose.bundle.verify import verify
from diagnose.bundle.write import new_file, new_manifest, write_bundle

OLD = Path(__file__).parent / "data" / "bundle-v1.tar.zst"
OLD_SHA256 = "926af0ac6ce43c53a4dabff8a56c134f9c3acc7fbbf2eaa85a6b64df135792fb"
MANIFEST = {
    "schema": "diagnose.bundle/1",
    "host": "gpu-a17",
    "started_at": "2026-03-01T10:00:00Z",
    "ended_at": None,
    "recorders": [{"name": "nvml", "status": "timed-out", "seconds": 5, "lacked": ["ECC needs root"], "new": {"a": 1}}],
    "of_a_later_version": [1, 2],
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "recording"
    (path / "nvml").mkdir(parents=True)
    (path / "manifest.json").write_text(json.dumps(MANIFEST))
    (path / "nvml" / "gpu-0.jsonl").write_text("{}\n")
    (path / "b.txt").write_text("b\n")
    (path / "link").symlink_to("/etc/passwd")
    return path


@pytest.fixture
def bundle(folder: Path, tmp_path: Path) -> Path:
    output = tmp_path / "node.tar.zst"
    write_bundle(folder, output)
    return output


def shown(path: Path) -> str:
    stream = io.StringIO()
    write_summary(Bundle(path), stream)
    return stream.getvalue()


def test_the_bundle_of_the_first_version_stays_readable() -> None:
    """The file is never made anew: it is what the first version wrote."""
    assert hashlib.sha256(OLD.read_bytes()).hexdigest() == OLD_SHA256
    opened = Bundle(OLD)
    assert verify(opened).problems == []
    manifest = opened.manifest
    assert (manifest.host, manifest.redacted, manifest.duration_seconds) == ("host-3f7a10c2", True, 60.0)
    assert [(recorder.name, recorder.status) for recorder in manifest.recorders] == [
        ("commands", "done"),
        ("kernel_log", "partial"),
    ]
    facts = read_inputs([str(OLD)]).facts
    assert {fact.kind for fact in facts} >= {"xid", "gpu-inventory"}
    assert {fact.subject.host for fact in facts if fact.kind == "xid"} == {"host-3f7a10c2"}


def test_the_manifest_comes_first_then_files_by_name_and_no_links(bundle: Path) -> None:
    data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(bundle.read_bytes())).read()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        assert archive.getnames() == ["manifest.json", "b.txt", "nvml/gpu-0.jsonl"]
        assert {(member.uid, member.mtime, member.uname) for member in archive} == {(0, 0, "")}


def test_equal_folders_give_equal_bytes(folder: Path, bundle: Path, tmp_path: Path) -> None:
    os.utime(folder / "b.txt", (1, 1))
    write_bundle(folder, tmp_path / "again.tar.zst")
    assert (tmp_path / "again.tar.zst").read_bytes() == bundle.read_bytes()
    assert bundle.stat().st_mode & 0o777 == 0o600


def test_what_a_later_version_adds_is_kept_and_passed_over(bundle: Path) -> None:
    text = next(iter(json_files(bundle)))
    assert json.loads(text)["of_a_later_version"] == [1, 2]
    assert Bundle(bundle).manifest.recorders[0].lacked == ("ECC needs root",)


def json_files(bundle: Path) -> list[str]:
    data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(bundle.read_bytes())).read()
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        opened = archive.extractfile("manifest.json")
        assert opened is not None
        return [opened.read().decode()]


def test_show_says_what_is_in_a_bundle(bundle: Path) -> None:
    text = shown(bundle)
    for words in (
        "gpu-a17",
        "interrupted before its end",
        "timed-out",
        "lacked: ECC needs root",
        "nvml/gpu-0.jsonl",
        "no:",
    ):
        assert words in text


def test_an_interrupted_folder_is_readable_as_it_is(folder: Path) -> None:
    assert "b.txt" in shown(folder)
    (problem,) = verify(Bundle(folder)).problems
    assert "interrupted" in problem


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema": "diagnose.bundle/2"}', "this version reads diagnose.bundle/1"),
        ('{"schema": "other"}', "none of a bundle"),
        ("[]", "none of a bundle"),
        ('{"schema": ', "cut off or damaged"),
        ("[" * 100_000, "cut off or damaged"),
        ('{"schema": "diagnose.bundle/1", "recorders": [{"status": "done"}]}', "recorders.0.name"),
    ],
)
def test_other_manifests_are_refused_with_the_reason(text: str, words: str) -> None:
    with pytest.raises(BundleError, match=words):
        parse_manifest(text)


def test_a_manifest_needs_nothing_but_its_schema() -> None:
    assert parse_manifest('{"schema": "diagnose.bundle/1"}')[0].recorders == ()
    assert parse_manifest(json.dumps(new_manifest()))[0].tool_version


def test_other_files_are_no_bundles(tmp_path: Path) -> None:
    for name, data in (("a", b"hello"), ("b", b"")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(BundleError, match="no bundle"):
            Bundle(tmp_path / name)
    with pytest.raises(BundleError, match="no recording"):
        write_bundle(tmp_path, tmp_path / "x")


def changed(bundle: Path, change: dict[str, bytes | None]) -> Path:
    """The bundle with files replaced, added or, for None, removed."""
    data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(bundle.read_bytes())).read()
    target = io.BytesIO()
    with tarfile.open(fileobj=io.BytesIO(data)) as old, tarfile.open(fileobj=target, mode="w") as new:
        for member in old:
            opened = old.extractfile(member)
            assert opened is not None
            content = change.get(member.name, opened.read())
            if content is not None:
                member.size = len(content)
                new.addfile(member, io.BytesIO(content))
        for name in change.keys() - set(old.getnames()):
            info = tarfile.TarInfo(name)
            new.addfile(info, io.BytesIO())
    path = bundle.with_name("changed.tar.zst")
    path.write_bytes(zstandard.ZstdCompressor().compress(target.getvalue()))
    return path


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"b.txt": b"c\n"}, "b.txt: changed"),
        ({"b.txt": None}, "b.txt: missing"),
        ({"new\x1b.txt": b""}, "new\\x1b.txt: not listed"),
    ],
)
def test_verify_names_what_is_not_as_it_was_written(bundle: Path, change: dict[str, bytes | None], words: str) -> None:
    assert verify(Bundle(bundle)).problems == []
    (problem,) = verify(Bundle(changed(bundle, change))).problems
    assert problem.startswith(words)


def test_a_cut_off_bundle_is_read_as_far_as_it_goes(folder: Path, tmp_path: Path) -> None:
    (folder / "z.bin").write_bytes(os.urandom(300_000))
    write_bundle(folder, tmp_path / "x.tar.zst")
    data = (tmp_path / "x.tar.zst").read_bytes()
    (tmp_path / "cut.tar.zst").write_bytes(data[: len(data) // 2])
    found = verify(Bundle(tmp_path / "cut.tar.zst"))
    assert found.files == 2
    assert any("z.bin" in problem for problem in found.problems)
    assert "cut off" in " ".join(found.problems)


def test_a_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    output = tmp_path / "x"
    output.write_bytes(b"before")
    with suppress(ZeroDivisionError), new_file(output) as target:
        target.write(b"half")
        assert output.read_bytes() == b"before"
        raise ZeroDivisionError
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    with new_file(output) as target:
        target.write(b"whole")
    assert output.read_bytes() == b"whole"
    assert [path.name for path in tmp_path.iterdir()] == ["x"]


@pytest.mark.skipif(not hasattr(os, "O_TMPFILE"), reason="unfinished files have a name for a moment here")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_when_redaction_is_ended_by_a_signal(tmp_path: Path, number: int) -> None:
    source, out, temporary = tmp_path / "in", tmp_path / "out", tmp_path / "tmp"
    for path in (source, out, temporary):
        path.mkdir()
    (source / "x.log").write_text("Mar  1 10:00:05 gpu-a17 kernel: peer 10.21.33.17 user mzander\n" * 400_000)
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "diagnose.cli.main", "bundle", "redact", str(source), "-o", str(out / "o.tar.zst")]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        time.sleep(2.5)
        process.send_signal(number)
        _, errors = process.communicate(timeout=30)
    assert process.returncode in (130, -number)
    assert b"Traceback" not in errors
    assert list(out.iterdir()) == []
    assert list(temporary.iterdir()) == []
