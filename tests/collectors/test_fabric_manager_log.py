from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.base import Line
from collectors.fabric_manager_log import FabricManagerLog
from tests.collectors.helpers import damaged, feed

STAMP = "[Mar 04 2025 11:12:13]"
SWITCH = "on fid 0 on NVSwitch pci bus id 00000000:07:00.0 physical id 2 port 17"
LOG = f"""\
Fabric Manager Log initializing at: 3/4/2025 11:12:13.123
{STAMP} [INFO] [tid 900] Fabric Manager version 550.90.07 is running with the following configuration options
{STAMP} [ERROR] [tid 901] detected NVSwitch non-fatal error 12028 {SWITCH}
{STAMP} [ERROR] [tid 901] detected NVSwitch non-fatal error 12028 {SWITCH}
{STAMP} [ERROR] [tid 901] detected NVSwitch fatal error 20034 {SWITCH}
Message payload details:Team setup request: Allocation Size:60000000
"""


def facts(text: str, kind: str) -> list[Any]:
    return [fact for fact in feed(FabricManagerLog, text).facts if fact.kind == kind]


def test_errors_of_switches_are_counted_by_port_and_code() -> None:
    first, second = facts(LOG, "sxid")
    assert (first.code, first.count, first.fatal, first.subject.bus_id, first.subject.link) == (
        12028,
        2,
        False,
        "0000:07:00.0",
        17,
    )
    assert [source.line for source in first.sources] == [3, 4]
    assert (second.code, second.fatal) == (20034, True)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "fabric manager NVIDIA GPU driver interface version 550.90.07 don't match with driver version 550.54.15.",
            "fabric-manager-version-mismatch",
        ),
        ("failed to initialize all the GPUs and NVSwitches", "fabric-manager-failed"),
        ("NVLink training failed for GPU 3 link 4", "fabric-manager-nvlink-failed"),
    ],
)
def test_its_own_failures_are_known(text: str, code: str) -> None:
    (message,) = facts(f"{STAMP} [ERROR] [tid 901] {text}\n", "system-message")
    assert (message.code, message.count) == (code, 1)


def test_the_words_are_known_in_the_journal_too() -> None:
    line = f"Mar  4 11:12:13 n nv-fabricmanager[900]: detected NVSwitch fatal error 12028 {SWITCH}"
    assert facts(line, "sxid")[0].fatal is True


def test_ordinary_entries_say_nothing() -> None:
    assert feed(FabricManagerLog, LOG.splitlines()[1]).facts == []


def test_further_lines_of_an_entry_are_its_own() -> None:
    collector = FabricManagerLog("x.log")
    assert collector.feed(Line(1, "Message payload details:Team setup request: Allocation Size:60000000"), None)
    assert not collector.feed(Line(2, "step 100 loss 2.3"), None)
    assert FabricManagerLog.resembles(LOG.splitlines()) == 1.0


def test_damaged_logs_do_not_raise() -> None:
    for text in damaged(LOG):
        feed(FabricManagerLog, text)


def test_the_ports_of_the_case_are_found(corpus: Path) -> None:
    text = (corpus / "cases" / "nvswitch-12028-nonfatal-fm-log" / "fabricmanager.log").read_text()
    found = facts(text, "sxid")
    assert len(found) == 9
    assert sum(fact.count for fact in found) == 18
    assert {fact.fatal for fact in found} == {False}
    assert facts(text, "system-message") == []
