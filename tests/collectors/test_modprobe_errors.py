from __future__ import annotations

from pathlib import Path

import pytest

from collectors.modprobe_errors import ModprobeErrors
from tests.collectors.helpers import damaged, feed


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service", "key-rejected"),
        ("modprobe: ERROR: could not insert 'nvidia': Required key not available", "key-rejected"),
        ("modprobe: ERROR: could not insert 'nvidia': No such device", "no-devices"),
        ("modprobe: ERROR: could not insert 'nvidia': Operation not permitted", "no-permission"),
        ("modprobe: ERROR: could not insert 'nvidia': Exec format error", "not-loaded"),
        (
            "modprobe: ERROR: could not insert 'nvidia_uvm': Unknown symbol in module, or unknown parameter",
            "not-loaded",
        ),
        ("modprobe: FATAL: Module nvidia not found in directory /lib/modules/6.8.0-45-generic", "not-loaded"),
        ("insmod: ERROR: could not insert module ./nvidia.ko: Invalid module format", "not-loaded"),
        ("Mar  4 11:12:13 n systemd-modules-load[400]: Failed to insert module 'nvidia': No such device", "no-devices"),
    ],
)
def test_each_reason_has_its_code(line: str, code: str) -> None:
    (failure,) = feed(ModprobeErrors, line).facts
    assert failure.values()["code"] == code
    assert failure.values()["message"] in line


def test_a_reason_is_told_once() -> None:
    line = "modprobe: ERROR: could not insert 'nvidia': No such device\n"
    (failure,) = feed(ModprobeErrors, "x\n" + line * 5).facts
    assert failure.sources[0].line == 2


@pytest.mark.parametrize(
    "line",
    [
        "modprobe: ERROR: could not insert 'ib_umad': No such device",
        "Run modprobe: it may print an error",
        '"evidence": "modprobe: ERROR: could not insert \'nvidia\': No such device"',
    ],
)
def test_other_modules_and_quotations_are_left_alone(line: str) -> None:
    assert feed(ModprobeErrors, line).facts == []


def test_damaged_lines_do_not_raise() -> None:
    for text in damaged("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service\n"):
        feed(ModprobeErrors, text)


def test_the_rejected_key_of_the_case_is_found(corpus: Path) -> None:
    text = (corpus / "cases" / "secure-boot-key-rejected" / "shell-session.txt").read_text()
    assert [fact.values()["code"] for fact in feed(ModprobeErrors, text).facts] == ["key-rejected"]
