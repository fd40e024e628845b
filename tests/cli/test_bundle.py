"""`diagnose bundle` on the command line: what it prints, its exit codes, and its errors."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from diagnose.bundle.write import write_bundle
from diagnose.cli.exit_codes import ExitCode
from diagnose.cli.main import cli

OLD = Path(__file__).parents[1] / "bundle" / "data" / "bundle-v1.tar.zst"


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["bundle", *arguments], standalone_mode=False)
    if result.exception is not None:
        return 2, getattr(result.exception, "message", repr(result.exception))
    return int(result.return_value), result.output


def test_show_and_verify() -> None:
    code, output = run("show", str(OLD))
    assert code == ExitCode.NOTHING_FOUND
    assert "host-3f7a10c2" in output
    assert run("verify", str(OLD)) == (ExitCode.NOTHING_FOUND, "2 files, 294 bytes: whole\n")


def test_a_cut_off_bundle_is_not_whole(tmp_path: Path) -> None:
    folder = tmp_path / "recording"
    folder.mkdir()
    (folder / "manifest.json").write_text('{"schema": "diagnose.bundle/1"}')
    (folder / "x").write_bytes(os.urandom(400_000))
    write_bundle(folder, tmp_path / "whole")
    (tmp_path / "cut").write_bytes((tmp_path / "whole").read_bytes()[:300_000])
    code, output = run("verify", str(tmp_path / "cut"))
    assert code == ExitCode.INCOMPLETE
    assert output.endswith("not whole\n")


@pytest.mark.parametrize("command", ["show", "verify"])
def test_a_file_that_is_no_bundle_ends_in_a_sentence(tmp_path: Path, command: str) -> None:
    (tmp_path / "x").write_text("hello\n")
    code, output = run(command, str(tmp_path / "x"))
    assert code == ExitCode.UNUSABLE
    assert "is no bundle" in output


def test_a_file_that_does_not_exist_ends_in_a_sentence(tmp_path: Path) -> None:
    code, message = run("redact", str(tmp_path / "none"), "-o", str(tmp_path / "o.tar.zst"))
    assert (code, "No such file" in message) == (ExitCode.UNUSABLE, True)


def test_redact_with_a_key_file(tmp_path: Path) -> None:
    (tmp_path / "log").write_text("Mar  1 10:00:05 gpu-a17 kernel: hello\n")
    (tmp_path / "key").write_text("x" * 32)
    (tmp_path / "short").write_text("abc")
    output = tmp_path / "o.tar.zst"
    code, printed = run("redact", str(tmp_path / "log"), "-o", str(output), "--key-file", str(tmp_path / "key"))
    assert (code, output.exists()) == (ExitCode.NOTHING_FOUND, True)
    assert "1 files" in printed
    code, message = run("redact", str(tmp_path / "log"), "-o", str(output), "--key-file", str(tmp_path / "short"))
    assert code == ExitCode.UNUSABLE
    assert "too few for a key" in message
