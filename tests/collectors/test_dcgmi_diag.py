from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from collectors.dcgmi_diag import DcgmiDiag
from tests.collectors.helpers import block, damaged, opened

# Cells of 45 characters, cut in the middle of words as the tool does.
VERSION_3 = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 3.1.8                                          |
| Driver Version Detected   | 535.104.05                                     |
| GPU Device IDs Detected   | 20b2,20b2                                      |
|-----  Deployment  --------+------------------------------------------------|
| Denylist                  | Pass                                           |
| Persistence Mode          | Pass                                           |
+-----  Integration  -------+------------------------------------------------+
| PCIe                      | Pass - GPU: 0                                  |
|                           | Fail - GPU: 1                                  |
| Warning                   | GPU 1 GPU 1 is running at PCI link width 8X,   |
|                           | which is below the minimum allowed link width  |
|                           |  of 16X (parameter 'min_pci_width')Check DCGM  |
|                           |  and system logs for errors.                   |
+-----  Hardware  ----------+------------------------------------------------+
| GPU Memory                | Pass - All                                     |
+-----  Stress  ------------+------------------------------------------------+
| Targeted Stress           | Skip - All                                     |
+---------------------------+------------------------------------------------+
"""
VERSION_4 = """\
Successfully ran diagnostic for group.
+---------------------------+------------------------------------------------+
| Diagnostic                | Result                                         |
+===========================+================================================+
|-----  Metadata  ----------+------------------------------------------------|
| DCGM Version              | 4.1.0                                          |
|-----  Hardware  ----------+------------------------------------------------|
| memory                    | Fail                                           |
|                           | GPU0: Pass                                     |
|                           | GPU1: Fail                                     |
| Warning: GPU1             | Detected a row remapping failure on GPU 1.     |
+---------------------------+------------------------------------------------+
"""


def results(text: str) -> dict[tuple[str, int | None], Any]:
    return {
        (fact.values()["test"], fact.subject.gpu_index): fact
        for fact in DcgmiDiag.parse(block(text)).facts
        if fact.kind == "diagnostic-result"
    }


def test_outcomes_by_gpu_stand_in_rows_of_their_own() -> None:
    found = results(VERSION_3)
    assert found["pcie", 1].outcome == "fail"
    assert ("pcie", 0) not in found, "a GPU that passed and has no message needs no fact of its own"
    assert found["gpu memory", None].outcome == "pass"
    assert found["targeted stress", None].outcome == "skip"
    assert found["denylist", None].outcome == "pass"


def test_words_that_were_cut_apart_are_put_together() -> None:
    fact = results(VERSION_3)["pcie", 1]
    assert "link width 8X, which is below the minimum allowed link width of 16X" in fact.message
    assert (fact.code, fact.value, fact.limit) == ("pcie-width", 8, 16)
    assert fact.sources[0].line == 13


def test_newer_tables_name_gpus_below_the_test_and_in_the_warning() -> None:
    found = results(VERSION_4)
    assert found["memory", 1].outcome == "fail"
    assert found["memory", 1].code == "row-remap-failed"
    assert ("memory", 0) not in found


def test_metadata_gives_versions_and_the_run_is_summed_up() -> None:
    facts = DcgmiDiag.parse(block(VERSION_3)).facts
    (driver,) = [fact for fact in facts if fact.kind == "driver"]
    assert driver.values() == {"version": "535.104.05", "major": 535}
    (run,) = [fact for fact in facts if fact.kind == "diagnostic-run"]
    assert run.values() == {
        "tool": "dcgmi-diag",
        "version": "3.1.8",
        "tests": 5,
        "passed": 3,
        "failed": 1,
        "skipped": 1,
    }


def test_title_and_header_open() -> None:
    assert opened(DcgmiDiag, VERSION_3) == [VERSION_3.splitlines()[0], VERSION_3.splitlines()[2]]


def test_a_piece_without_header_is_recognised() -> None:
    assert DcgmiDiag.resembles(VERSION_3.splitlines()[12:17]) > 0.5
    assert DcgmiDiag.resembles(["| a table | of something else |"]) == 0


@pytest.mark.parametrize(
    ("command", "known"), [("dcgmi diag -r 3", True), ("sudo dcgmi diag -r 3 -j", False), ("dcgmi health -c", False)]
)
def test_the_command_is_known(command: str, known: bool) -> None:
    assert DcgmiDiag.command is not None
    assert bool(DcgmiDiag.command.search(command)) is known


def test_damaged_tables_do_not_raise() -> None:
    for text in damaged(VERSION_3 + VERSION_4):
        DcgmiDiag.parse(block(text))


def test_the_thermal_violation_of_the_case_names_gpu_and_seconds(corpus: Path) -> None:
    text = (corpus / "cases" / "dcgm-diag-thermal-violation" / "dcgmi-diag-r2.txt").read_text()
    fact = results(text)["gpu memory", 0]
    assert (fact.outcome, fact.code, fact.value) == ("fail", "thermal-violation", 13.3)


def test_the_switch_machine_of_the_case_cannot_start_cuda_on_any_gpu(corpus: Path) -> None:
    text = (corpus / "cases" / "fabricmanager-not-running-h100x8-802" / "dcgmi-diag-r3.txt").read_text()
    found = results(text)
    assert [found["gpu memory", gpu].code for gpu in range(8)] == ["cuda-not-initialised"] * 8
