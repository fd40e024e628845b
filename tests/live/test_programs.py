from __future__ import annotations

import time
from pathlib import Path

import pytest

from collectors.live import commands, programs
from collectors.live.base import Folder, Window
from collectors.live.commands import Commands, Invocation
from collectors.live.programs import find_program, run_program
from collectors.scan import read_inputs
from diagnose.facts.network import NetworkCounters


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


def test_counters_are_read_when_the_window_begins_and_when_it_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = tmp_path / "count"
    count.write_text("0")
    text = f'n=$(($(cat {count}) + 1000)); echo $n > {count}; printf "NIC statistics:\\n     tx_bytes: %s\\n" $n'
    tool = script(tmp_path, text)
    monkeypatch.setattr(commands, "find_program", lambda _: tool)
    monkeypatch.setattr(commands, "_ALWAYS", ())
    monkeypatch.setattr(commands, "_for_interfaces", lambda _: iter([Invocation("ethtool", ("-S", "eth7"))]))
    written = tmp_path / "commands"
    Commands().record(Folder(written, Path("/"), lambda _: None), Window(0.2, 0.1))
    assert sorted(path.name for path in written.iterdir()) == ["ethtool-S-eth7-again.txt", "ethtool-S-eth7.txt"]
    counters = [fact for fact in read_inputs([str(written)]).facts if isinstance(fact, NetworkCounters)]
    assert {fact.transmit_bytes for fact in counters} == {1000, 2000}
    assert {fact.subject.nic for fact in counters} == {"eth7"}
