from __future__ import annotations

from collectors.nvidia_smi_dmon import NvidiaSmiDmon
from diagnose.facts import Subject
from tests.collectors.helpers import block, damaged, opened

NEW = """\
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
    0    100     50      -     10      1      0      0      0      0   2619   1980
    1     70     30      -      0      0      0      0      0      0   2619    345
    0    700     60      -     99     20      0      0      0      0   2619   1410
# gpu    pwr  gtemp  mtemp     sm    mem    enc    dec    jpg    ofa   mclk   pclk
# Idx      W      C      C      %      %      %      %      %      %    MHz    MHz
    0    110     52      -     12      2      0      0      0      0   2619   1900
"""


def values(text: str, index: int = 0) -> dict[str, dict[str, object]]:
    facts = NvidiaSmiDmon.parse(block(text)).facts
    return {fact.kind: fact.values() for fact in facts if fact.subject == Subject(gpu_index=index)}


def test_the_titles_open_a_block_but_not_those_of_pmon() -> None:
    assert len(opened(NvidiaSmiDmon, NEW)) == 2
    assert opened(NvidiaSmiDmon, "# gpu        pid  type    sm   mem   command\n# gpu settings\n") == []


def test_facts_hold_the_medians_of_each_gpu() -> None:
    found = values(NEW)
    assert found["gpu-power"] == {"draw_watts": 110}
    assert found["gpu-temperature"] == {"gpu_celsius": 52}
    assert found["gpu-load"]["gpu_utilization_ratio"] == 0.12
    assert found["gpu-clocks"] == {"memory_mhz": 2619, "sm_mhz": 1900}
    assert values(NEW, 1)["gpu-power"] == {"draw_watts": 70}


def test_a_dash_is_no_zero() -> None:
    temperature = next(fact for fact in NvidiaSmiDmon.parse(block(NEW)).facts if fact.kind == "gpu-temperature")
    assert temperature.missing == {"memory_celsius": "not-applicable"}


def test_old_titles() -> None:
    text = (
        "# gpu   pwr  temp    sm   mem   enc   dec  mclk  pclk\n    0    43    35     5     0     0     0   405   300\n"
    )
    assert values(text)["gpu-temperature"] == {"gpu_celsius": 35}
    assert values(text)["gpu-clocks"] == {"memory_mhz": 405, "sm_mhz": 300}


def test_dates_and_more_columns() -> None:
    text = (
        "#Date       Time        gpu     sm     fb   bar1  rxpci  txpci\n"
        "#YYYYMMDD   HH:MM:SS    Idx      %     MB     MB   MB/s   MB/s\n"
        " 20250304   08:15:16      0     50   1024      2     30     40\n"
    )
    assert opened(NvidiaSmiDmon, text) == text.splitlines()[:1]
    assert values(text)["gpu-memory"] == {"used_bytes": 1 << 30, "bar1_used_bytes": 2 << 20}
    assert values(text)["gpu-pcie-link"] == {"receive_bytes_per_second": 30e6, "transmit_bytes_per_second": 40e6}


def test_titles_without_values_are_a_problem() -> None:
    assert NvidiaSmiDmon.parse(block(NEW.splitlines()[0])).problems == ["line 1: no line of values under the titles"]


def test_damaged_output_never_raises() -> None:
    for text in damaged(NEW):
        NvidiaSmiDmon.parse(block(text))
