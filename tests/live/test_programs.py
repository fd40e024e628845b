from __future__ import annotations

import time
from pathlib import Path

import pytest

from collectors.live import programs
from collectors.live.commands import Invocation
from collectors.live.programs import find_program, run_program


def script(folder: Path, text: str) -> str:
    path = folder / "tool"
    path.write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def test_both_streams_are_kept_in_english(tmp_path: Path) -> None:
    output = run_program(script(tmp_path, 'echo "$LC_ALL $1"; echo trouble >&2; exit 3'), ("-x",), 5)
    assert (output.text, output.status) == ("C -x\ntrouble\n", 3)


def test_arguments_reach_no_shell(tmp_path: Path) -> None:
    assert run_program(script(tmp_path, 'echo "$1"'), ("$(touch x); `y`",), 5).text == "$(touch x); `y`\n"


def test_a_program_that_hangs_is_stopped_and_what_it_printed_is_kept(tmp_path: Path) -> None:
    begin = time.monotonic()
    output = run_program(script(tmp_path, "echo begun; exec sleep 100"), (), 0.3)
    assert (output.text, output.status) == ("begun\n", None)
    assert time.monotonic() - begin < 3


def test_endless_output_is_cut_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(programs, "OUTPUT_LIMIT_BYTES", 1000)
    begin = time.monotonic()
    output = run_program(script(tmp_path, "exec yes"), (), 60)
    assert (len(output.text), output.cut_off) == (1000, True)
    assert time.monotonic() - begin < 10


def test_a_program_that_is_not_installed_is_not_found() -> None:
    assert find_program("no-such-program-anywhere") is None


@pytest.mark.parametrize(
    ("item", "name"),
    [
        (Invocation("nvidia-smi", ()), "nvidia-smi.txt"),
        (Invocation("nvidia-smi", ("topo", "-p2p", "r")), "nvidia-smi-topo-p2p-r.txt"),
        (Invocation("df", ("-k", "/", "/dev/shm")), "df-k-dev-shm.txt"),
    ],
)
def test_names_of_files_are_the_commands(item: Invocation, name: str) -> None:
    assert item.file == name
