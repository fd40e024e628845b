from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.dcgm_field_list import DcgmFieldList
from tests.collectors.helpers import block, damaged

COUNTERS = """\
# DCGM FIELD, Prometheus metric type, help message

DCGM_FI_DEV_GPU_TEMP,   gauge, GPU temperature (in C).
DCGM_FI_DEV_GPU_UTIL,   gauge, GPU utilization (in %).
# DCGM_FI_DEV_POWER_USAGE, gauge, Power draw (in W).
DCGM_FI_DEV_XID_ERRORS, gauge, Value of the last XID error encountered.
"""


def configuration(text: str) -> Any:
    (fact,) = DcgmFieldList.parse(block(text)).facts
    return fact


def test_fields_behind_a_comment_are_switched_off() -> None:
    fact = configuration(COUNTERS)
    assert fact.fields == 3
    assert (fact.temperature, fact.utilization, fact.errors) == (True, True, True)
    assert (fact.power, fact.clock_reasons, fact.nvlink) == (False, False, False)


def test_a_list_of_names_has_no_values_and_says_so() -> None:
    text = "DCGM_FI_DEV_GPU_TEMP\nDCGM_FI_DEV_GPU_UTIL\n"
    assert DcgmFieldList.resembles(text.splitlines()) == 1
    parsed = DcgmFieldList.parse(block(text))
    assert parsed.facts == []
    assert parsed.problems == ["line 1: names of DCGM fields without values"]


def test_damaged_lists_do_not_raise() -> None:
    for text in damaged(COUNTERS):
        DcgmFieldList.parse(block(text))


def test_the_file_as_shipped_collects_no_clock_reasons(corpus: Path) -> None:
    path = corpus / "files" / "dcgm-exporter-prom" / "dcgm-exporter-default-counters.csv"
    text = path.read_text()
    assert DcgmFieldList.resembles([line for line in text.splitlines() if line.strip()]) > 0.5
    fact = configuration(text)
    assert (fact.power, fact.memory_bandwidth, fact.clock_reasons) == (True, True, False)
