from __future__ import annotations

from pathlib import Path

import pytest

from collectors.proc_driver_version import ProcDriverVersion
from tests.collectors.helpers import block, damaged, opened

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (builder@host)  Sat May 24\n"
CLOSED = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.154.05  Thu Dec 28 15:37:48 UTC 2023\n"
COMPILER = "GCC version:  gcc version 12.3.0 (Ubuntu 12.3.0-1ubuntu1~22.04)\n"


@pytest.mark.parametrize(
    ("text", "version", "is_open"), [(OPEN, "575.57.08", True), (CLOSED + COMPILER, "535.154.05", False)]
)
def test_the_version_and_kind_of_the_loaded_module_are_read(text: str, version: str, is_open: bool) -> None:
    (module,) = ProcDriverVersion.parse(block(text, host="node01")).facts
    assert module.values() == {"name": "nvidia", "version": version, "open_variant": is_open, "loaded": True}
    assert module.subject.host == "node01"


def test_the_compiler_line_ends_the_block() -> None:
    assert opened(ProcDriverVersion, CLOSED + COMPILER) == [CLOSED.strip()]
    assert ProcDriverVersion.closes(COMPILER)


def test_a_version_that_cannot_be_read_is_a_problem() -> None:
    parsed = ProcDriverVersion.parse(block("NVRM version: \n"))
    assert parsed.facts == []
    assert len(parsed.problems) == 1


def test_damaged_text_does_not_raise() -> None:
    for text in damaged(OPEN + CLOSED + COMPILER):
        ProcDriverVersion.parse(block(text))


def test_the_versions_of_the_case_are_read(corpus: Path) -> None:
    path = corpus / "cases" / "unattended-upgrade-driver-mismatch-580" / "proc-driver-version-per-host.txt"
    versions = [fact.values()["version"] for fact in ProcDriverVersion.parse(block(path.read_text())).facts]
    assert versions == ["580.126.09"] * 3
