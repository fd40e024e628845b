from __future__ import annotations

from pathlib import Path
from typing import Any

from collectors.dcgmi_dmon import DcgmiDmon
from collectors.scan import read_inputs
from tests.collectors.helpers import block, damaged

TITLED = """\
#Entity   TMPTR   POWER   GPUTL   DRAMA   NVLTX
ID        C       W
GPU 0     40      300.0   90      0.500   0
GPU 1     41      N/A     10      N/A     2000
GPU 0     44      400.0   100     0.700   1000
GPU 1     45      120.0   12      N/A     4000
#Entity   TMPTR   POWER   GPUTL   DRAMA   NVLTX
GPU 0     42      350.0   95      0.600   3000
"""


def facts(text: str, command: str | None = None) -> dict[tuple[str, int | None], Any]:
    parsed = DcgmiDmon.parse(block(text, command=command))
    return {(fact.kind, fact.subject.gpu_index): fact for fact in parsed.facts}


def test_medians_are_taken_by_title() -> None:
    found = facts(TITLED)
    assert found["gpu-temperature", 0].gpu_celsius == 42
    assert found["gpu-power", 0].draw_watts == 350
    assert found["gpu-load", 1].gpu_utilization_ratio == 0.11
    assert found["gpu-activity", 0].dram_ratio == 0.6


def test_a_field_without_value_is_absent_and_traffic_of_zero_is_no_traffic() -> None:
    found = facts(TITLED)
    assert ("gpu-activity", 1) not in found
    assert found["nvlink-traffic", 0].transmit_bytes_per_second == 2000
    assert found["gpu-power", 1].draw_watts == 120


def test_field_numbers_of_the_command_stand_for_missing_titles() -> None:
    found = facts("GPU 3     55      250.0\n", command="dcgmi dmon -e 150,155 -d 1000")
    assert found["gpu-temperature", 3].gpu_celsius == 55
    assert found["gpu-power", 3].draw_watts == 250


def test_rows_of_another_length_are_left_out() -> None:
    assert facts("#Entity TMPTR\nGPU 0 55 12\n") == {}


def test_damaged_output_does_not_raise() -> None:
    for text in damaged(TITLED):
        DcgmiDmon.parse(block(text, command="dcgmi dmon -e 150,155"))


def test_the_corpus_files_are_read(corpus: Path) -> None:
    folder = corpus / "files" / "dcgmi"
    readings = read_inputs([str(folder / "llmaction-dcgmi-L1306.txt"), str(folder / "llmaction-dcgmi-L1384.txt")])
    traffic = [fact for fact in readings.facts if fact.kind == "nvlink-traffic"]
    assert {fact.subject.gpu_index for fact in traffic} == set(range(8))
