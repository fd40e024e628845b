from __future__ import annotations

import json
from typing import Any

from collectors.dcgmi_health import DcgmiHealth
from tests.collectors.helpers import block, damaged, opened

NEW = """\
+---------------------------+----------------------------------------------------------+
| Health Monitor Report                                                                |
+===========================+==========================================================+
| Overall Health            | Warning                                                  |
| GPU                       |                                                          |
| -> 0                      | Warning                                                  |
|    -> Errors              |                                                          |
|       -> PCIe system      | Warning                                                  |
|          -> (message)     | Detected more than 8 PCIe replays per minute for GPU 0:  |
|                           | 99999                                                    |
+---------------------------+----------------------------------------------------------+
"""
OLD = """\
+----------------+---------------------------------------------------------------------------+
| Overall Health:   Warning                                                                  |
+================+===========================================================================+
| GPU ID: 1      | Warning                                                                   |
|                | PCIe system: Warning - Detected more than 8 PCIe replays for GPU 1: 40    |
+----------------+---------------------------------------------------------------------------+
"""
HEALTHY = """\
| Health Monitor Report                                                                |
+===========================+==========================================================+
| Overall Health            | Healthy                                                  |
+---------------------------+----------------------------------------------------------+
"""
JSON: dict[str, Any] = {
    "body": {
        "Overall Health": {"value": "Failure"},
        "GPU": {
            "children": {
                "2": {
                    "value": "Failure",
                    "children": {
                        "Errors": {
                            "children": {
                                "Memory system": {
                                    "value": "Failure",
                                    "children": {
                                        "(message)": {"value": "A double-bit ECC error was detected on GPU 2"}
                                    },
                                }
                            }
                        }
                    },
                }
            }
        },
    },
    "header": ["Health Monitor Report"],
}


def results(text: str) -> dict[tuple[str, int | None], Any]:
    return {
        (fact.values()["test"], fact.subject.gpu_index): fact
        for fact in DcgmiHealth.parse(block(text)).facts
        if fact.kind == "diagnostic-result"
    }


def test_a_system_of_the_new_table_has_outcome_and_message() -> None:
    fact = results(NEW)["pcie", 0]
    assert (fact.outcome, fact.code, fact.value) == ("warn", "pcie-replays", 99999)


def test_a_system_of_the_old_table_has_outcome_and_message() -> None:
    fact = results(OLD)["pcie", 1]
    assert (fact.outcome, fact.code) == ("warn", "pcie-replays")


def test_health_is_a_pass() -> None:
    assert {key: fact.outcome for key, fact in results(HEALTHY).items()} == {("overall", None): "pass"}


def test_json_says_the_same() -> None:
    fact = results(json.dumps(JSON, indent=1))["memory", 2]
    assert (fact.outcome, fact.code) == ("fail", "memory-uncorrected")


def test_titles_open() -> None:
    assert opened(DcgmiHealth, NEW)[0] == NEW.splitlines()[1]
    assert opened(DcgmiHealth, OLD) == [OLD.splitlines()[1]]


def test_damaged_reports_do_not_raise() -> None:
    for text in damaged(NEW + OLD + json.dumps(JSON)):
        DcgmiHealth.parse(block(text))
    for text in damaged(json.dumps(JSON)):
        DcgmiHealth.parse(block(text))
